"""Joins texts that a language puts together from pieces, or that have separators between their characters.

Like escapes, a joint is taken out where it stands, so that the name before a value stays before it.
"""

from __future__ import annotations

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.decoding.decoded_views import Decoded, Respelling
from lockgate.patterns.decoding.escapes import Meanings, find_character, find_listed, respell

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockgate.patterns.decoding.decoded_views import Budget, Decoder

_OPERATOR = rb"(?:\+|\.{1,2}|~|&|\|\||<>)[\s\\]{0,32}"
JOINT = (
    rb"[\"'`](?:(?:[\s\\]{1,32}(?:" + _OPERATOR + rb")?|" + _OPERATOR + rb")[rRbBuUfFL@$]{0,2}|\}[ \t]{0,4}\$\{)?[\"'`]"
)
"""From one literal to the next: ``"a" + "b"``, ``'a' . 'b'``, ``"a" "b"``, ``'a''b'``, ``${"a"}${"b"}``. Regular
expression of RE2, Hyperscan and Python."""
_QUOTE = rb"(?<=[A-Za-z0-9_-])[\"'](?=[A-Za-z0-9_-])"
_COLOUR = rb"\x1b(?:\[[0-9;:?]{0,32}[A-Za-z]|\([A-Z0-9])"
_TAGS = rb"\xf3\xa0[\x80-\x87][\x80-\xbf]"
_UNSEEN = (
    rb"\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xaf]|\xc2\xad|\xef\xbb\xbf|\xef\xb8[\x80-\x8f]|\xcd\x8f"
    rb"|\xe1\x85[\x9f\xa0]|\xe1\xa0[\x8b-\x8f]|\xe3\x85\xa4|\xef\xbe\xa0|" + _COLOUR
)
"""Zero width, soft hyphen, direction, variation, the default ignorable code points of Unicode (DerivedCoreProperties);
and what a terminal takes for a colour or a movement (ECMA-48, section 5.4)."""
_WIDE = rb"\xef[\xbc\xbd][\x80-\xbf]|\xf0\x9d[\x90-\x9f][\x80-\xbf]|" + _TAGS
"""Characters that look like letters, the fullwidth forms and the mathematical alphabets, or that spell ASCII unseen."""
_FIRST_TAG, _LAST_TAG = 0xE0020, 0xE007E
_UNSEEN_ONLY = lazy_re(b"(?:" + _UNSEEN + b")+")


def _empty(_: bytes) -> bytes:
    return b""


def _fold(characters: bytes) -> bytes:
    """What compatibility makes of a character (Unicode, annex 15, NFKC); nothing of those that nobody sees."""
    if _UNSEEN_ONLY.fullmatch(characters):
        return b""
    character = characters.decode("utf-8", "replace")
    if character >= "\U000e0000":
        code = ord(character)
        return bytes((code & 0x7F,)) if _FIRST_TAG <= code <= _LAST_TAG else b""
    import unicodedata

    return unicodedata.normalize("NFKC", character).encode("utf-8")


_NO_NAME = rb"(?![\"'`][ \t]{0,8}\r?\n\s{0,80}[\"'`][A-Za-z_][\w.-]{0,60}[\"'`][ \t]{0,8}(?::|=>|=[^=]))"
"""A literal that begins a later line and is given a value there is no second half of what stands before."""
_JOINED = Respelling(lazy_re(b"(" + _NO_NAME + JOINT + b"|" + _QUOTE + b")"), _empty)
_LISTED = Respelling(lazy_re(rb"([\"'`]\s{0,32},\s{0,32}[\"'`])"), _empty)
_SEEN = Respelling(lazy_re(b"((?:" + _UNSEEN + b")+|" + _WIDE + b")"), Meanings(_fold).__getitem__)
_STARTS = b"\x1b\xc2\xcd\xe1\xe2\xe3\xef\xf0\xf3"
_LEADING = bytes.maketrans(_STARTS, b"\xff" * len(_STARTS))
"""Makes the first bytes of all of them one, which is not in UTF-8."""

