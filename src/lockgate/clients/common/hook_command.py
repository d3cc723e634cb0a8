"""The command line that Claude Code runs for the gate, and the settings entry that holds it.

Also a hook process builds these, to tell whether the settings still hold exactly what was installed; so this module
stays light.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence

from lockgate.core.display_text import visible
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.folders import Folders

if TYPE_CHECKING:
    from typing import Any

HOOK_TIMEOUT = 20
"""Seconds that the client waits for a hook; the gate's own deadline is much shorter."""
CALL_TIMEOUT = 3630
"""Seconds that the client waits for the hook of a call: a person elsewhere may be asked about it, for an hour at most.

Both observed versions take any positive number; their own default for these hooks is 600.
"""

CALL_EVENTS = frozenset({"PreToolUse", "BeforeTool", "preToolUse", "tool.execute.before", "tool_call", "before_tool"})
"""The ``CALL_EVENT`` of each adapter: a hook tells them without loading any."""

REPORTS = frozenset({"PostToolBatch", "Stop"})
"""Events that only tell the gate something. Where their hook fails, nothing is blocked.

Observed with 2.1.197 and 2.1.329: a batch that is blocked ends the turn, and the model never sees the results. An end
of a turn that is blocked makes the model go on, and end again.
"""
_OWN_FOLDERS = '--home "$h" --state "$h/.local/state/lockgate" --config "$h/.config/lockgate"'
_SAYS = 'echo "lockgate: the hook could not run (exit code $r); run: lockgate doctor" >&2'


def hook_timeout(event: str | None) -> int:
    """Seconds that the client waits for the hook of an event."""
    return CALL_TIMEOUT if event in CALL_EVENTS else HOOK_TIMEOUT


_CLAUDE = "claude-code"


class HookLaunch(Record):
    """Everything that is needed to start the gate, as absolute paths."""

    python: str
    hook: str
    """The file of :mod:`lockgate.hook`."""
    folders: Folders
    settings: str = ""
    """The settings file that the hooks stand in."""
    plugin: str = ""
    """For hooks of the installed plugin: its data folder, which lies beside the user's settings."""
    remote: tuple[str, ...] = ()
    """The words that say which gate outside of this container is asked, as :func:`remote_words` gives them."""
    native: str = ""
    """The native client, where it starts the gate; empty for Python. One that asks a remote gate is always Python."""
    for_everyone: bool = False
    """Whether the hooks serve each user of the machine, with the folders below their own home."""


def remote_words(place: str, key_file: str = "", ca_file: str = "") -> tuple[str, ...]:
    """What tells a hook to ask a gate outside of the container; nothing where the gate is on this machine."""
    if not place:
        return ()
    options = ("--remote", place, "--key-file", key_file, "--ca-file", ca_file)
    return tuple(word for pair in zip(options[::2], options[1::2], strict=True) if pair[1] for word in pair)


def quote(text: str) -> str:
    """Quote a word for a POSIX shell."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def native_file(hook: str) -> str:
    """Where the native client of an installation is, if it has one."""
    return os.path.join(os.path.dirname(hook), "lockgate-hook")


def hook_words(launch: HookLaunch, client: str) -> list[str]:
    """The words that start a hook of a client, but the event's."""
    folders = launch.folders
    return [*_program(launch), client, "--home", folders.home, "--state", folders.state, "--config", folders.config]


def _program(launch: HookLaunch) -> list[str]:
    if launch.native and not launch.remote:
        return [launch.native, "--python", launch.python, "--script", launch.hook]
    return [launch.python, "-I", "-S", launch.hook]


def find_started_files(words: Sequence[str]) -> tuple[str, ...]:
    """The files that a command of :func:`hook_words` needs: the program, and what it runs."""
    places = (0, 2, 4) if "--script" in words[:4] else (0, 3)
    return tuple(words[place] for place in places if place < len(words))


def hook_command(launch: HookLaunch, event: str, client: str = _CLAUDE) -> str:
    """Build the shell command for one event of a client.

    Version 2.1.197 knows neither ``onFailure`` nor a blocking exit code other than 2. So the shell makes a program
    block too that is missing, crashes or is killed. That of an event which only reports never blocks.

    Hooks stay behind where a package is uninstalled, or its environment is made anew. Nothing of ours is there to say
    so then, so the shell does, and names what to do.
    """
    return f"{_find_started_file(launch, event, client)} {_otherwise(launch, event, client)}"


def _find_started_file(launch: HookLaunch, event: str, client: str) -> str:
    if launch.for_everyone:
        program = _join([*_program(launch), client])
        return f"{_find_home(_code(event))} {program} {_OWN_FOLDERS} --event {event}"
    words = [*hook_words(launch, client), "--event", event, *launch.remote]
    if launch.settings and event == "ConfigChange":
        words += ["--settings", launch.settings]
    return _join(words)


