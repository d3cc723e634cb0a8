"""Going through a project for what a contained command may not change, and what it may not see."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence

from lockgate.containment.unfinished_git import is_harmless, is_unfinished
from lockgate.core.errors import ContainmentError
from lockgate.resources.path_spelling import names_of
from lockgate.resources.protected_paths import PathGuard, ProtectedPath
from lockgate.system.files import real_path

MOST_ENTRIES = 400_000
"""Entries of a project that are looked at; a larger one cannot be contained."""

VENDORED = frozenset(
    {"node_modules", "site-packages", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache"}
)
"""Folders of code that was installed: it is looked into by nobody, here too. What lies there is like source."""


def survey(
    root: str,
    guard: PathGuard,
    *,
    deep: int = 64,
    most: int = MOST_ENTRIES,
    anchored: bool = True,
    into: Callable[[str], bool] = lambda _: True,
) -> Iterator[ProtectedPath]:
    """Go through everything below a folder and yield what matters, the topmost first.

    What is hidden as a whole is not looked into, and of what is protected as a whole only secrets are told. Links are
    not followed.

    Args:
        root: The folder, absolute, with links resolved.
        guard: Tells what matters.
        deep: How many levels to go down.
        most: How many entries to look at.
        anchored: Whether places with one fixed path are looked for too, and not only those found in any folder.
        into: Whether to look into a folder.

    Raises:
        ContainmentError: There are more entries.
    """
    todo = [(root, guard.from_root(root, anchored=anchored), 0, False)]
    while todo:
        folder, known, depth, protected = todo.pop()
        for item in _entries(folder):
            if _is_gits_own(item):
                continue
            most -= 1
            if most < 0:
                raise ContainmentError(f"{root} has too many files to look through")
            name = item.name.lower() if item.name.isascii() else names_of(f"/{item.name}")[-1]
            patterns = None if known is None else known + guard.patterns(name)
            is_folder = item.is_dir(follow_symlinks=False)
            found = None
            if patterns is None or guard.matters(item.path, name, patterns):
                # A link may lead to a folder now or later.
                found = what_matters(guard, item.path, folder=is_folder or item.is_symlink())
            if found is None and _is_listened_at(item):
                found = ProtectedPath(item.path, hidden=True)
            if found is not None and (found.hidden or not protected):
                yield found._replace(link=_link(item))
            if is_folder and depth < deep and _is_open(item, found) and into(item.path):
                todo.append((item.path, patterns, depth + 1, protected or (found is not None and found.protected)))


def find_planted(guard: PathGuard, roots: Sequence[str]) -> Iterator[ProtectedPath]:
    """Programs in a project that others would start, where they look for programs; yielded as :func:`survey` does.

    An install puts none of these names there. So what is new is taken out of force, and nothing has to be mounted.
    """
    for folder in guard.program_folders:
        for item in _entries(folder):
            if guard.is_helper(item.path) and not item.is_dir(follow_symlinks=False):
                yield ProtectedPath(movable(item.path, roots), protected=True, link=_link(item))


def movable(path: str, roots: Sequence[str]) -> str:
    """What has another name afterwards where a program must not be found at a path.

    A link in the project may lead there. It is the program itself where that lies in the project, too, else the link.
    """
    folder, name = os.path.split(path)
    real = real_path(folder)
    if any(f"{real}/".startswith(f"{root}/") for root in roots):
        return os.path.join(real, name)
    while (above := os.path.dirname(folder)) not in (*roots, "/"):
        folder = above
    return folder


def what_matters(guard: PathGuard, path: str, *, folder: bool) -> ProtectedPath | None:
    """What a path is, where git's unfinished operations matter only if to go on with them would run a command."""
    found = guard.entry(path, folder=folder)
    if found is not None and not found.hidden and is_unfinished(path) and is_harmless(path):
        return None
    return found


def _is_open(item: os.DirEntry[str], found: ProtectedPath | None) -> bool:
    """Whether to look into a folder."""
    return item.name not in VENDORED and (found is None or not found.hidden)


def _is_gits_own(item: os.DirEntry[str]) -> bool:
    """Whether a folder holds what git numbers and records by itself: thousands of files, none of which is a place."""
    parent, _, folder = item.path[: -len(item.name) - 1].rpartition("/")
    if item.name in ("logs", "refs", "lfs"):
        return folder == ".git"
    return folder == "objects" and item.name != "info" and os.path.exists(os.path.join(parent, "HEAD"))


def _entries(folder: str) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []


def _is_listened_at(item: os.DirEntry[str]) -> bool:
    """Whether somebody outside may read what is written here: sockets and named pipes."""
    if item.is_file(follow_symlinks=False) or item.is_dir(follow_symlinks=False) or item.is_symlink():
        return False
    try:
        mode = item.stat(follow_symlinks=False).st_mode
    except OSError:
        return False
    return stat.S_ISSOCK(mode) or stat.S_ISFIFO(mode)


def _link(item: os.DirEntry[str]) -> str:
    try:
        return os.readlink(item.path) if item.is_symlink() else ""
    except OSError:
        return ""
