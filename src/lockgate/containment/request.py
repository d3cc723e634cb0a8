"""Reads what a contained run was asked for on a command line, and what it takes to lay it out.

The process that runs the command reads it, and the resident gate that plans for such a process.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from lockgate.containment.layout import ContainedRun
from lockgate.core.errors import BadInputError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.host_view import AnalysisRules, HostView

if TYPE_CHECKING:
    from lockgate.policy.compiled import Policy
    from lockgate.system.folders import Folders

_VALUES = ("home", "state", "config", "workspace", "folder-to", "room", "registries")
ROOM_NAME = r"[0-9a-f]{32}"
"""How a room is named: what :func:`lockgate.gate.monitor.rooms.name_of` makes."""
_FLAGS = ("background", "again")
_SHELLS = ("bash", "zsh", "dash", "sh")
_ABSOLUTE = r"(?<![\w.~-])/[\w./+@%-]+"
"""What looks like an absolute path in a shell's text."""
_GIT = r"(?<![\w.])(?:lazy)?git(?![\w./])"
"""A word ``git``: no part of another one (``github``), no folder (``~/git/x``) and no file (``.git``, ``a.git``)."""

_OFFLINE = r"(?<![\w-])(?:--(?:prefer-)?|npm_config_(?:prefer_)?)offline(?![\w-])"
"""What has npm take packages from its cache (npm's manual: the settings ``offline`` and ``prefer-offline``)."""


class RunCommandLine(Record):
    """A command line, read."""

    options: Mapping[str, str]
    """``home``, ``state``, ``config``, ``workspace``; where they are given ``folder-to``, ``room``, ``registries``,
    ``background``, ``again``."""
    command: tuple[str, ...]
    """The program and its arguments; empty where there is a shell's text."""
    text: str = ""
    """A shell's text."""

    @property
    def named(self) -> tuple[str, ...]:
        """Paths that the command names."""
        return tuple(re.findall(_ABSOLUTE, self.text)) or self.command

    @property
    def names_git(self) -> bool:
        """Whether a shell's text names git, by itself or by a path, or a program of its own such as ``git-lfs``."""
        return re.search(_GIT, self.text) is not None

    @property
    def names_offline(self) -> bool:
        """Whether packages are to come from a cache that a person has filled."""
        return re.search(_OFFLINE, self.text or " ".join(self.command)) is not None


class RunContext(Record):
    """Where a run was asked for."""

    cwd: str
    environ: Mapping[str, str]
    parent: int
    """The number of the process that started the one that runs the command: a client's shell."""


def parse(arguments: Sequence[str]) -> RunCommandLine:
    """Read the words behind the program's name.

    Raises:
        BadInputError: They are not what the gate writes.
    """
    options: dict[str, str] = {}
    for index, word in enumerate(arguments):
        rest = tuple(arguments[index + 1 :])
        if word == "--" and rest:
            return RunCommandLine(options, rest)
        if word == "--shell" and len(rest) == 1:
            return RunCommandLine(options, (), rest[0])
        name, given, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name not in (*_VALUES, *_FLAGS) or bool(given) == (name in _FLAGS):
            raise BadInputError(f"unknown argument {word!r}")
        if name in ("room", "registries") and not re.fullmatch(ROOM_NAME, value):
            raise BadInputError("a room has no such name, and nothing is noted under it")
        options[name] = value
    raise BadInputError("there is no command")


def run_of(asked: RunCommandLine, where: Folders, place: RunContext, around: HostView) -> ContainedRun:
    """What is to be laid out; ``around`` is that of the workspace."""
    moves = "folder-to" in asked.options
    return ContainedRun(
        where.state,
        where.home,
        around.workspace,
        place.cwd,
        asked.command or _shell_command(asked.text, place, moves=moves),
        place.environ,
        around,
        named=asked.named,
        git="background" not in asked.options and (asked.names_git or bool(asked.command)),
        room=asked.options.get("room", ""),
        registries=asked.options.get("registries", ""),
        offline=asked.names_offline,
    )


def paths_of(policies: Sequence[Policy]) -> AnalysisRules:
    """What the configuration of a workspace says of paths: with several policies, all of their paths."""
    rules = [policy.rules for policy in policies]
    return AnalysisRules(
        protected_paths=tuple(dict.fromkeys(path for each in rules for path in each.protected_paths)),
        secret_paths=tuple(dict.fromkeys(path for each in rules for path in each.secret_paths)),
        persistent_paths=tuple(dict.fromkeys(path for each in rules for path in each.persistent_paths)),
    )


def _shell_command(text: str, place: RunContext, *, moves: bool) -> tuple[str, ...]:
    """The command line that runs a shell's text as the client would have had it run."""
    shell = place.environ.get("SHELL", "")
    if os.path.basename(shell) not in _SHELLS or not os.path.isabs(shell) or not os.access(shell, os.X_OK):
        shell = "/bin/bash" if os.access("/bin/bash", os.X_OK) else "/bin/sh"
    start = _start_file(place.parent)
    if not moves and not start:
        return (shell, "-c", text)
    script = f"eval {_quote(text)}"
    if moves:
        script = f"{{ {script}; }} 9>&- && pwd -P >&9"
    return (shell, "-c", f". {_quote(start)} 2>/dev/null || true; {script}" if start else script)


def _start_file(parent: int) -> str:
    """The file with the person's functions and aliases, which Claude Code's shell has read before this process began.

    It is read in the sandbox, so that nothing rests on what it says. Empty where there is none.
    """
    try:
        with open(f"/proc/{parent}/cmdline", "rb") as file:
            words = os.fsdecode(file.read(1 << 20))
    except OSError:
        return ""
    found = re.search(r"\bsource (/[^\s\0';|&]+/shell-snapshots/snapshot-[\w-]+\.sh) ", words)
    return found[1] if found else ""


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
