"""Scans very many short texts at once, as lines of one text. Only lines with a hit are looked at singly.

To look at a text costs some microseconds, however short it is, and a call may have a hundred thousand of them. What is
found in a text is found too where that is a line among others. What a pattern can ask of the ends of a text holds at
those of a line (``Matcher.joins``). What is found across two lines costs a second look, and means nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from itertools import accumulate

from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.engine.matcher import MANY, Hits, Matcher
from lockgate.patterns.fields import Field

if TYPE_CHECKING:
    from lockgate.patterns.engine.request import LoadedLibrary

_SHORT, _FEW, _MOST = 64, 8, 256
"""Characters of a short text; short texts from which on they are looked at together, and how many are at a time."""


def runs(fields: Sequence[Field]) -> Iterator[Sequence[Field]]:
    """Texts in their order, those together that stand beside each other and are short."""
    some: list[Field] = []
    for field in fields:
        short = len(field.text) <= _SHORT
        if short:
            some.append(field)
        if some and (not short or len(some) == _MOST):
            yield some
            some = []
        if not short:
            yield (field,)
    if some:
        yield some


def with_hits(library: LoadedLibrary, fields: Sequence[Field], *, negated: bool, known: bool) -> Sequence[Field]:
    """Those of a run in which something may be found.

    Args:
        library: The library.
        fields: The run.
        negated: Whether what does not match a format is looked for.
        known: Whether known values are.
    """
    if len(fields) < _FEW:
        return fields
    if negated and any(library.list_format_rules(name) for name in {field.name for field in fields}):
        return fields
    lines = [field.text.encode("utf-8", "surrogatepass") for field in fields]
    data = b"\n".join(lines)
    if known and library.known is not None and library.known(data):
        return fields
    return [fields[index] for index in sorted(_hit(library.matcher, lines, data))]


def _hit(matcher: Matcher, lines: Sequence[bytes], data: bytes) -> Collection[int]:
    """The lines in which a match may be, by their indexes; all of them where something may be encoded."""
    found: set[int] = set()
    stops = [end - 1 for end in accumulate(len(line) + 1 for line in lines)]
    for hits in matcher.pieces(data):
        if hits.spots or any(len(ends) == MANY for ends in hits.ends.values()):
            return range(len(lines))
        for rule, ends in hits.ends.items():
            for end in ends:
                index = bisect_left(stops, end)
                line = lines[index]
                alone = Hits({rule: [end - stops[index] + len(line)]}, [], 0, len(line))
                if index not in found and matcher.in_reach(rule, line, alone):
                    found.add(index)
    return found
