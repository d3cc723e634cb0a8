"""Finds values in tables: the header names a column, and each row below has a value in it.

CSV and its kin, what databases print, Markdown, HTML, and the rows of ``INSERT``. Where the name of a credential heads
a column, each cell is read as if it were assigned to that name. It is judged like any other value.
"""

from __future__ import annotations

from itertools import pairwise

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.credentials.names import NOTHING, SOME_KEY, kind_of
from lockgate.patterns.decoding.decoded_views import Decoded

if TYPE_CHECKING:
    import re
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from lockgate.patterns.decoding.decoded_views import Budget, Decoder

    Span = tuple[int, int]
    Names = Mapping[int, bytes]
    """The names of the columns that hold credentials, by their places."""

_LONGEST_LINE = 2000
_MOST_CELLS = 64
_MOST_ROWS = 20_000
_NAME = lazy_re(r"[^\W\d_][\w .#/()-]{0,38}$")
_NO_NAME = lazy_re(rb"[^\w-]+")
_RULER = lazy_re(rb"(?:[-+|=:_ \t\r]|\xe2[\x94\x95][\x80-\xbf])+$")
_CODE = lazy_re(rb"[{}\[\]=<>]|\)\s*[:;]?\s*$|;\s*$|//")
"""What a line of a program has, and a header has not."""
_BAR = lazy_re(rb"\|{1,2}|\xe2\x94\x82")
_EDGE = lazy_re(rb"\s*(?:\|{1,2}|\xe2\x94\x82|\x82\x94\xe2)")
_GAP = lazy_re(rb"[ ]{2,}")
_BESIDE = b" \t\r\n\"'`*"
_VALUE = lazy_re(rb"[^\s\"'`\\<>]{4,200}$")
_REMARK = lazy_re(rb"(?:[A-Za-z]?[a-z]{1,16}|[A-Z]{1,16}|[\d.,:/-]*)$")
"""A word or a number alone is more often what the table says of a credential: ``required``, a count, a date."""


def _delimiter_pattern(mark: bytes) -> re.Pattern[bytes]:
    return lazy_re(
        rb'(?:^|%b)([ ]*"(?:[^"]|"")*"[ ]*|[^"%b]*)(?=%b|$)' % (mark, mark, mark),
    )


_DELIMITED = ((b"\t", _delimiter_pattern(b"\t")), (b",", _delimiter_pattern(b",")), (b";", _delimiter_pattern(b";")))


# ---------------------------------------------------------------- lines
def _cells(line: bytes, style: re.Pattern[bytes]) -> list[Span]:
    """The cells of a line: what stands between the separators, or what the pattern of a cell finds."""
    if style is not _BAR and style is not _GAP:
        return [found.span(1) for found in style.finditer(line)]
    low, high = _bare(line, 0, len(line)) if style is _GAP else _within_bars(line)
    cuts = [found.span() for found in style.finditer(line, low, high)]
    return list(zip([low, *(end for _, end in cuts)], [*(start for start, _ in cuts), high], strict=True))


def _within_bars(line: bytes) -> Span:
    """A row without the bars at both its ends."""
    edge = _EDGE.match(line)
    low = edge.end() if edge is not None else 0
    edge = _EDGE.match(line[::-1])
    return low, max(low, len(line) - (edge.end() if edge is not None else 0))


def _style(line: bytes) -> re.Pattern[bytes] | None:
    if b"|" in line or b"\xe2\x94\x82" in line:
        return _BAR
    for mark, style in _DELIMITED:
        if mark in line:
            return None if line[:1].isspace() or b"'" in line else style  # as programs list names
    return _GAP if b"  " in line.strip() else None


def _bare(text: bytes, start: int, end: int) -> Span:
    """A cell without blanks and quotes around it."""
    while start < end and text[start] in _BESIDE:
        start += 1
    while end > start and text[end - 1] in _BESIDE:
        end -= 1
    return start, end


def _names(cells: Sequence[bytes]) -> Names:
    """The columns of a header that hold credentials; none where the line is no header."""
    if not 2 <= len(cells) <= _MOST_CELLS:
        return {}
    texts = [cell.decode("utf-8", "replace") for cell in cells]
    if not all(map(_NAME.match, texts)):
        return {}
    return {place: cells[place] for place, text in enumerate(texts) if _is_name(text)}


def _is_name(text: str) -> bool:
    return _NAME.match(text) is not None and kind_of(text) not in (NOTHING, SOME_KEY)


