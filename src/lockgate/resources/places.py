"""Looks up which patterns of the compiled table of places a path meets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from lockgate.core.record import Record
from lockgate.core.version import resource_table
from lockgate.resources.globs import (
    LONGEST,
    Names,
    aims_at,
    aims_at_folder,
    common_beginning,
    common_ending,
    is_wild,
    longest_text,
    name_matches,
    names_meet,
    path_matches,
    paths_meet,
    spells_some_of,
)

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
    around: bool
    """Whether it also holds for the folders around it."""
    match: tuple[Names, ...]
    exceptions: tuple[Names, ...]
    named: Names = ()
    """Names that make it what it is in whatever folder of a project, where a command is run for many folders."""


class Path(Record):
    """A path as the table asks about it: case-folded names, once from the root and once from a home folder."""

    names: Names
    """From the root, whose own name is empty; or, where the folder is not known, the names that are."""
    home: Names | None = None
    """From the home folder (first name ``~``), ``None`` where it is not below one."""
    wild: bool = False
    """Whether a shell may still expand marks in it."""


def split_pattern(pattern: str) -> Names:
    """Split a pattern: ``~/x`` from a home folder, ``/x`` from the root, ``x`` in any folder."""
    names = tuple(name for name in pattern.casefold().split("/") if name not in {"", "."})
    if pattern.startswith("/"):
        return ("", *names)
    return names if names[:1] in {(HOME,), ("**",)} else ("**", *names)


def floats(pattern: Names) -> bool:
    """Whether a pattern is looked for in any folder."""
    return pattern[0] == "**"


class _Table(Record):
    """The shipped table, as ``data/build.py`` compiles it."""

    places: tuple[Place, ...]
    by_name: Mapping[str, Sequence[tuple[int, int]]]
    """By one name that a path must have: the numbers of a place and of its pattern."""
    others: Sequence[tuple[int, int]]
    """Patterns with no such name; all of them are one wild name in any folder, or nearly."""


@lru_cache(maxsize=1)
def _table() -> _Table:
    compiled = resource_table("places")
    rows = (
        Place(
            row["name"],
            row["kind"],
            row["because"],
            row.get("self", False),
            row.get("project", True),
            row.get("around", True),
            tuple(map(tuple, row["match"])),
            tuple(map(tuple, row.get("except", ()))),
            tuple(row.get("named", ())),
        )
        for row in compiled["places"]
    )
    return _Table(tuple(rows), compiled["by_name"], compiled["others"])


@lru_cache(maxsize=1024)
def _patterns_of_odd_name(name: str) -> tuple[Sequence[int], ...]:
    """Of the patterns that are known by no name: those that a path can match which ends in this one."""
    # Nearly none of them does, and for nearly each its last letter tells; but of a long name only a part is compared.
    odd = _odd()
    ends = (name[-1:], "") if len(name) <= LONGEST else tuple(odd)
    return tuple(
        each.hit
        for end in ends
        for each in odd.get(end, ())
        if name.startswith(each.begins) and each.holds in name and (each.last == "**" or name_matches(each.last, name))
    )


class _OddPattern(Record):
    """A pattern that is known by no name."""

    hit: tuple[int, int]
    last: str
    """Its last name."""
    begins: str
    """How all names begin that this one means."""
    holds: str
    """A text that they all hold. With ``begins`` it spares nearly all comparisons."""


@lru_cache(maxsize=1)
def _odd() -> Mapping[str, Sequence[_OddPattern]]:
    """The patterns that are known by no name, by the letter that all names end in which they mean."""
    table = _table()
    by_letter: dict[str, list[_OddPattern]] = {}
    for number, which in table.others:
        last = table.places[number].match[which][-1]
        letter = "" if last == "**" else common_ending(last)[-1:]
        pattern = _OddPattern((number, which), last, common_beginning(last), longest_text(last))
        by_letter.setdefault(letter, []).append(pattern)
    return by_letter


Hits = list[tuple[int, Names]]
"""Numbers of places, each with one of its patterns."""


class _Index(Record):
    """The table's patterns by one of their names, for the questions that any part of a pattern can answer.

    ``None`` stands for names with marks and for ``**``: such patterns are always looked at.
    """

    rooted: Mapping[str, Mapping[str | None, Hits]]
    """From the root or a home folder: by that, and by the name behind it."""
    begun: Mapping[str | None, Hits]
    """Looked for in any folder, with more than one name: by the first of them."""
    ended: Mapping[str, Hits]
    """Looked for in any folder: by the last name, or where that is ``**``, by the first."""


@lru_cache(maxsize=1)
def _index() -> _Index:
    rooted: dict[str, dict[str | None, Hits]] = {"": {}, HOME: {}}
    begun: dict[str | None, Hits] = {}
    ended: dict[str, Hits] = {}
    for number, place in enumerate(places()):
        for pattern in place.match:
            hit = number, pattern
            if not floats(pattern):
                rooted[pattern[0]].setdefault(_plain(pattern[1:2]), []).append(hit)
                continue
            ended.setdefault(pattern[1] if pattern[-1] == "**" else pattern[-1], []).append(hit)
            if len(pattern) > 2:
                begun.setdefault(_plain(pattern[1:2]), []).append(hit)
    return _Index(rooted, begun, ended)


def _plain(names: Names) -> str | None:
    return names[0] if names and names[0] != "**" and not is_wild(names[0]) else None


def _find_rooted(view: Names | None) -> Hits:
    """The patterns from a root or a home folder that a path may meet."""
    if view is None:
        return []
    index = _index().rooted
    name = _plain(view[1:2])
    if _plain(view[:1]) is None:
        return [hit for below in index.values() for hits in below.values() for hit in hits]
    below = index.get(view[0], {})
    if name is None:
        return [hit for hits in below.values() for hit in hits]
    return [*below.get(name, ()), *below.get(None, ())]


def _find_begun(path: Path) -> Hits:
    """The patterns for any folder that a folder's names may begin to spell."""
    if not path.wild:
        return [hit for name in dict.fromkeys(path.names) for hit in _find_begun_by(name)]
    index = _index().begun
    aimed = [name for name in path.names if aims_at_folder(name)]
    expanded = {first for first in index if first and any(names_meet(first, name) for name in aimed)}
    return [hit for name in {*path.names, *expanded, None} for hit in index.get(name, ())]


