"""Decodes characters within a text: escapes, entities, percent and quoted-printable.

What stands around an escape stays around what it means, so that a pattern that needs a name before a value finds both.
"""

from __future__ import annotations

from bisect import bisect_left

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.decoding.decoded_views import Decoded, Respelling
from lockgate.patterns.decoding.encoded_runs import BASE64

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lockgate.patterns.decoding.decoded_views import Budget, Decoder

_AROUND = 256
"""Bytes before and behind an escape that belong to it; then on to the next white space."""
_LONGEST_WORD = 4096
_LONGEST_WINDOW = 1 << 16
_OVERLAP = 1 << 12
_REMEMBERED = 4096


class Meanings(dict[bytes, bytes]):
    """The meanings of escapes. Each is computed once."""

    def __init__(self, meaning: Callable[[bytes], bytes], known: dict[bytes, bytes] | None = None) -> None:
        super().__init__(known or {})
        self._meaning = meaning

    def __missing__(self, escape: bytes) -> bytes:
        meaning = self._meaning(escape)
        if len(self) < _REMEMBERED:
            self[escape] = meaning
        return meaning


def _character(code: int) -> bytes:
    return chr(code).encode("utf-8", "replace") if code < 0x110000 else b"?"


def _unescape(escape: bytes) -> bytes:
    if escape[1:2] in (b"x", b"u", b"U") and len(escape) > 2:
        return _character(int(escape[2:].strip(b"{}"), 16))
    if escape[1:2] in b"01234567":
        return _character(int(escape[1:], 8) & 0xFF)
    return b"" if escape.endswith(b"\n") else escape[1:]


def _entity(entity: bytes) -> bytes:
    if entity[1:2] == b"#":
        digits = entity[2:].rstrip(b";")  # browsers do without it
        return _character(int(digits[1:], 16) if digits[:1] in b"xX" else int(digits))
    from html.entities import html5

    named = html5.get(entity[1:].decode("ascii"))
    return entity if named is None else named.encode("utf-8")


def _byte(escape: bytes) -> bytes:
    return bytes((int(escape[1:], 16),))


ESCAPE = Respelling(
    lazy_re(
        rb"(\\(?:x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[ux]\{[0-9A-Fa-f]{1,6}\}|[0-7]{1,3}|\r?\n|[^\r\n]))"
    ),
    Meanings(
        _unescape,
        {rb"\n": b"\n", rb"\r": b"\r", rb"\t": b"\t", rb"\b": b"\b", rb"\f": b"\f", rb"\v": b"\v", rb"\e": b"\x1b"},
    ).__getitem__,
    (rb"\\", rb"\"", rb"\n", rb"\t", rb"\/"),
)
"""What a backslash stands before, in JSON and the languages that took it from C. Of what is no escape, the backslash
goes, as in a shell; and so it does with the end of the line."""
PERCENT = Respelling(lazy_re(rb"(%[0-9A-Fa-f]{2})"), Meanings(_byte).__getitem__)
ENTITY = Respelling(
    lazy_re(rb"(&(?:#[0-9]{1,7};?|#[xX][0-9A-Fa-f]{1,6};?|[A-Za-z]{2,24};))"), Meanings(_entity).__getitem__
)
QUOTED_PRINTABLE = Respelling(
    lazy_re(rb"(=(?:[0-9A-Fa-f]{2}|[ \t]*\r?\n))"),
    Meanings(lambda escape: b"" if escape.endswith(b"\n") else _byte(escape)).__getitem__,
)
"""RFC 2045, section 6.7."""


def respell(data: bytes, name: str, respelling: Respelling, find: Find, budget: Budget) -> Iterator[Decoded]:
    """The surroundings of all escapes, with what they mean. ``find`` finds what may be one."""
    return _respell_parts(data, name, respelling, _windows(data, find), budget)


def _respell_parts(
    data: bytes, name: str, respelling: Respelling, parts: Iterable[tuple[int, int]], budget: Budget
) -> Iterator[Decoded]:
    for start, end in parts:
        if budget.is_over():
            return
        made = respelling.apply(data[start:end])
        if made is not None:
            yield Decoded(made, start, end, (name,), respelling)


class Find(Record):
    """Finds places in one text."""

    first: Callable[[int], int]
    """The first one that is not before a place; -1 where there is none."""
    last: Callable[[int, int], int]
    """The last one that is neither before the one place nor behind the other; -1 where there is none."""


def find_character(data: bytes, mark: bytes) -> Find:
    """Finds a character."""
    return Find(lambda start: data.find(mark, start), lambda start, stop: data.rfind(mark, start, stop))