_WORD = lazy_re(rb"[^\s\"'`|;<>(){}\[\],]{16,4096}")
_SPACED = lazy_re(rb"(?:[!-~] )+(?:[!-~](?![!-~]))?")
_SPACING = bytes(0 if code == 32 else 1 if 33 <= code < 127 else 2 for code in range(256))
_ALTERNATELY = b"\1\0" * 15
_BEFORE = 2048
_BEHIND = 2048
_LINE = 256
_NEAR = 64
"""Bytes between two lists that are put together in one."""
_LARGEST = 1 << 16


def join_literals(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Literals beside each other, and words with quotes in them."""
    return respell(data, "joined", _JOINED, find_listed(ends), budget)


def join_lists(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """``["a", "b"].join("")``, ``"".join(["a", "b"])``, ``concat("a", "b")``; those near each other together."""
    begin = covered = 0
    for spot in ends:
        if spot <= covered:
            continue
        start, stop = _list_at(data, spot, covered)
        if stop <= covered:
            continue
        if begin < covered < start - _NEAR or covered - begin > _LARGEST:
            if budget.is_over():
                return
            yield from _join_calls(data, begin, covered)
            begin = start
        elif begin == covered:
            begin = start
        covered = stop
    yield from _join_calls(data, begin, covered)


def _list_at(data: bytes, spot: int, floor: int) -> tuple[int, int]:
    """From the line's beginning to the end of the call; nothing where that is not to be seen."""
    if data[spot - 1 : spot] == b")":
        bracket = data.rfind(b"[", max(floor, spot - _BEFORE), spot)
        stop = spot
    else:
        bracket = spot - 1
        stop = data.find(b")", spot, spot + _BEHIND) + 1
    if bracket < 0 or not stop:
        return floor, floor
    return max(floor, bracket - _LINE, data.rfind(b"\n", max(floor, bracket - _LINE), bracket) + 1), stop


def _join_calls(data: bytes, start: int, stop: int) -> Iterator[Decoded]:
    made = _LISTED.apply(data[start:stop])
    if made is not None:
        yield Decoded(made, start, stop, ("joined",), _LISTED)


def backwards(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Long words near what turns a text round."""
    for start, stop in _around(ends, len(data)):
        if budget.is_over():
            return
        for word in _WORD.finditer(data, start, stop):
            yield Decoded(word.group()[::-1], word.start(), word.end(), ("reversed",))


def _around(ends: Sequence[int], size: int) -> Iterator[tuple[int, int]]:
    """What is near some places; together where that overlaps, but for very long parts."""
    start = stop = 0
    for spot in ends:
        if spot - _BEFORE > stop or stop - start > _LARGEST:
            if stop > start:
                yield start, stop
            start = max(stop, spot - _BEFORE)
        stop = min(size, spot + _BEHIND)
    if stop > start:
        yield start, stop


def join_spaced(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Words with a space behind each character, from the first spot on."""
    mask = data.translate(_SPACING)
    covered = max(0, min(ends, default=len(data)) - _BEFORE)
    while not budget.is_over() and (at := mask.find(_ALTERNATELY, covered)) >= 0:
        if data[at - 1 : at].isalnum():  # the end of a word before
            at += 2
        found = _SPACED.match(data, at)
        covered = at + 2
        if found is not None:
            word = found.group()[::2].rstrip()
            covered = found.end()
            yield Decoded(word, found.start(), found.start() + 2 * len(word) - 1, ("spaced",))


def invisible(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Texts with characters that nobody sees, or that look like others."""
    if ends:
        yield from respell(data, "invisible", _SEEN, find_character(data.translate(_LEADING), b"\xff"), budget)


DECODERS: dict[str, Decoder] = {
    "joined": join_literals,
    "list": join_lists,
    "reversed": backwards,
    "spaced": join_spaced,
    "invisible": invisible,
}
