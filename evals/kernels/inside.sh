#!/bin/bash
# What is tried on the machine, by an ordinary user.
echo "kernel $(uname -r)"
useradd --create-home ann
ann() { su ann -s /usr/local/bin/session -c "exec /usr/local/bin/session /usr/local/libexec/as_ann.sh $1" 2>&1; }
apparmor_parser --replace /etc/apparmor.d/session
ann without
apparmor_parser --replace /etc/apparmor.d/lockgate-contain
ann with
apparmor_parser --remove /etc/apparmor.d/lockgate-contain
