"""The table of places, compiled: which patterns a path meets."""

from __future__ import annotations

import json
import os
from functools import lru_cache

from lockgate.analysis.globs import Names, is_wild, name_matches, names_meet, path_matches, paths_meet
from lockgate.record import Record

HOME = "~"
"""First name of a path that is told from a home folder."""


class Place(Record):
    """A kind of place and why it matters. Patterns are tuples of names in case-folded spelling."""

    name: str
    kind: str
    because: str
    own: bool
    """Whether it belongs to the gate itself."""
    project: bool
    """Whether it also holds inside the project."""
    match: tuple[Names, ...]
    exceptions: tuple[Names, ...]


class Path(Record):
    """A path as the table asks about it: case-folded names, once from the root and once from a home folder."""

    names: Names
    """From the root, whose own name is empty; or, where the folder is not known, the names that are."""
    home: Names | None = None
    """From the home folder (first name ``~``), ``None`` where it is not below one."""
    wild: bool = False
    """Whether a shell may still expand marks in it."""


def pattern_names(pattern: str) -> Names:
    """Split a pattern: ``~/x`` from a home folder, ``/x`` from the root, ``x`` in any folder."""
    names = tuple(name for name in pattern.casefold().split("/") if name not in {"", "."})
    if pattern.startswith("/"):
        return ("", *names)
    return names if names[:1] in {(HOME,), ("**",)} else ("**", *names)


def floats(pattern: Names) -> bool:
    """Whether a pattern is looked for in any folder."""
    return pattern[0] == "**"


@lru_cache(maxsize=1)
def places() -> tuple[Place, ...]:
    """The shipped table."""
    file = os.path.join(os.path.dirname(__file__), "data", "places.json")
    with open(file, encoding="utf-8") as stream:
        rows = json.load(stream)
    return tuple(
        Place(
            row["name"],
            row["kind"],
            row["because"],
            row.get("self", False),
            row.get("project", True),
            tuple(map(pattern_names, row["match"])),
            tuple(map(pattern_names, row.get("except", ()))),
        )
        for row in rows
    )


class _Index(Record):
    by_name: dict[str, list[tuple[Names, int]]]
    """Patterns by one name that a path must have."""
    others: list[tuple[Names, int]]
    """Patterns with no such name; all of them are one wild name in any folder, or nearly."""


@lru_cache(maxsize=1)
def _index() -> _Index:
    by_name: dict[str, list[tuple[Names, int]]] = {}
    others: list[tuple[Names, int]] = []
    for number, place in enumerate(places()):
        for pattern in place.match:
            plain = [name for name in pattern[1:] if not is_wild(name)]
            if plain:
                by_name.setdefault(max(plain, key=len), []).append((pattern, number))
            else:
                others.append((pattern, number))
    return _Index(by_name, others)


def _view(pattern: Names, path: Path) -> Names | None:
    return path.home if pattern[0] == HOME else path.names


def _matches(pattern: Names, path: Path) -> bool:
    view = _view(pattern, path)
    return view is not None and path_matches(pattern, view)


def _telling(pattern: Names, path: Path) -> bool:
    """Whether a wild path aims at a pattern that is looked for in any folder, rather than at everything (``*.json``).

    Its last name must spell something of the stem, or where the pattern has no stem itself (``*.pem``), of the rest.
    """
    name, wanted = path.names[-1], pattern[-1]
    if not is_wild(name) or wanted == "**":
        return True
    stem, _, extension = name.rpartition(".") if name.rfind(".") > 0 else (name, "", "")
    spelt = extension if wanted.startswith("*.") else stem
    if wanted.startswith("*") and spelt is stem:
        # What stands before the first mark says nothing about a pattern that begins with one (`cred*` and `*_rsa`).
        spelt = stem[min(stem.find(mark) % (len(stem) + 1) for mark in "*?[") :]
    return any(character not in "*?[]" for character in spelt)


def _reaches(pattern: Names, path: Path) -> bool:
    """Whether a wild path can be expanded to something that the pattern matches."""
    view = _view(pattern, path)
    if view is None or (pattern[-1] != "**" and view[-1] != "**" and not names_meet(pattern[-1], view[-1])):
        return False
    return (not floats(pattern) or _telling(pattern, path)) and paths_meet(pattern, view)


def find(path: Path) -> list[Place]:
    """All places that a path is, or where a shell still expands it, can become. In the order of the table."""
    table, index = places(), _index()
    found: set[int] = set()
    names = set(path.names)
    candidates = [hit for name in names for hit in index.by_name.get(name, ())] + index.others
    for pattern, number in candidates:
        if number not in found and _matches(pattern, path) and not _excepted(table[number], path):
            found.add(number)
    if path.wild:
        for number, place in enumerate(table):
            if number not in found and any(_reaches(pattern, path) for pattern in place.match):
                found.add(number)
    return [table[number] for number in sorted(found)]


def _excepted(place: Place, path: Path) -> bool:
    return any(_matches(pattern, path) for pattern in place.exceptions)


def _starts(pattern: Names, names: Names) -> bool:
    """Whether a folder's last names are the first that a pattern for any folder spells.

    The folder ``.docker`` begins ``.docker/config.json``.
    """
    spelt = pattern[1:]
    return any(
        len(spelt) > length and all(map(name_matches, spelt[:length], names[-length:]))
        for length in range(1, min(len(spelt), len(names)) + 1)
    )


def find_below(path: Path) -> list[Place]:
    """All places that a folder is or that lie below it.

    Patterns for any folder count only where the folder's own name begins to spell them. Text of packages does not
    count: people search in ``node_modules`` for code all day.
    """
    below = [
        place
        for place in places()
        if place.kind != "vendored" and any(_lies_below(pattern, path) for pattern in place.match)
    ]
    return [*below, *(place for place in find(path) if place not in below)]


def find_begun(path: Path) -> list[Place]:
    """All places that are looked for in any folder and that a folder's own last name begins to spell (``.claude``)."""
    return [
        place for place in places() if any(floats(pattern) and _starts(pattern, path.names) for pattern in place.match)
    ]


def _lies_below(pattern: Names, path: Path) -> bool:
    view = _view(pattern, path)
    if view is None:
        return False
    return _starts(pattern, view) if floats(pattern) else paths_meet(pattern, (*view, "**"))