def find_listed(places: Sequence[int]) -> Find:
    """Finds given places, which are sorted."""

    def first(start: int) -> int:
        index = bisect_left(places, start)
        return places[index] if index < len(places) else -1

    def last(start: int, stop: int) -> int:
        index = bisect_left(places, stop) - 1
        return places[index] if index >= 0 and places[index] >= start else -1

    return Find(first, last)


def _windows(data: bytes, find: Find) -> Iterator[tuple[int, int]]:
    """The parts of a text that are near what is found; a long one in pieces that overlap."""
    hit = find.first(0)
    floor = 0
    while hit >= 0:
        start = _word_begin(data, hit, floor)
        limit = start + _LONGEST_WINDOW
        last = hit
        while last < limit and (near := find.last(last + 1, min(last + _AROUND, limit))) >= 0:
            last = near
        end = _word_end(data, last)
        yield start, end
        if last + _AROUND >= limit:  # and so it goes on: begins again with what is found before the end
            again = find.first(max(hit + 1, last - _OVERLAP))
            floor, hit = again, again
        else:
            floor, hit = end, find.first(max(end, last + 1))


def _word_begin(data: bytes, place: int, floor: int) -> int:
    low = max(floor, place - _AROUND)
    lowest = max(floor, low - _LONGEST_WORD)
    return max(data.rfind(b" ", lowest, low), data.rfind(b"\n", lowest, low), lowest - 1) + 1


def _word_end(data: bytes, place: int) -> int:
    high = min(len(data), place + _AROUND)
    highest = min(len(data), high + _LONGEST_WORD)
    ends = (data.find(b" ", high, highest), data.find(b"\n", high, highest))
    return min((end for end in ends if end >= 0), default=highest)


# ---------------------------------------------------------------- soft line breaks
_SOFT_BREAK = lazy_re(rb"=[ \t]*\r?\n")
_QUOTED = rb"(?:[0-2][0-9A-F]|3[A-F]|40|5[B-F]|60|7[B-F]|[C-F][0-9A-F](?:=[89AB][0-9A-F])+)"
"""What stands behind ``=`` in quoted-printable: the codes of characters that nobody may or would leave as they are."""
_BARE = lazy_re(rb"=(?!=?" + _QUOTED + rb"|[ \t]*\r?\Z)")
_ESCAPED = lazy_re(b"=" + _QUOTED)
_LEAST_PADDED = 12
"""Characters of base64 that end in a ``=``."""
_USUAL = range(70, 78)
"""Characters of a line that an encoder breaks: RFC 2045 allows 76, and encoders come near."""
_LONGEST_LINE = 1000
"""Bytes that are looked at on each side of a break."""


def _decode_quoted_printable(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Quoted-printable. An ``=`` that ends a value, as the padding of base64 does, joins no lines."""
    if not ends:
        return iter(())
    windows = _windows(data, find_character(data, b"="))
    parts = (part for start, end in windows for part in _cut_at_padding(data, start, end))
    # What stands for something goes on behind its mark.
    marked = ((low, high) for low, high in parts if data.find(b"=", low, high - 1) >= 0)
    return _respell_parts(data, "quoted-printable", QUOTED_PRINTABLE, marked, budget)


def _cut_at_padding(data: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    for found in _SOFT_BREAK.finditer(data, start, end):
        if not _is_soft(data, found.start(), found.end()):
            yield start, found.start() + 1
            start = found.end() - 1
    yield start, end


def _is_soft(data: bytes, place: int, behind: int) -> bool:
    """Whether the ``=`` at the end of a line joins it to the next: both look as an encoder leaves them."""
    lowest = max(0, place - _LONGEST_LINE)
    line = data[max(lowest, data.rfind(b"\n", lowest, place) + 1) : place + 1]
    padded = len(line) - len(line[:-1].rstrip(BASE64))
    escaped = data.find(b"=", place - len(line) + 1, place) >= 0 and _ESCAPED.search(line) is not None
    if padded >= _LEAST_PADDED and padded % 4 == 0 and not escaped:
        return False
    stop = data.find(b"\n", behind, behind + _LONGEST_LINE)
    following = data[behind : stop if stop >= 0 else behind + _LONGEST_LINE]
    if _BARE.search(line.rpartition(b" ")[2]) or _BARE.search(following):
        return False
    return escaped or len(line) in _USUAL or _ESCAPED.search(following) is not None


def _inline(name: str, respelling: Respelling, mark: bytes) -> Decoder:
    def decode(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
        return respell(data, name, respelling, find_character(data, mark), budget) if ends else iter(())

    return decode


DECODERS: dict[str, Decoder] = {
    "escape": _inline("escape", ESCAPE, b"\\"),
    "percent": _inline("percent", PERCENT, b"%"),
    "entity": _inline("entity", ENTITY, b"&"),
    "quoted-printable": _decode_quoted_printable,
}