def _join(words: Iterable[str]) -> str:
    return " ".join(word if word.replace("-", "").isalnum() else quote(word) for word in words)


def _find_home(code: int) -> str:
    """Commands that put the user's home folder into ``h``, or end with a code where there is none.

    They ask the user database. A project's settings could set the variable ``HOME``.
    """
    find = 'h=; n=$(/usr/bin/id -un); case $n in [!A-Za-z_]*|*[!A-Za-z0-9._@-]*|"") ;; *) eval "h=~$n";; esac;'
    says = "lockgate: the user database names no home folder for this user: add them to it"
    return f'{find} case $h in /*) ;; *) echo "{says}" >&2; exit {code};; esac;'


_DEAF = 'trap "" PIPE; '
"""Where nobody reads what the shell says, it must still come to its exit code: what ends by a signal blocks nothing."""


def _otherwise(launch: HookLaunch, event: str, client: str, deaf: str = _DEAF) -> str:
    """What the shell does where the program did not answer."""
    file = visible(launch.settings, 1000) or f"the settings of {client}"
    again = f"sudo lockgate install {client} --managed" if launch.for_everyone else f"lockgate install {client}"
    gone = (
        f"lockgate is not where {file} says. If it was installed anew, moved, or has another Python:"
        f" run {again}. If it was uninstalled: take its hooks out of {file}."
    )
    # An interpreter that finds no such file ends with 2 as well.
    return (
        f"|| {{ r=$?; {deaf}if [ -x {quote(launch.python)} ] && [ -r {quote(launch.hook)} ]; then"
        f' [ "$r" -eq 2 ] || {_SAYS}; else'
        f" printf '%s\\n' {quote(gone)} >&2; fi; exit {_code(event)}; }}"
    )


def former_otherwise(launch: HookLaunch, event: str, client: str = _CLAUDE) -> tuple[str, str]:
    """The same as former versions wrote it: such hooks hold every call too, where somebody reads what they say."""
    return (
        _otherwise(launch, event, client, deaf=""),
        f'|| {{ r=$?; [ "$r" -eq 2 ] || {_SAYS}; exit {_code(event)}; }}',
    )


def _code(event: str) -> int:
    return 1 if event in REPORTS else 2


def hook_entry(launch: HookLaunch, event: str) -> dict[str, Any]:
    """Build the hook entry for one event, as it stands in the settings."""
    return _entry(hook_command(launch, event), event)


def _entry(command: str, event: str) -> dict[str, Any]:
    entry = {"type": "command", "command": command, "timeout": hook_timeout(event)}
    return entry if event in REPORTS else {**entry, "onFailure": "block"}


def either_client(launch: HookLaunch) -> tuple[HookLaunch, ...]:
    """The same hooks by either client: what an installation may have written, whichever was there at that time."""
    python = launch._replace(native="")
    return (python,) if launch.remote else (python, launch._replace(native=native_file(launch.hook)))


def valid_entries(launch: HookLaunch, events: Iterable[str]) -> dict[str, list[Mapping[str, Any]]]:
    """The hook entries of events: one of those must stand in the settings, exactly."""
    either = either_client(launch)
    return {
        event: [
            *(hook_entry(each, event) for each in either),
            *(
                _entry(f"{_find_started_file(each, event, _CLAUDE)} {former}", event)
                for each in either
                for former in former_otherwise(each, event)
            ),
        ]
        for event in events
    }


def statusline_entry(launch: HookLaunch) -> dict[str, Any]:
    """Build the status line's entry."""
    script = os.path.join(os.path.dirname(launch.hook), "statusline.py")
    command = f"{quote(launch.python)} -I -S {quote(script)} --state {quote(launch.folders.state)}"
    return {"type": "command", "command": command}


def is_own_command(command: object) -> bool:
    """Whether a command in the settings was written by this program, in any of its versions."""
    return isinstance(command, str) and "lockgate/hook.py' " in command


def find_missing_entries(settings: Any, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    """List the events of which no entry stands in the settings exactly as it was installed, for every tool.

    Args:
        settings: The parsed settings.
        entries: The hook entries of each event of which one must stand there, see :func:`valid_entries`.
    """
    hooks = settings.get("hooks") if isinstance(settings, dict) else None
    if not isinstance(hooks, dict):
        return list(entries)
    return [event for event, valid in entries.items() if not _has(hooks.get(event), valid)]


def _has(groups: Any, valid: Sequence[Mapping[str, Any]]) -> bool:
    for group in groups if isinstance(groups, list) else ():
        if not isinstance(group, dict) or group.get("matcher") not in (None, "", "*"):
            continue
        inside = group.get("hooks")
        if isinstance(inside, list) and any(entry in inside for entry in valid):
            return True
    return False
