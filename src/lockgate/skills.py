"""Finding the text of a skill or a command of Claude Code, as it is now: bounded, and nothing but regular files."""

from __future__ import annotations

import os
from collections.abc import Iterator

from lockgate.files import read_regular
from lockgate.lazy import lazy_re

MOST_BYTES = 256 * 1024
"""Longest text that is read."""
_MOST_FILES = 2000
_DEEPEST = 4
_SKILL = "skill.md"
_NAMED = lazy_re(rb"(?m)^name:[ \t]*[\"']?([^\s\"'#]+)")


def read_skills(name: str, home: str, workspace: str, cwd: str) -> tuple[str | None, ...]:
    """The texts that a name could mean: those of the project, the user and the plugins that are installed.

    Args:
        name: ``NAME``, ``FOLDER:NAME`` or ``PLUGIN:NAME``. Of whose it is only the last part is asked.
        home: The user's home folder.
        workspace: The project's root folder, absolute; empty where it is not known.
        cwd: The folder that it is called in; skills lie beside each folder above it.

    Returns:
        One for each file; ``None`` for one that cannot be read.
    """
    wanted = name.rpartition(":")[2]
    if not wanted:
        return ()
    found: dict[str, None] = {}
    for number, file in enumerate(_files(home, workspace, cwd)):
        if number >= _MOST_FILES:
            return (*map(_text, found), None)
        if _is(file, wanted):
            found[file] = None
    return tuple(map(_text, found))


def _files(home: str, workspace: str, cwd: str) -> Iterator[str]:
    for folder in dict.fromkeys((*_above(cwd, workspace), workspace, home)):
        if folder:
            yield from _in(os.path.join(folder, ".claude"))
    plugins = os.path.join(home, ".claude", "plugins", "cache")
    for market in _names(plugins):
        for plugin in _names(os.path.join(plugins, market)):
            for version in _names(os.path.join(plugins, market, plugin)):
                yield from _in(os.path.join(plugins, market, plugin, version))


def _above(cwd: str, workspace: str) -> Iterator[str]:
    """A folder and those around it, up to the project's root."""
    while workspace and (cwd + "/").startswith(workspace.rstrip("/") + "/") and len(cwd) > len(workspace):
        yield cwd
        cwd = os.path.dirname(cwd)


def _in(folder: str) -> Iterator[str]:
    yield from _below(os.path.join(folder, "skills"), _SKILL)
    yield from _below(os.path.join(folder, "commands"), ".md")


def _below(folder: str, ending: str, depth: int = 0) -> Iterator[str]:
    for name in _names(folder):
        path = os.path.join(folder, name)
        if name.lower().endswith(ending):
            yield path
        elif depth < _DEEPEST and os.path.isdir(path):
            yield from _below(path, ending, depth + 1)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))[:_MOST_FILES]
    except (OSError, ValueError):
        return []


def _is(file: str, wanted: str) -> bool:
    """Whether a file is that of a skill: by the name of its folder, its own, or the one that it gives itself."""
    folder, name = os.path.split(file)
    stem = os.path.basename(folder) if name.lower() == _SKILL else os.path.splitext(name)[0]
    if stem == wanted:
        return True
    try:
        match = _NAMED.search(read_regular(file, MOST_BYTES))
    except (OSError, ValueError):
        return False
    return match is not None and match[1].rpartition(b":")[2] == wanted.encode("utf-8", "surrogateescape")


def _text(file: str) -> str | None:
    try:
        return read_regular(file, MOST_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