@lru_cache(maxsize=1024)
def _find_begun_by(name: str) -> Hits:
    """The patterns for any folder that begin with a name as it is written."""
    index = _index().begun
    return [*index.get(name, ()), *(hit for hit in index.get(None, ()) if name_matches(hit[1][1], name))]


def _find_by_ending(names: Names) -> Hits:
    """The patterns for any folder that a wild path may meet."""
    last = names[-1]
    return [
        hit
        for name, hits in _index().ended.items()
        if names_meet(name, last) or "**" in names or any(hit[1][-1] == "**" for hit in hits)
        for hit in hits
    ]


def places() -> tuple[Place, ...]:
    """The shipped table."""
    return _table().places


def view_of(pattern: Names, path: Path) -> Names | None:
    """The names of a path as a pattern asks for them; ``None`` where it asks from a home folder, and there is none."""
    return path.home if pattern[0] == HOME else path.names


def _matches(pattern: Names, path: Path) -> bool:
    view = view_of(pattern, path)
    return view is not None and path_matches(pattern, view)


def _reaches(pattern: Names, path: Path) -> bool:
    """Whether a wild path can be expanded to something that the pattern matches."""
    view = view_of(pattern, path)
    if view is None or (pattern[-1] != "**" and view[-1] != "**" and not names_meet(pattern[-1], view[-1])):
        return False
    return (not floats(pattern) or aims_at(path.names[-1], pattern[-1])) and paths_meet(pattern, view)


