"""Runs of characters that stand for other bytes: base64, hexadecimal; and what is compressed inside them."""

from __future__ import annotations

from lockgate.analysis.patterns.decoding_views import SEPARATOR, Decoded
from lockgate.lazy import lazy_re
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    import re
    from collections.abc import Iterator, Sequence

    from lockgate.analysis.patterns.decoding_views import Budget, Decoder

_BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_HEX = b"0123456789abcdefABCDEF"
_GAP = rb"(?:[ \t]*\\?\r?\n[ \t]*|(?:\\r)?\\n[ \t]*|[\"'][ \t]*[+.]?[ \t]*\\?\r?\n?[ \t]*[+.]?[ \t]*[\"'])"

_RUN = lazy_re(rb"[A-Za-z0-9+/_-]+")
_NEXT_LINE = lazy_re(_GAP + rb"([A-Za-z0-9+/_-]+)(?=[=\r\n\"'\\]|\Z)")
_HEX_RUN = lazy_re(rb"[0-9A-Fa-f]+(?:(?:\\r|\r)?(?:\\n|\n)[ \t]*[0-9A-Fa-f]{16,})*")
PAIR_GAP = rb"(?:[:\- ]|,[ \t]?|[,\s]\s{0,16}0x)"
_PAIRS = lazy_re(rb"[0-9A-Fa-f]{2}(?:" + PAIR_GAP + rb"[0-9A-Fa-f]{2}){7,}")
_PAIRS_LEAST = 23
"""Bytes of eight pairs."""
_CODES = lazy_re(rb"[0-9]{1,3}(?:,\s{0,16}[0-9]{1,3}){11,}")
_CODES_LEAST = 23
_NO_HEX = b" :,-\\nrt\r\n\t\v\f"


def table_of(characters: bytes) -> bytes:
    """For ``bytes.translate``: 1 for these characters, 0 for all others."""
    return bytes(code in characters for code in range(256))


_IN_BASE64 = table_of(_BASE64)
_IN_HEX = table_of(_HEX)
_IN_PAIRS = table_of(_HEX + b"xX:,- \t\r\n\v\f")
_IN_CODES = table_of(b"0123456789, \t\r\n\v\f")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_PRINTABLE = table_of(bytes(range(32, 127)) + b"\t\n\r")
_BRIEF = b"\1" * 8
"""So much printable text makes decoded bytes worth a look. By chance, 12 random bytes have it once in 600 times."""
_LONG = b"\1" * 16
"""The same for a start that was guessed."""
_LOOK_BACK = 4096
_SHORTEST = 16
_LEAST_WIDE = 24
"""Bytes of which each other one is zero in UTF-16, behind a mark of the order of bytes."""
_LONG_RUN = 40
"""Characters of a run of base64 that need not begin with text."""
_MEMBERS = 16
"""Compressed streams behind each other that are read."""
_FEED = 1 << 16


