"""Which files of a project may not be changed by what runs without a question, and which it may not see.

What matters and why stands in ``data/places.yaml`` and in a person's configuration, and nowhere else: each path is
asked about as the analysis asks. Only names that can matter are asked about, since a project has many files.
"""

from __future__ import annotations

import fnmatch
import posixpath
import re
from collections.abc import Iterable, Iterator

from lockgate.core.model import EffectKind
from lockgate.core.record import Record
from lockgate.resources.globs import Names, is_wild, path_matches, paths_meet
from lockgate.resources.host_view import HostView
from lockgate.resources.path_spelling import names_of
from lockgate.resources.paths import read_effects, write_effects
from lockgate.resources.places import HOME, Path, find_begun, floats, places, split_pattern

_MOST_ASKED = 4096
"""Paths of which a guard remembers what they are: one that is kept is asked about the same ones again and again."""
_PROTECTED = frozenset({"persist", "tamper"})
_CHANGES = frozenset({EffectKind.PERSIST, EffectKind.TAMPER})


class ProtectedPath(Record):
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


_Folders = dict[str, tuple[tuple[Names, ...] | None, bool]]
"""Folders below a root: the patterns that what lies in them may meet, and whether they are protected as a whole."""


class PathGuard:
    """Asks about paths. One for a run.

    To ask the analysis about a path takes a while, and a project has many. So a path is asked about only where its
    names meet a pattern of the table, or places with one fixed path lie there.
    """

    def __init__(self, around: HostView) -> None:
        self._around = around._replace(realpath=str)
        self._by_name: dict[str, list[Names]] = {}
        self._begin: set[str] = set()
        self._anchored: list[Names] = []
        wild: set[str] = set()
        for pattern in _patterns(around):
            if not floats(pattern):
                self._anchored.append(pattern)
                continue
            self._begin.add(pattern[1])
            plain = [name for name in pattern[1:] if not is_wild(name)]
            if plain:
                self._by_name.setdefault(max(plain, key=len), []).append(pattern)
            else:
                wild.add(pattern[-1] if pattern[-1] != "**" else pattern[-2])
        self._globs = tuple(sorted(wild))
        self._wild = re.compile("|".join(map(fnmatch.translate, self._globs)) or r"(?!)")
        root = around.workspace
        self.program_folders = tuple(posixpath.normpath(posixpath.join(root, each)) for each in around.program_folders)
        """Folders of the project in which other programs look for programs."""
        self._helpers = frozenset(around.helpers) if self.program_folders else frozenset()
        self._roots: dict[tuple[str, bool], tuple[Names, ...] | None] = {}
        self._asked: dict[tuple[str, bool], ProtectedPath | None] = {}
        self._protected: tuple[Names, ...] | None = None

    def list_protected(self) -> tuple[Names, ...]:
        """Patterns of what may not be changed, as far as they are looked for in any folder; ``.git`` itself may be."""
        if self._protected is not None:
            return self._protected
        rules = self._around.rules
        own = [split_pattern(pattern) for pattern in (*rules.protected_paths, *rules.persistent_paths)]
        shipped = [names for place in places() if place.kind in _PROTECTED and place.around for names in place.match]
        found = dict.fromkeys([*shipped, *own])
        self._protected = tuple(names for names in found if floats(names) and names != ("**", ".git"))
        return self._protected

    def patterns(self, name: str) -> tuple[Names, ...]:
        """Patterns that a path with this name in it may meet."""
        return tuple(self._by_name.get(name, ()))

    def filters(self) -> tuple[frozenset[str], tuple[str, ...], tuple[tuple[str, Names], ...]]:
        """What :meth:`matters` goes by: names, names with marks, and patterns by the name that a path must have."""
        by_name = tuple((name, pattern) for name, patterns in self._by_name.items() for pattern in patterns)
        return frozenset(self._begin) | self._helpers, self._globs, by_name

    def is_helper(self, path: str) -> bool:
        """Whether a path is that of a program which others start, where they look for it: nobody may put one there."""
        folder, _, name = path.rpartition("/")
        return name in self._helpers and folder in self.program_folders

    def from_root(self, root: str, *, anchored: bool) -> tuple[Names, ...] | None:
        """Patterns that a folder's own names may begin to meet; ``None`` where everything in it is asked about."""
        known = self._roots.get((root, anchored), ())
        if (root, anchored) not in self._roots:
            known = self._roots[root, anchored] = self._look_from(root, anchored=anchored)
        return known

    def _look_from(self, root: str, *, anchored: bool) -> tuple[Names, ...] | None:
        names = names_of(root)
        home = names_of(self._around.home)
        views = [names, *([(HOME, *names[len(home) :])] if names[: len(home)] == home else [])]
        if anchored and any(paths_meet(pattern, (*view, "**")) for view in views for pattern in self._anchored):
            return None
        return tuple(pattern for name in names for pattern in self.patterns(name))

    def matters(self, path: str, name: str, patterns: tuple[Names, ...]) -> bool:
        """Whether a path is worth asking about."""
        if name in self._begin or self._wild.match(name):
            return True
        return bool(patterns) and any(path_matches(pattern, names_of(path)) for pattern in patterns)

    def entry(self, path: str, *, folder: bool) -> ProtectedPath | None:
        """What a path is; ``None`` where it does not matter. Nothing is looked at, so that it stays what it is."""
        asked = path, folder
        if asked not in self._asked:
            if len(self._asked) >= _MOST_ASKED:
                self._asked.clear()
            self._asked[asked] = self._ask(path, folder=folder)
        return self._asked[asked]

    def _ask(self, path: str, *, folder: bool) -> ProtectedPath | None:
        around = self._around
        if any(effect.kind in _CHANGES for effect in write_effects(path, "", around)):
            pinned = folder and posixpath.basename(path) == ".git"
            return ProtectedPath(path, folder, protected=not pinned, hidden=self._is_secret(path), pinned=pinned)
        if self._is_secret(path):
            return ProtectedPath(path, folder, hidden=True)
        if folder and self._begins(path):
            return ProtectedPath(path, folder, protected=True)
        return None

    def filter_protected(self, root: str, paths: Iterable[str]) -> list[str]:
        """Those of the paths below a folder that may not be changed, in their order.

        Args:
            root: The folder, absolute, with links resolved.
            paths: Told from there, without ``.`` and ``..``.
        """
        known: _Folders = {"": (self.from_root(root, anchored=True), False)}
        return [path for path in paths if self._is_protected(root, path, known)]

    def _is_protected(self, root: str, path: str, known: _Folders) -> bool:
        folder, _, name = path.rpartition("/")
        if folder not in known:
            protected = self._is_protected(root, folder, known)
            above, _, last = folder.rpartition("/")
            begun = known[above][0]
            known[folder] = None if begun is None else begun + self.patterns(_spell(last)), protected
        patterns, protected = known[folder]
        if protected:
            return True
        full, spelt = f"{root.rstrip('/')}/{path}", _spell(name)
        own = None if patterns is None else patterns + self.patterns(spelt)
        if own is not None and not self.matters(full, spelt, own):
            return False
        # What is a file here may be a folder there, or a link to one.
        entry = self.entry(full, folder=True)
        return entry is not None and entry.protected

    def _is_secret(self, path: str) -> bool:
        effects = read_effects(path, "", self._around)
        return any(
            effect.kind is EffectKind.READ_SECRET or effect.rule.startswith("place:transcript/") for effect in effects
        )

    def _begins(self, path: str) -> bool:
        """Whether a hidden folder is one that such places lie in (``.vscode``): it is protected as a whole."""
        name = posixpath.basename(path).casefold()
        if not name.startswith(".") or name == ".git":
            return False
        begun = find_begun(Path((name,)))
        return any(place.kind in _PROTECTED for place in begun)


def _spell(name: str) -> str:
    """A name as the table spells it."""
    return name.lower() if name.isascii() else names_of(f"/{name}")[-1]


def _patterns(around: HostView) -> Iterator[Names]:
    for place in places():
        # What package managers make anew is theirs to change, contained as well.
        if place.kind not in ("vendored", "destroy") and place.around:
            yield from place.match
    rules = around.rules
    for pattern in (*rules.protected_paths, *rules.secret_paths, *rules.persistent_paths):
        names = split_pattern(pattern)
        yield from (names, (*names, "**"))
    for folder in around.hook_folders():
        names = names_of(folder)
        yield from (names, (*names, "**"))
