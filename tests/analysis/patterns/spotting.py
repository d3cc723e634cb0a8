"""The real database of spots: what the engine does, without any rules."""

from __future__ import annotations

import functools

import hyperscan

from lockgate.patterns.decoding import Budget, View, views
from lockgate.patterns.decoding.candidates import ONCE, SPOT_PATTERNS

_NAMES = tuple(SPOT_PATTERNS)


@functools.cache
def _database() -> hyperscan.Database:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=list(SPOT_PATTERNS.values()),
        ids=list(range(len(_NAMES))),
        flags=[hyperscan.HS_FLAG_SINGLEMATCH if name in ONCE else 0 for name in _NAMES],
    )
    return database


def find_spots(data: bytes) -> list[tuple[str, int]]:
    """Names of spots in a text, and where they end."""
    found: list[tuple[str, int]] = []

    def note(number: int, start: int, end: int, flags: int, context: object) -> None:
        found.append((_NAMES[number], end))

    _database().scan(data, match_event_handler=note)
    return found


def all_views(data: bytes, budget: Budget | None = None) -> list[View]:
    """All views of a text."""
    return list(views(data, find_spots(data), find_spots, budget or Budget(len(data), lambda: False)))
