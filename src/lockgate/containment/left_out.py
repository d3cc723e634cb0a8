"""Changes the input of a search so that it leaves the gate's state out, which lies below the searched folder.

That is Claude Code's ``Grep``, which is ripgrep. It parts its ``glob`` at blanks and hands each part on as ``--glob``
(seen in 2.1.197); of several the last one that matches holds, and ``!`` leaves a folder out with all that is in it. A
pattern counts from the working folder, or holds for whole paths where that is elsewhere: it is given for both.
"""

from __future__ import annotations

import os
import posixpath

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

_PLAIN = lazy_re(r"[A-Za-z0-9._/-]+")
"""Paths that hold no mark of a pattern, and nothing at which the client parts them."""


def without_state(given: Mapping[str, Any], cwd: str, home: str, states: Sequence[str]) -> Mapping[str, Any] | None:
    """The input of a search that leaves the gate's state out; ``None`` where that cannot be said.

    Args:
        given: The input that the agent gave.
        cwd: The working folder, absolute.
        home: What ``~`` stands for.
        states: The folders of the state, absolute.
    """
    glob, globs = given.get("glob", ""), _globs(given, cwd, home, states)
    if not globs or not isinstance(glob, str):
        return None
    return {**given, "glob": f"{glob} {globs}".strip()}


def as_given(changed: Mapping[str, Any], cwd: str, home: str, states: Sequence[str]) -> Mapping[str, Any]:
    """The input that the agent gave, where :func:`without_state` made this one of it."""
    glob, globs = changed.get("glob"), _globs(changed, cwd, home, states)
    if not globs or not isinstance(glob, str) or not f" {glob}".endswith(f" {globs}"):
        return changed
    rest = glob[: -len(globs)].rstrip(" ")
    return {**changed, "glob": rest} if rest else {name: value for name, value in changed.items() if name != "glob"}


def _globs(given: Mapping[str, Any], cwd: str, home: str, states: Sequence[str]) -> str:
    """What is added to the patterns; empty where it would not hold."""
    path = given.get("path") or cwd
    if not isinstance(path, str) or not posixpath.isabs(cwd):
        return ""
    path = path.strip()
    path = home + path[1:] if path == "~" or path.startswith("~/") else path
    root = posixpath.normpath(posixpath.join(cwd, path))
    starts = {place for folder in (root, cwd) for place in (folder, os.path.realpath(folder))}
    below = {
        posixpath.relpath(state, start)
        for state in {*states, *map(os.path.realpath, states)}
        for start in starts
        if f"{state}/".startswith(f"{start.rstrip('/')}/") and state != start
    }
    if not below or not all(map(_PLAIN.fullmatch, below)):
        return ""
    return " ".join(f"!**/{name}" for name in sorted(below))
