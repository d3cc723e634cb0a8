"""Repositories of git as values, for an analysis without a disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

ORDINARY: Mapping[str, str] = {"README.md": "r1", "src/app.py": "a1", "src/a.py": "b1", "tests/test_app.py": "t1"}
"""Files of a project, none of which lies in a place that matters."""


class Told(NamedTuple):
    """A repository whose revisions are listed."""

    root: str
    trees: Mapping[str, Mapping[str, str]]
    """The files of each revision; the index under an empty name."""
    disk: Mapping[str, str] = {}
    """What lies in the work tree."""
    bases: Mapping[tuple[str, str], str] = {}
    picks: Mapping[tuple[str, str], tuple[str, ...]] = {}
    remotes: Mapping[str, tuple[str, ...]] = {}
    """Where a push to each remote goes; under an empty name, where one without a name goes."""

    def pushes_to(self, remote: str) -> tuple[str, ...] | None:
        return self.remotes.get(remote, (remote,) if ":" in remote else None)

    def tree(self, revision: str) -> Mapping[str, str] | None:
        return self.trees.get(revision)

    def knows(self, word: str) -> bool:
        return word in self.trees

    def commits(self, one: str, other: str) -> tuple[str, ...] | None:
        return self.picks.get((one, other))

    def base(self, one: str, other: str) -> str | None:
        return self.bases.get((one, other))

    def holds(self, path: str, content: str) -> bool:
        return self.disk.get(path, "") == content


class Ordinary(NamedTuple):
    """A repository all of whose revisions hold ordinary files. What is spelt like one of these is no revision."""

    root: str

    def pushes_to(self, remote: str) -> tuple[str, ...] | None:
        return None

    def tree(self, revision: str) -> Mapping[str, str] | None:
        return ORDINARY if not revision or self.knows(revision) else None

    def knows(self, word: str) -> bool:
        return word not in ORDINARY and "." not in word.rpartition("/")[2]

    def commits(self, one: str, other: str) -> tuple[str, ...] | None:
        return (other,)

    def base(self, one: str, other: str) -> str | None:
        return one

    def holds(self, path: str, content: str) -> bool:
        return ORDINARY.get(path, "") == content
