"""What a program's own documents say of one option."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

NOTHING, VALUE, ATTACHED, TWO, UNSAID = "", "=", "=~", "==", "?"
"""What an option takes: nothing, a value, a value only when attached, two values; or the source does not say."""

SOURCES = ("manual", "help", "zsh", "fish", "usage", "bash")
"""Kinds of sources, the most exact first."""


class Documented(NamedTuple):
    """One spelling of an option, as one source has it."""

    name: str
    """``--color``, ``-c``; ``-NUM`` where digits themselves are the option."""
    takes: str
    about: str
    """One line, empty where the source has none."""
    source: str
    """A word of `SOURCES`."""


class Option(NamedTuple):
    """One spelling of an option, as all sources together have it."""

    name: str
    takes: str
    about: str
    sources: tuple[str, ...]


def merged(found: Iterable[Documented]) -> dict[str, Option]:
    """All spellings by name. The most exact source that says what an option takes is believed."""
    by_name: dict[str, list[Documented]] = {}
    for one in found:
        by_name.setdefault(one.name, []).append(one)
    return {name: _one(name, same) for name, same in sorted(by_name.items())}


def _one(name: str, same: list[Documented]) -> Option:
    same.sort(key=lambda one: SOURCES.index(one.source))
    best = [one for one in same if one.source == same[0].source]
    # A line without a description may be an example, or a cell of a table.
    best = [one for one in best if one.about] or best
    said = [one.takes for one in best if one.takes != UNSAID]
    said = said or [one.takes for one in same if one.takes != UNSAID]
    # Written with a value and without one, the value has to be attached.
    takes = (
        ATTACHED
        if VALUE in said and NOTHING in said
        else next((one for one in (TWO, ATTACHED, VALUE) if one in said), "")
    )
    takes = takes if said else UNSAID
    about = next((one.about for one in same if one.about), "")
    return Option(name, takes, about, tuple(dict.fromkeys(one.source for one in same)))


def surely(options: Mapping[str, Option]) -> dict[str, Option]:
    """Those that this program has, as its manual or its help says.

    A completion may be of another system's program with the same name, and a word of a bash script may be anything.
    """
    own = frozenset({"manual", "help", "usage"})
    return {name: option for name, option in options.items() if not own.isdisjoint(option.sources)}