def _says(pattern: Names, path: Path) -> bool:
    """Whether a wild path says something of what a pattern for any folder spells.

    Not asked where a secret is read: ``server.*`` is the ordinary way to read ``server.key``.
    """
    name, wanted = path.names[-1], pattern[-1]
    both = floats(pattern) and wanted != "**" and is_wild(wanted) and is_wild(name)
    return not both or spells_some_of(name, wanted)


@lru_cache(maxsize=256)
def find(path: Path) -> tuple[Place, ...]:
    """All places that a path is, or where a shell still expands it, can become. In the order of the table."""
    table, by_name, _ = _table()
    found: set[int] = set()
    candidates = [hit for name in set(path.names) for hit in by_name.get(name, ())]
    for number, which in (*candidates, *_patterns_of_odd_name(path.names[-1])):
        place = table[number]
        if number not in found and _matches(place.match[which], path) and not _is_excepted(place, path):
            found.add(number)
    if path.wild:
        for number, pattern in (*_find_rooted(path.names), *_find_rooted(path.home), *_find_by_ending(path.names)):
            place = table[number]
            if number in found or _harmless_below(place, path) or _harmless_ending(place, path):
                continue
            if _reaches(pattern, path) and (place.kind == "secret" or _says(pattern, path)):
                found.add(number)
    return tuple(table[number] for number in sorted(found))


def _is_excepted(place: Place, path: Path) -> bool:
    return any(_matches(pattern, path) for pattern in place.exceptions)


def _harmless_below(place: Place, path: Path) -> bool:
    """Whether all that a wild path can become, or that lies below a folder, is an exception."""
    return any(pattern[-1] == "**" and _matches(pattern, path) for pattern in place.exceptions)


def _harmless_ending(place: Place, path: Path) -> bool:
    """Whether a wild path has an ending with which any file is an exception (``*.txt.bak``, excepted by ``*.bak``)."""
    endings = (pattern[1][1:] for pattern in place.exceptions if len(pattern) == 2 and pattern[1].startswith("*"))
    return any(ending and not is_wild(ending) and path.names[-1].endswith(ending) for ending in endings)


def _starts(pattern: Names, path: Path) -> bool:
    """Whether a folder's last names are the first that a pattern for any folder spells, or can be expanded to them.

    The folder ``.docker`` begins ``.docker/config.json``, and so does ``.dock*`` for a shell.
    """
    spelt, names = pattern[1:], path.names
    longest = min(len(spelt) - 1, len(names))
    begins = _can_begin if path.wild else name_matches
    return any(all(map(begins, spelt[:length], names[-length:])) for length in range(1, longest + 1))


def _can_begin(spelt: str, name: str) -> bool:
    return name_matches(spelt, name) or (aims_at_folder(name) and names_meet(spelt, name))


@lru_cache(maxsize=256)
def find_below(path: Path) -> tuple[Place, ...]:
    """All places that a folder is or that lie below it.

    Patterns for any folder count only where the folder's own name begins to spell them.
    """
    hits = (*_find_rooted(path.names), *_find_rooted(path.home), *_find_begun(path))
    numbers = {number for number, pattern in hits if _lies_below(pattern, path)}
    below = [place for place in _places_by_number(numbers) if place.around and not _harmless_below(place, path)]
    return (*below, *(place for place in find(path) if place not in below))


@lru_cache(maxsize=256)
def find_begun(path: Path) -> tuple[Place, ...]:
    """All places that are looked for in any folder and that a folder's own last name begins to spell (``.claude``)."""
    begun = _places_by_number({number for number, pattern in _find_begun(path) if _starts(pattern, path)})
    return tuple(place for place in begun if place.around)


def _places_by_number(numbers: set[int]) -> list[Place]:
    table = places()
    return [table[number] for number in sorted(numbers)]


def _lies_below(pattern: Names, path: Path) -> bool:
    if floats(pattern):
        # Most spell one name only, of which no folder is a part.
        return len(pattern) > 2 and _starts(pattern, path)
    view = view_of(pattern, path)
    return view is not None and paths_meet(pattern, (*view, "**"))
