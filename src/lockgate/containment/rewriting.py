"""Writes a contained command for a shell, and tells it apart from anything else.

The command stands in the text as one quoted word, so that a person who sees it can read what runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from lockgate.containment.host_facts import SYSTEM_LAUNCHER
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    import re
    from typing import Any

    from lockgate.containment.host_facts import Host

_MOVES = lazy_re(r"\b(cd|pushd|popd|chdir|z|j)\b")
"""Whether a command may change the folder that the shell is in. Too often is only longer."""

_ROOM = lazy_re(r" --room=([0-9a-f]{32})(?= |\Z)")
_REGISTRIES = lazy_re(r" --registries=([0-9a-f]{32})(?= |\Z)")
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=./+,:@%")
"""Characters that mean nothing to a shell, wherever they stand; but for a leading ``=``, behind which zsh looks for a
program."""

_BEFORE, _AFTER = "{ lockgate_folder=$(", ' 3>&1 >&4 4>&-) && cd -- "$lockgate_folder"; } 4>&1'
"""Around a run that tells, as descriptor 3, in which folder it ended: the client asks the shell after it."""


class RunLaunch(Record):
    """How a run is started, all paths absolute."""

    python: str
    program: str
    """The file of :mod:`lockgate.contain`."""
    home: str
    state: str
    config: str
    workspace: str
    launcher: str = ""
    """The native launcher, which becomes the program where it cannot do without; empty for the program itself."""
    room: str = ""
    """The name of the session's room; empty for a command that stands alone."""
    registries: str = ""
    """Under which name it is noted what the command may ask package indexes for; empty for nothing."""


def contain_input(
    tool_input: Mapping[str, Any], launch: RunLaunch, able: Callable[[], Host]
) -> Mapping[str, Any] | None:
    """A shell tool's input that runs the same command contained; ``None`` where that cannot be done here.

    Args:
        tool_input: The input.
        launch: How the run is started, with the place of the native launcher, whether or not it is there.
        able: Tells what this machine can do. Asked last: to find out costs most.
    """
    from lockgate.containment.host import workspace_problem

    command = tool_input.get("command")
    if not isinstance(command, str) or not command.strip() or "\0" in command:
        return None
    if workspace_problem(launch.workspace, launch.home):
        return None
    found = able()
    if found.problem:
        return None
    launch = launch._replace(launcher=found.launched_by)
    background = bool(tool_input.get("run_in_background"))
    return {**tool_input, "command": contain_command(command, launch, background=background)}


def contain_command(command: str, launch: RunLaunch, *, background: bool = False) -> str:
    """The text that runs a command contained, for a POSIX shell."""
    moves = not background and _MOVES.search(command) is not None
    options = [f"--{name}={getattr(launch, name)}" for name in ("home", "state", "config", "workspace")]
    options += [f"--{name}={value}" for name in ("room", "registries") if (value := getattr(launch, name))]
    options += ["--folder-to=3"] * moves + ["--background"] * background
    words = [*_start(launch), *options, "--shell", command]
    text = " ".join(map(_quote, words))
    return f"{_BEFORE}{text}{_AFTER}" if moves else text


def _start(launch: RunLaunch) -> list[str]:
    if launch.launcher:
        return [launch.launcher, "--python", launch.python, "--script", launch.program]
    return [launch.python, "-I", "-S", launch.program]


def room_in(text: str) -> str:
    """The room that a text names in which a command runs contained; empty where it names none."""
    return _with_name(_ROOM, text)


def _with_name(option: re.Pattern[str], text: str) -> str:
    found = option.search(text.partition(" --shell ")[0])
    return found[1] if found else ""


def original(text: str, launch: RunLaunch) -> str:
    """The command of which :func:`contain_command` made a text, with a launcher or without; else the text itself.

    It may name any room: whether that is the one of whoever runs it has to be seen to where it is decided. What may be
    asked of package indexes is noted for one room.
    """
    launch = launch._replace(room=room_in(text), registries=_with_name(_REGISTRIES, text))
    for launcher in (launch.launcher, SYSTEM_LAUNCHER, ""):
        command = _original(text, launch._replace(launcher=launcher))
        if command is not None:
            return command
    return text


def ends_with(text: str, command: str) -> bool:
    """Whether a text ends as one does that runs a command contained, by whatever installation."""
    ending = f" --shell {_quote(command)}"
    return text.endswith((ending, ending + _AFTER))


def _original(text: str, launch: RunLaunch) -> str | None:
    _, found, last = text.rpartition(" --shell ")
    if not found or not text.removeprefix(_BEFORE).startswith(_quote(_start(launch)[0])):
        return None
    for quoted in (last, last.removesuffix(_AFTER)):
        command = _unquote(quoted)
        for background in (False, True):
            if command is not None and contain_command(command, launch, background=background) == text:
                return command
    return None


def _quote(word: str) -> str:
    if word and word[0] != "=" and _PLAIN.issuperset(word):
        return word
    return "'" + word.replace("'", "'\\''") + "'"


def _unquote(text: str) -> str | None:
    if text[:1] == "'" and text[-1:] == "'" and len(text) > 1:
        return text[1:-1].replace("'\\''", "'")
    return text if text and _quote(text) == text else None
