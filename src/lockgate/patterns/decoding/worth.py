"""Decides whether decoded bytes are worth a look: as text, or as compressed data."""

from __future__ import annotations

from bisect import bisect_right

from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.decoding.decoded_views import SEPARATOR, Decoded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lockgate.patterns.decoding.decoded_views import Budget


def table_of(characters: bytes) -> bytes:
    """For ``bytes.translate``: 1 for these characters, 0 for all others."""
    return bytes(code in characters for code in range(256))


_PRINTABLE = table_of(bytes(range(32, 127)) + b"\t\n\r")
BRIEF = b"\1" * 8
"""So much printable text makes decoded bytes worth a look. By chance, 12 random bytes have it once in 600 times."""
LONG = b"\1" * 16
"""The same for a start that was guessed."""
_GZIP = b"\x1f\x8b\x08"
_WIDE = b"\1\0" * 8
"""The mask of text in UTF-16."""
_MEMBERS = 16
"""Compressed streams behind each other that are read."""
_FEED = 1 << 16


def worth_a_look(
    decoded: bytes, start: int, end: int, name: str, budget: Budget, depth: int, least: bytes
) -> Iterator[Decoded]:
    """What was decoded, or decompressed after that, if it is worth a look."""
    inner = decoded
    names: tuple[str, ...] = (name,)
    while len(names) < depth and (packed := _find_compression(inner)):
        inner = _decompress(inner[packed[1] :], budget)
        names += (packed[0],)
    if inner and len(names) > 1:
        yield Decoded(inner, start, end, names)
    elif worth := _readable(decoded, least):
        yield Decoded(worth, start, end, (name,))


def _readable(decoded: bytes, least: bytes) -> bytes:
    """Text as it is; of other bytes the printable parts that are long enough. Empty where there are none."""
    mask = decoded.translate(_PRINTABLE)
    at = mask.find(least)
    if at < 0 or _is_utf8(decoded):
        return decoded if at >= 0 else b""
    parts: list[bytes] = []
    while at >= 0:
        stop = mask.find(0, at)
        stop = len(mask) if stop < 0 else stop
        parts.append(decoded[at:stop])
        at = mask.find(least, stop)
    return SEPARATOR.join(parts)


def _is_utf8(decoded: bytes) -> bool:
    try:
        decoded.decode()
    except UnicodeDecodeError:
        return False
    return True


def _find_compression(data: bytes) -> tuple[str, int] | None:
    """How bytes are compressed, and where that begins. Formats: RFC 1950, section 2.2, and RFC 1952, section 2.3."""
    at = data.find(_GZIP, 0, 64)
    if at >= 0:
        return "gzip", at
    if data[:1] == b"x" and len(data) > 6 and not (data[0] << 8 | data[1]) % 31 and not data[1] & 32:
        return "zlib", 0
    return None


def _decompress(data: bytes, budget: Budget) -> bytes:
    """The unpacked data, as far as the budget has room and it is not broken."""
    import zlib

    made: list[bytes] = []
    room = budget.left - 64
    if room < 0:  # for zlib 0 is no limit, and a negative one an error
        budget.exceed()
        return b""
    for _ in range(_MEMBERS):
        stream = zlib.decompressobj(wbits=47)
        for at in range(0, len(data), _FEED):
            try:
                made.append(stream.decompress(data[at : at + _FEED], room + 1))
            except zlib.error:
                return b"".join(made)
            room -= len(made[-1])
            if room < 0 or budget.is_over():
                budget.exceed()
                return b"".join(made)[: budget.left - 64]
            if stream.eof:
                data = stream.unused_data + data[at + _FEED :]
                break
        if not stream.eof or not data.startswith(b"\x1f\x8b"):
            return b"".join(made)
    budget.exceed()
    return b"".join(made)


def is_text(decoded: bytes) -> bool:
    """Whether there is nothing but printable ASCII and white space in it."""
    return 0 not in decoded.translate(_PRINTABLE)


def find_promising(decoded: bytes, begins: Sequence[int], *, glued: bool) -> set[int]:
    """The numbers of those of many decoded runs that may be worth a look, and of few others.

    One search through all of them at once takes less time than a call of :func:`worth_a_look` for each.

    Args:
        decoded: All of them, each with bytes behind it that are not printable.
        begins: Where they begin, and where the last ends.
        glued: Whether where they begin was guessed.
    """
    mask = decoded.translate(_PRINTABLE)
    found = {number for number, begin in enumerate(begins) if decoded.startswith(b"x", begin)}
    for text, needle in ((mask, LONG if glued else BRIEF), (mask, _WIDE), (decoded, _GZIP)):
        at = text.find(needle)
        while at >= 0:
            number = bisect_right(begins, at) - 1
            found.add(number)
            at = text.find(needle, begins[number + 1])
    return found