def _assign(name: bytes, data: bytes, start: int, end: int) -> Iterator[Decoded]:
    """A cell as a value that is assigned to the name of its column."""
    start, end = _bare(data, start, end)
    value = data[start:end]
    if _VALUE.match(value) and not _REMARK.match(value):
        yield Decoded(b'%b="%b"' % (_NO_NAME.sub(b"_", name), value), start, end, ("a table",))


def lines(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Tables whose rows are lines."""
    done = -1
    for spot in ends:
        start = data.rfind(b"\n", 0, spot - 1) + 1
        stop = data.find(b"\n", spot - 1)
        if start <= done or not 0 <= stop - start <= _LONGEST_LINE:
            continue
        line = data[start:stop].rstrip(b"\r")
        style = None if _CODE.search(line) else _style(line)
        if style is None:
            continue
        if budget.is_over():
            return
        cells = _cells(line, style)
        names = _names([line[slice(*_bare(line, *cell))] for cell in cells])
        if names:
            done = yield from _rows(data, stop + 1, style, names, len(cells))


def _rows(
    data: bytes, start: int, style: re.Pattern[bytes], names: Names, columns: int
) -> Generator[Decoded, None, int]:
    """The values of the rows from a place on; where they end."""
    for _ in range(_MOST_ROWS):
        stop = data.find(b"\n", start)
        stop = len(data) if stop < 0 else stop
        line = data[start : min(stop, start + _LONGEST_LINE)].rstrip(b"\r")
        if not _RULER.match(line):
            cells = _cells(line, style)
            if len(cells) != columns:
                break
            for place, name in names.items():
                yield from _assign(name, data, start + cells[place][0], start + cells[place][1])
        if stop == len(data):
            break
        start = stop + 1
    return start - 1


# ---------------------------------------------------------------- HTML
_ROW = lazy_re(rb"(?i)<tr\b[^>]{0,200}>((?:[^<]|<(?!/tr|tr\b))*)")
_CELL = lazy_re(rb"(?i)<t[hd]\b[^>]{0,200}>((?:[^<]|<(?!/?t[hdr]\b))*)")
_TAG = lazy_re(rb"<[^<>]{0,200}>")


def html(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Tables of HTML, whose headers stand above the values or before them."""
    names: Names = {}
    for row in _ROW.finditer(data, max(0, data.rfind(b"<tr", 0, min(ends, default=0)))):
        if budget.is_over():
            return
        spans = [_text(data, *cell.span(1)) for cell in _CELL.finditer(data, *row.span(1))]
        texts = [data[slice(*span)] for span in spans]
        if above := _names(texts):
            names = above
        for label, span in pairwise(spans):
            if _is_name(data[slice(*label)].decode("utf-8", "replace")):
                yield from _assign(data[slice(*label)], data, *span)
        if not above:
            for place, name in names.items():
                if place < len(spans):
                    yield from _assign(name, data, *spans[place])


def _text(data: bytes, start: int, end: int) -> Span:
    """The text of a cell that holds one, without the tags around it; nothing of a long one."""
    if end - start > _LONGEST_LINE:
        return start, start
    while (tag := _TAG.match(data, *_bare(data, start, end))) is not None:
        start = tag.end()
    while data[start:end].rstrip().endswith(b">") and (at := data.rfind(b"<", start, end)) >= 0:
        end = at
    return _bare(data, start, end)


# ---------------------------------------------------------------- SQL
_INSERT = lazy_re(rb"(?i)\binsert\s{1,8}into\s{1,8}[\w.\"`\[\]]{1,100}\s{0,8}\(([^()]{1,2000})\)\s{0,8}values\s{0,8}")
_TUPLE = lazy_re(rb"\(((?:'[^']*'|[^'()]|\([^()]*\))*)\)\s{0,8},?\s{0,80}")
_FIELD = lazy_re(rb"\s*N?((?:'[^']*'|[^,'(]|\([^()]*\))*)(?:,|$)")


def read_inserts(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """The rows of ``INSERT INTO t (a, password) VALUES (1, 'v'), (2, 'w')``."""
    for statement in _INSERT.finditer(data, max(0, min(ends, default=0) - 40)):
        names = _names([column.strip(b" \t\r\n\"'`[]") for column in statement[1].split(b",")])
        at = statement.end()
        while names and not budget.is_over() and (row := _TUPLE.match(data, at)) is not None:
            at = row.end()
            fields = [(found.start(1), found.end(1)) for found in _FIELD.finditer(row[1])]
            for place, name in names.items():
                if place < len(fields) and row[1][fields[place][0] : fields[place][0] + 1] == b"'":
                    yield from _assign(name, data, *(row.start(1) + offset for offset in fields[place]))


DECODERS: dict[str, Decoder] = {"table": lines, "cells": html, "insert": read_inserts}
