"""Which files of a project a contained command may not change, and which it may not see.

What matters and why stands in ``analysis/data/places.yaml`` and in a person's configuration, and nowhere else: each
path is asked about as the analysis asks. Only names that can matter are asked about, since a project has many files.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat
from collections.abc import Callable, Iterator

from lockgate.analysis.globs import Names, is_wild
from lockgate.analysis.paths import read_effects, write_effects
from lockgate.analysis.places import Path, find_begun, pattern_names, places
from lockgate.analysis.surroundings import Surroundings
from lockgate.errors import ContainmentError
from lockgate.model import EffectKind
from lockgate.record import Record

MOST_ENTRIES = 400_000
"""Entries of a project that are looked at; a larger one cannot be contained."""

VENDORED = frozenset(
    {"node_modules", "site-packages", ".venv", "venv", "__pycache__", ".tox", ".nox", ".mypy_cache", ".pytest_cache"}
)
"""Folders of code that was installed: it is looked into by nobody, here too. What lies there is like source."""

_PROTECTED = frozenset({"persist", "tamper"})
_CHANGES = frozenset({EffectKind.PERSIST, EffectKind.TAMPER})


class Entry(Record):
    """One path that matters."""

    path: str
    folder: bool = False
    protected: bool = False
    """It may be read and not changed."""
    hidden: bool = False
    """It may not be read."""
    pinned: bool = False
    """It may be changed, but not be moved away, so that nothing else takes its place."""
    link: str = ""
    """For a symbolic link: where it leads, as it is written."""


class Guard:
    """Asks about paths. One for a run."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around._replace(realpath=str)
        self._names = frozenset(name for pattern in _patterns(around) for name in pattern if not is_wild(name))
        wild = {pattern[-1] if pattern[-1] != "**" else pattern[-2] for pattern in _patterns(around)}
        marks = [fnmatch.translate(name) for name in sorted(wild) if is_wild(name) and name != "**"]
        self._wild = re.compile("|".join(marks) or r"(?!)")

    def matters(self, name: str) -> bool:
        """Whether a path with this name, in any of its folders, can matter."""
        folded = name.casefold()
        return folded in self._names or self._wild.match(folded) is not None

    def entry(self, path: str, *, folder: bool, socket: bool = False) -> Entry | None:
        """What a path is; ``None`` where it does not matter."""
        around = self._around
        if socket:
            return Entry(path, hidden=True)
        if any(effect.kind in _CHANGES for effect in write_effects(path, "", around)):
            pinned = folder and os.path.basename(path) == ".git"
            return Entry(path, folder, protected=not pinned, hidden=self._secret(path), pinned=pinned)
        if self._secret(path):
            return Entry(path, folder, hidden=True)
        if folder and self._begins(path):
            return Entry(path, folder, protected=True)
        return None

    def _secret(self, path: str) -> bool:
        effects = read_effects(path, "", self._around)
        return any(
            effect.kind is EffectKind.READ_SECRET or effect.rule.startswith("place:transcript/") for effect in effects
        )

    def _begins(self, path: str) -> bool:
        """Whether a hidden folder is one that such places lie in (``.vscode``): it is protected as a whole."""
        name = os.path.basename(path).casefold()
        if not name.startswith(".") or name == ".git":
            return False
        begun = find_begun(Path((name,)))
        return any(place.kind in _PROTECTED for place in begun)


def _patterns(around: Surroundings) -> Iterator[Names]:
    for place in places():
        if place.kind not in ("vendored", "destroy"):
            yield from place.match
    rules = around.rules
    for patterns in (rules.protected_paths, rules.secret_paths, rules.persistent_paths):
        yield from map(pattern_names, patterns)


def survey(
    root: str,
    guard: Guard,
    *,
    deep: int = 64,
    most: int = MOST_ENTRIES,
    into: Callable[[str], bool] = lambda _: True,
) -> Iterator[Entry]:
    """Go through everything below a folder and yield what matters, the topmost first.

    What is protected or hidden as a whole is not looked into. Links are not followed.

    Args:
        root: The folder, absolute, with links resolved.
        guard: Tells what matters.
        deep: How many levels to go down.
        most: How many entries to look at.
        into: Whether to look into a folder.

    Raises:
        ContainmentError: There are more entries.
    """
    # Below a folder whose name matters, all names do.
    asked = any(map(guard.matters, root.split("/")[1:]))
    todo = [(root, asked, 0)]
    while todo:
        folder, asked, depth = todo.pop()
        for item in _entries(folder):
            if _is_gits_own(item):
                continue
            most -= 1
            if most < 0:
                raise ContainmentError(f"{root} has too many files to look through")
            is_folder = item.is_dir(follow_symlinks=False)
            matters = asked or guard.matters(item.name)
            # A link may lead to a folder now or later.
            found = guard.entry(item.path, folder=is_folder or item.is_symlink()) if matters else None
            if found is None and _is_socket(item):
                found = Entry(item.path, hidden=True)
            if found is not None:
                yield found._replace(link=_link(item))
            if is_folder and depth < deep and _is_open(item, found) and into(item.path):
                todo.append((item.path, matters, depth + 1))


def _is_open(item: os.DirEntry[str], found: Entry | None) -> bool:
    """Whether to look into a folder."""
    if found is not None and not found.pinned:
        return False
    return item.name not in VENDORED


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


def _is_socket(item: os.DirEntry[str]) -> bool:
    if item.is_file(follow_symlinks=False) or item.is_dir(follow_symlinks=False) or item.is_symlink():
        return False
    try:
        return stat.S_ISSOCK(item.stat(follow_symlinks=False).st_mode)
    except OSError:
        return False


def _link(item: os.DirEntry[str]) -> str:
    try:
        return os.readlink(item.path) if item.is_symlink() else ""
    except OSError:
        return ""
