"""The views of a text in which patterns look too: what is encoded, escaped, joined or in tables, to a depth of three.

Where there may be something to decode is told by *spots*: matches of the patterns in ``decoding_spots``, which stand in
the same database as the rules. So a text is scanned once, and a text without any spot costs nothing more.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.decoding import concatenation, encoded_runs, escapes, tables
from lockgate.patterns.decoding.decoded_views import Budget, Decoded, Respelling, View, pack_views

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

DEPTH = 3
"""So many encodings are undone, one inside another."""

_BAR = rb"(?:\||\xe2\x94\x82|\xe2\x86\x92)"
_PLACE = rb"(?:[^\s:]{1,200}:){0,2}[^\s:]{1,200}[:-][0-9]{1,7}[:-](?:[0-9]{1,5}:)?"
_NUMBER = rb"[> ]{0,8}[0-9]{1,7}(?:[:-](?![0-9])|\t|[ ]{0,3}" + _BAR + rb"[ ]?)"
_CHANGE = rb"[+-]{1,2}(?![+-])|[<>][ ]"
_SERVICE = rb"[A-Za-z0-9][\w.-]{0,40}[ ]{1,20}\|[ ]"
_PREFIX = Respelling(
    lazy_re(rb"(?m)^(" + b"|".join((_PLACE, _NUMBER, _CHANGE, _SERVICE)) + b")"),
    lambda _: b"",
)
"""``path:12:``, ``path-13-`` and ``rev:path:12:`` of searches. ``12:``, ``12 |`` and ``12`` with a tab of listings and
compilers. The marks of ``diff``, and the names of services before what they log."""


def _strip_prefixes(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """All lines from the first that has a prefix, without theirs: patterns that need whole lines find them again."""
    if not ends:
        return
    start = data.rfind(b"\n", 0, max(0, min(ends) - 1)) + 1
    made = _PREFIX.apply(data[start:])
    if made is not None:
        yield Decoded(made, start, len(data), ("prefixed lines",), _PREFIX)


_MEANT = {
    "packed": ("base64",),
    "long": ("base64",),
    "words": ("pairs", "decimal", "spaced"),
    "array": ("pairs",),
}
"""Decoders for kinds of spots that have none of their own name."""
_DECODERS = {
    **encoded_runs.DECODERS,
    **escapes.DECODERS,
    **concatenation.DECODERS,
    "prefix": _strip_prefixes,
    **tables.DECODERS,
}


def views(
    data: bytes,
    spots: Iterable[tuple[str, int]],
    find_spots: Callable[[bytes], Iterable[tuple[str, int]]],
    budget: Budget,
) -> Iterator[View]:
    """All views of a text, outer ones first.

    Args:
        data: The text, as UTF-8.
        spots: What ``find_spots`` says of it.
        find_spots: Names of spots, and where each match ends. Called once for each view, before the view is given: so
            one scan of it can look for spots and for all else.
        budget: Is used up. Where its ``exceeded`` is not empty at the end, there was more to decode.
    """
    seen = {data}
    waiting: list[tuple[View | None, Iterable[tuple[str, int]]]] = [(None, spots)]
    while waiting:
        parent, found = waiting.pop(0)
        for view in pack_views(_runs(parent, data, found, budget), _text(parent, data), parent, budget):
            if view.data in seen:
                continue
            if not budget.views:
                budget.exceed()
                return
            budget.views -= 1
            seen.add(view.data)
            inner = find_spots(view.data)
            yield view
            if len(view.encoding) < DEPTH:
                waiting.append((view, inner))


def decode(data: bytes, name: str, ends: list[int], budget: Budget, depth: int = DEPTH) -> Iterator[Decoded]:
    """What the runs of one kind in a text mean, given the ends of the spots of that kind.

    Encodings that can be told without a scan (compression inside of base64) are undone at once, ``depth`` in all.
    """
    for decoder in _MEANT.get(name, (name,)):
        yield from _DECODERS[decoder](data, sorted(ends), budget, depth)


def _text(view: View | None, data: bytes) -> bytes:
    return data if view is None else view.data


def _runs(parent: View | None, data: bytes, spots: Iterable[tuple[str, int]], budget: Budget) -> Iterator[Decoded]:
    depth = DEPTH - (len(parent.encoding) if parent is not None else 0)
    by_name: dict[str, list[int]] = {}
    longs: list[int] = []
    text = _text(parent, data)
    for name, end in spots:
        for decoder in _MEANT.get(name, (name,)):
            by_name.setdefault(decoder, []).append(end)
        if name == "long" and not longs:  # of which only the first is known
            longs = encoded_runs.long_runs(text, end)
    if longs:
        by_name["base64"] += longs
    for name, ends in by_name.items():
        if budget.is_over():
            return
        yield from decode(text, name, ends, budget, depth)


__all__ = [
    "Budget",
    "Decoded",
    "View",
]
