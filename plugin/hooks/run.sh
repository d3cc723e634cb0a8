#!/bin/sh
# Runs the installed gate for one hook event of Claude Code, and blocks where it cannot.
#
#   run.sh EVENT [PLUGIN_DATA]
#
# Where the program is was recorded by `lockgate install claude-code --plugin`. The record is looked for in the home
# folder that the client itself uses (PLUGIN_DATA, or where this plugin is installed), before $HOME: a project's
# settings can set variables for hooks. Only builtins are used, and no program is looked for in PATH: a project could
# name any folder there, and so bring a gate of its own.

event=${1:-PreToolUse}
data=${2:-}

refuse() {
    # Exit code 2 blocks in every version of the client, with the text on stderr as the reason.
    echo "Lockgate blocks to be safe: $1" >&2
    exit 2
}

case $event in
*[!A-Za-z]*) refuse "the event has no proper name" ;;
esac

run() {
    "$@"
    code=$?
    [ "$code" -eq 0 ] && exit 0
    [ "$code" -eq 2 ] || refuse "the hook could not run (exit code $code); run: lockgate doctor"
    exit 2
}

home=
for place in "$data" "$0"; do
    case $place in
    /*/.claude/plugins/*) home=${place%%/.claude/plugins/*} && break ;;
    esac
done
[ -n "$home" ] || home=${HOME:-}

record=$home/.config/lockgate/claude-code.launch
if [ -r "$record" ]; then
    native=
    {
        IFS= read -r python && IFS= read -r hook && IFS= read -r h && IFS= read -r state && IFS= read -r config &&
            { IFS= read -r native || :; }
    } <"$record" || refuse "$record is damaged; run: lockgate install claude-code --plugin"
    [ -x "$python" ] && [ -r "$hook" ] ||
        refuse "the program recorded in $record is gone. If it was installed anew or moved, run: lockgate install claude-code --plugin. If it was uninstalled, run: claude plugin uninstall lockgate@lockgate"
    set -- claude-code --home "$h" --state "$state" --config "$config" --event "$event" "--plugin=$data"
    if [ -n "$native" ] && [ -x "$native" ]; then
        run "$native" --python "$python" --script "$hook" "$@"
    fi
    run "$python" -I -S "$hook" "$@"
fi

# Without a record the program asks the environment where its folders are, and its interpreter what to load.
[ "${XDG_STATE_HOME:-$home/.local/state}" = "$home/.local/state" ] &&
    [ "${XDG_CONFIG_HOME:-$home/.config}" = "$home/.config" ] ||
    refuse "XDG_STATE_HOME or XDG_CONFIG_HOME is set, which a project can do too; run: lockgate install claude-code --plugin"
export HOME="$home"
unset PYTHONPATH PYTHONHOME PYTHONPLATLIBDIR PYTHONPYCACHEPREFIX PYTHONUSERBASE PYTHONSTARTUP PYTHONINSPECT \
    PYTHONWARNINGS PYTHONBREAKPOINT PYTHONEXECUTABLE PYTHONCASEOK PYTHON_PRESITE __PYVENV_LAUNCHER__

for place in "$home/.local/bin" /usr/local/bin /opt/homebrew/bin /usr/bin; do
    if [ -x "$place/lockgate" ]; then
        run "$place/lockgate" hook claude-code --event "$event" "--plugin=$data"
    fi
done

refuse "lockgate is not installed. A person can install it, in a checkout of Lockgate: uv tool install . (or pipx install .), \
then: lockgate install claude-code --plugin"
