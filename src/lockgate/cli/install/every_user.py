"""Hooks for every user of a machine: only root may register them, and what they run must be root's alone."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from pathlib import Path

import click

from lockgate.core.display_text import visible
from lockgate.core.errors import InstallError
from lockgate.system.ownership import user_name

_ID = "/usr/bin/id"
"""The program by which the hooks find whose they are."""


def check(started: Iterable[str], *, dry_run: bool, root: int = 0) -> None:
    """Make sure that every user may run what the hooks start.

    Args:
        started: The files that the hooks start; an empty name is passed over.
        dry_run: Whether nothing is written; whoever asks need not be root then.
        root: The user who owns what all others run.

    Raises:
        InstallError: The process is not root's, or another user could change what all would run.
    """
    if os.geteuid() != root and not dry_run:
        raise InstallError("the settings of every user are root's: run this with sudo")
    if not os.access(_ID, os.X_OK):
        raise InstallError(f"there is no {_ID}, by which each hook finds its user's home folder")
    places = dict.fromkeys(place for path in started if path for place in _path_and_parents(path))
    if problem := next(filter(None, (_who_else_can_change(place, root) for place in places)), ""):
        mend = 'install Lockgate for the machine first: docs/install.md, "For every user of a machine"'
        raise InstallError(f"{problem}, and every user would run it; {mend}")
    if hidden := [str(place) for place in places if not _is_reached_by_all(place)]:
        says = f"Warning: other users cannot reach {visible(hidden[0], 300)}, so their calls will be blocked."
        click.echo(says, err=True)


def _path_and_parents(path: str) -> Iterable[Path]:
    """A file as it is named and as links lead to it, with all folders above both."""
    for name in dict.fromkeys((Path(path), Path(path).resolve())):
        yield name
        yield from name.parents


def _who_else_can_change(place: Path, root: int) -> str:
    """Who else can put another file there; empty where only root can."""
    found = place.lstat()
    if stat.S_ISLNK(found.st_mode):
        return "" if found.st_uid == root else f"{place} belongs to user {user_name(found.st_uid)}"
    if found.st_uid not in (root, 0):
        return f"{place} belongs to user {user_name(found.st_uid)}"
    shared = found.st_mode & (stat.S_IWOTH | (stat.S_IWGRP if found.st_gid else 0))
    # In a folder with this bit nobody can replace what is another's.
    return f"{place} can be written by others than root" if shared and not found.st_mode & stat.S_ISVTX else ""


def _is_reached_by_all(place: Path) -> bool:
    mode = place.stat().st_mode
    return bool(mode & (stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH))
