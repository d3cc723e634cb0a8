#!/bin/bash
# Boots a real kernel with AppArmor under QEMU, in which ordinary programs may not make user namespaces, and tries the
# sandbox there without the profile and with it. See README.md. Run as root, on Debian or Ubuntu, after `make library`.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
project=$(cd "$here/../.." && pwd)
work=${1:-/var/tmp/lockgate-kernels}
suite=${SUITE:-trixie}
mirror=${MIRROR:-http://deb.debian.org/debian}
python=${PYTHON_VERSION:-3.13}

make_root() {
    debootstrap --variant=minbase --include=python3,apparmor,procps,git,iproute2,linux-image-amd64 \
        "$suite" "$work/root" "$mirror"
    mv "$work/root/boot" "$work/boot"
    rm -rf "$work/root"/usr/lib/modules "$work/root"/usr/share/{doc,locale,man} "$work/root"/var/{cache,lib}/apt
    python3 -c 'import sys, tomllib; print(*tomllib.load(sys.stdin.buffer)["project"]["dependencies"], sep="\n")' \
        < "$project/pyproject.toml" > "$work/needed"
    "$project/.venv/bin/python" -m pip install --quiet --target "$work/root/opt/lockgate" --only-binary=:all: \
        --python-version "$python" --requirement "$work/needed"
}

put_lockgate() {
    local root=$work/root copy=/usr/local/libexec/lockgate
    cp -r "$project/src/lockgate" "$root/opt/lockgate/"
    install -D -m 0755 "$project/src/lockgate/lockgate-contain" "$root$copy/lockgate-contain"
    install -m 0644 "$project/src/lockgate/containment/linux/data/lockgate-contain.apparmor" \
        "$root/etc/apparmor.d/lockgate-contain"
    install -m 0644 "$here/session.apparmor" "$root/etc/apparmor.d/session"
    install -m 0755 "$root/bin/dash" "$root/usr/local/bin/session"
    install -m 0755 "$here/init.sh" "$root/init"
    install -m 0755 "$here/inside.sh" "$here/as_ann.sh" "$root/usr/local/libexec/"
    printf '#!/usr/bin/python3 -I\nimport sys\nsys.path.insert(0, "/opt/lockgate")\nfrom lockgate.cli.main import cli\ncli()\n' \
        > "$root/usr/local/bin/lockgate"
    chmod 0755 "$root/usr/local/bin/lockgate"
    chown -R root:root "$root/opt" "$root/usr/local"
    (cd "$root" && find . | cpio --quiet -o -H newc > "$work/root.cpio")
}

boot() {
    timeout 600 qemu-system-x86_64 -accel "${ACCEL:-tcg,thread=multi}" -cpu max -smp 2 -m 3000 -nographic -no-reboot \
        -net none -kernel "$1" -initrd "$work/root.cpio" -append "console=ttyS0 quiet panic=-1 security=apparmor" \
        | tr -d '\r' | sed -n '/BEGIN$/,/^END/p' | tee "$work/log"
}

mkdir -p "$work"
[ -d "$work/root" ] || make_root
put_lockgate
boot "$(ls "$work"/boot/vmlinuz-* | head -1)"
diff <(grep -E '^(without|with) ' "$work/log") "$here/expected" && echo "as expected"
