#!/bin/bash
# The first process of the machine. pivot_root(2) cannot leave the file system that a kernel unpacks at its start, so
# everything else runs on a mount of it.
export PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
if [ -z "${MOVED:-}" ]; then
    mkdir -p /mnt
    mount --bind / /mnt
    cd /mnt
    mount --move . /
    MOVED=1 exec chroot . /init
fi
mount -t proc none /proc
mount -t sysfs none /sys
mount -t devtmpfs none /dev
mount -t securityfs none /sys/kernel/security
mkdir -p /dev/pts /dev/shm
mount -t devpts none /dev/pts
mount -t tmpfs none /tmp
mount -t tmpfs none /run
mount -t cgroup2 none /sys/fs/cgroup
ip link set lo up
echo BEGIN
bash /usr/local/libexec/inside.sh
echo END
echo o > /proc/sysrq-trigger
sleep 5
