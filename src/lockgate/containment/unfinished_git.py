"""Tells whether going on with an unfinished operation of git runs commands.

A contained ``git rebase`` writes there, and stops there for a conflict: so these folders cannot be read-only, as other
places of git are. They are harmless as long as whoever says ``git rebase --continue`` starts nothing but git.
Files and commands: git-rebase(1), git's ``sequencer.c`` and ``builtin/am.c``.
"""

from __future__ import annotations

import os
import stat

_FOLDERS = frozenset({"rebase-merge", "rebase-apply", "sequencer"})
_COMMANDS = frozenset(
    {"pick", "reword", "edit", "squash", "fixup", "drop", "break", "label", "reset", "merge"}
) | frozenset({*"presfdbltmu", "update-ref", "noop", "revert"})
"""Commands of a list of steps. What is not here is ``exec``, or of a git that is not known."""
_STEPS = frozenset({"git-rebase-todo", "todo"})
"""What is left to do. What is done (``done``) is only counted."""
_STRATEGIES = frozenset({"ort", "recursive", "resolve", "octopus", "ours", "subtree"})
"""Of another strategy git looks for a program of that name."""
_MOST_BYTES = 1 << 20


def is_unfinished(path: str) -> bool:
    """Whether a path is the folder of an unfinished operation, or lies in one."""
    names = path.split("/")
    return ".git" in names and not _FOLDERS.isdisjoint(names[names.index(".git") + 1 :])


def is_harmless(path: str) -> bool:
    """Whether git starts no other program for what is there. What cannot be read is not harmless."""
    name = os.path.basename(path)
    try:
        kind = os.lstat(path).st_mode
        if name in _FOLDERS:
            return stat.S_ISDIR(kind)
        return stat.S_ISREG(kind) and _starts_nothing(path, name)
    except OSError:
        return False


def _starts_nothing(path: str, name: str) -> bool:
    if name in _STEPS:
        return all(_command(line) in _COMMANDS for line in _lines(path) if line and not line.startswith(b"#"))
    if name == "strategy":
        return all(line.decode("utf-8", "replace") in {*_STRATEGIES, ""} for line in _lines(path))
    if name == "opts":
        return all(_is_harmless_setting(line) for line in _lines(path))
    return True


def _is_harmless_setting(line: bytes) -> bool:
    name, _, value = line.decode("utf-8", "replace").lower().partition(" = ")
    return "strategy" not in name or name == "strategy-option" or (name == "strategy" and value in _STRATEGIES)


def _command(line: bytes) -> str:
    return line.split()[0].decode("utf-8", "replace")


def _lines(path: str) -> list[bytes]:
    """The lines of a file, without blanks around them.

    Raises:
        OSError: It cannot be read, or is longer than any of these files.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    with open(descriptor, "rb") as file:
        content = file.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise OSError(27, "too long", path)
    return [line.strip() for line in content.split(b"\n")]