def base64(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Runs of base64, of either alphabet, with or without padding, in one line or more.

    What a run is glued to may be of the alphabet too, so all four places where it may begin are tried.
    """
    from binascii import a2b_base64

    covered = 0
    for spot in ends:
        if spot <= covered:
            continue
        if budget.over():
            return
        start = _begin(data, spot, covered, _BASE64)
        run, covered = _wrapped(data, start)
        if len(run) < _SHORTEST or not run.translate(None, _HEX):
            continue
        run = run.translate(_STANDARD)
        for glued in range(4):
            part = run[glued:] if glued else run
            left = len(part) % 4
            decoded = _narrowed(a2b_base64(part + b"=" * (4 - left) if left > 1 else part[: len(part) - left]))
            least = _LONG if glued else _BRIEF
            if least in decoded.translate(_PRINTABLE) or _compressed(decoded):  # quicker than to ask for nothing
                yield from _worth(decoded, start, covered, "base64", budget, depth, least)
            if not glued and _is_text(decoded):
                break


def _narrowed(decoded: bytes) -> bytes:
    """The characters of UTF-16, as PowerShell takes encoded commands; other bytes as they are."""
    for first in (0, 1):
        if not any(decoded[4 + first : 4 + _LEAST_WIDE : 2]) and any(decoded[5 - first : 4 + _LEAST_WIDE : 2]):
            return decoded[1 - first :: 2]
    return decoded


def long_runs(data: bytes, start: int) -> list[int]:
    """A place in each long run of base64 that is not wholly before ``start``: as ends of spots."""
    return [begin + _LONG_RUN for begin, _ in stretches(data, _IN_BASE64, _LONG_RUN, start)]


def hexadecimal(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Runs of hexadecimal digits, in one line or more, from the first spot on."""
    covered = 0
    for start, _ in stretches(data, _IN_HEX, _SHORTEST, min(ends, default=len(data))):
        if start < covered:
            continue
        if budget.over():
            return
        found = _HEX_RUN.match(data, start)
        if found is not None:
            covered = found.end()
            yield from _digits(found.group(), start, covered, budget, depth)


def pairs(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Bytes in hexadecimal, one by one: ``73:6b``, ``0x73, 0x6b``; from the first spot on."""
    for found in _within(data, _IN_PAIRS, _PAIRS_LEAST, _PAIRS, ends, budget):
        yield from _digits(found.group(), found.start(), found.end(), budget, depth)


def _within(
    data: bytes, table: bytes, least: int, regex: re.Pattern[bytes], ends: Sequence[int], budget: Budget
) -> Iterator[re.Match[bytes]]:
    """Matches in the stretches of some characters, from the first spot on."""
    for start, end in stretches(data, table, least, min(ends, default=len(data))):
        if budget.over():
            return
        yield from regex.finditer(data, start, end)


def stretches(data: bytes, table: bytes, least: int, start: int) -> Iterator[tuple[int, int]]:
    """The longest runs of some characters that have a least length and do not end before ``start``.

    Args:
        data: The text.
        table: Has 1 at the codes of these characters, else 0.
        least: Bytes.
        start: An offset.
    """
    mask = data.translate(table)
    needle = b"\1" * least
    at = mask.find(needle, mask.rfind(0, 0, start) + 1)
    while at >= 0:
        end = mask.find(0, at + least)
        end = len(mask) if end < 0 else end
        yield at, end
        at = mask.find(needle, end)


def _digits(run: bytes, start: int, end: int, budget: Budget, depth: int) -> Iterator[Decoded]:
    from binascii import unhexlify

    if run.translate(None, _HEX):
        run = run.replace(b"0x", b"").translate(None, _NO_HEX)
    even = len(run) & ~1
    decoded = unhexlify(run[:even])
    yield from _worth(decoded, start, end, "hex", budget, depth, _BRIEF)
    if not _is_text(decoded):
        odd = unhexlify(run[1 : len(run) - (len(run) - 1) % 2])
        yield from _worth(odd, start, end, "hex", budget, depth, _LONG)


def _begin(data: bytes, spot: int, floor: int, alphabet: bytes) -> int:
    """Where the run begins that the byte before ``spot`` is in, but not before ``floor``."""
    start = max(floor, spot - 1)
    while start > floor:
        low = max(floor, start - _LOOK_BACK)
        kept = len(data[low:start].rstrip(alphabet))
        start = low + kept
        if kept:
            break
    return start


def _wrapped(data: bytes, start: int) -> tuple[bytes, int]:
    """The run that begins there, with the lines that go on with it, and its end.

    A line goes on with the one before if nothing else stands in it. If they do not belong together, they are still
    decoded, because every place where one may begin is tried.
    """
    found = _RUN.match(data, start)
    if found is None:  # not at a spot
        return b"", start
    end = found.end()
    lines = [found.group()]
    while len(lines[-1]) >= _SHORTEST:
        found = _NEXT_LINE.match(data, end)
        if found is None:
            break
        lines.append(found.group(1))
        end = found.end()
    end += data.startswith(b"=", end) + data.startswith(b"==", end)
    return (b"".join(lines) if len(lines) > 1 else lines[0]), end


def _is_text(decoded: bytes) -> bool:
    return 0 not in decoded.translate(_PRINTABLE)


def _worth(
    decoded: bytes, start: int, end: int, name: str, budget: Budget, depth: int, least: bytes
) -> Iterator[Decoded]:
    """What was decoded, or decompressed after that, if it is worth a look."""
    inner = decoded
    names: tuple[str, ...] = (name,)
    while len(names) < depth and (packed := _compressed(inner)):
        inner = _decompressed(inner[packed[1] :], budget)
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


def _compressed(data: bytes) -> tuple[str, int] | None:
    """How bytes are compressed, and where that begins. Formats: RFC 1950, section 2.2, and RFC 1952, section 2.3."""
    at = data.find(b"\x1f\x8b\x08", 0, 64)
    if at >= 0:
        return "gzip", at
    if data[:1] == b"x" and len(data) > 6 and not (data[0] << 8 | data[1]) % 31 and not data[1] & 32:
        return "zlib", 0
    return None


def _decompressed(data: bytes, budget: Budget) -> bytes:
    """As much as the budget has room for, and as is not broken."""
    import zlib

    made: list[bytes] = []
    room = budget.left - 64
    for _ in range(_MEMBERS):
        stream = zlib.decompressobj(wbits=47)
        for at in range(0, len(data), _FEED):
            try:
                made.append(stream.decompress(data[at : at + _FEED], room + 1))
            except zlib.error:
                return b"".join(made)
            room -= len(made[-1])
            if room < 0 or budget.over():
                budget.exceed()
                return b"".join(made)[: budget.left - 64]
            if stream.eof:
                data = stream.unused_data + data[at + _FEED :]
                break
        if not stream.eof or not data.startswith(b"\x1f\x8b"):
            return b"".join(made)
    budget.exceed()
    return b"".join(made)


def codes(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Bytes as decimal numbers: ``[115, 107, 45]``; from the first spot on."""
    for found in _within(data, _IN_CODES, _CODES_LEAST, _CODES, ends, budget):
        made = bytes(code if code < 256 else 0 for code in map(int, found.group().split(b",")))
        yield from _worth(made, found.start(), found.end(), "decimal", budget, depth, _BRIEF)


DECODERS: dict[str, Decoder] = {
    "base64": base64,
    "hex": hexadecimal,
    "pairs": pairs,
    "decimal": codes,
}
