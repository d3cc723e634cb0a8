# $1: "without" the profile, or "with" it. Prints one line for each question, which boot.sh compares.
export HOME=/home/ann
mkdir -p ~/project
cd ~/project || exit 1
[ -d .git ] || git init --quiet .
copy=/usr/local/libexec/lockgate/lockgate-contain
outside=$(readlink /proc/self/ns/net)

say() { echo "$when $1: $2"; }
yes() { if "$@" > /dev/null 2>&1; then echo yes; else echo no; fi; }
contained() { lockgate contain -- sh -c "$1" 2> /dev/null; }

when=$1
say "the shell is held by" "$(cat /proc/self/attr/current)"
say "a program makes a user namespace" "$(yes unshare --user --map-root-user true)"
say "another copy of the launcher makes a sandbox" "$(yes /opt/lockgate/lockgate/lockgate-contain --try)"
say "root's copy of the launcher makes a sandbox" "$(yes $copy --try)"
lockgate gate start > /dev/null 2>&1
say "doctor says" "$(lockgate doctor 2> /dev/null | sed -n 's/^\(ok\|warn\|fail\)  *containment:.*/\1/p')"
say "a command runs contained" "$(yes contained true)"
if [ "$when" = with ]; then
    say "it is held by" "$(contained 'cat /proc/self/attr/current')"
    say "it has another network" "$([ "$(contained 'readlink /proc/self/ns/net')" != "$outside" ] && echo yes)"
    say "it makes a user namespace" "$(yes contained 'unshare --user true')"
    say "it starts the launcher again" "$(yes contained "$copy --try")"
    say "it has a capability" "$(contained 'grep -q "^CapEff:.*[1-9a-f]" /proc/self/status && echo yes || echo no')"
    say "it writes to the project" "$(contained 'touch new'; ls)"
    say "it writes beside it" "$(yes contained 'touch /home/ann/new')"
fi
lockgate gate stop > /dev/null 2>&1
