"""Decodes runs of base64 and hexadecimal characters, and unpacks what is compressed inside them."""

from __future__ import annotations

from itertools import accumulate

from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.decoding.worth import BRIEF, LONG, find_promising, is_text, table_of, worth_a_look

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator, Sequence

    from lockgate.patterns.decoding.decoded_views import Budget, Decoded, Decoder

BASE64 = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_"
_HEX = b"0123456789abcdefABCDEF"
_GAP = rb"(?:[ \t]*+\\?\r?\n[ \t]*+|(?:\\r)?\\n[ \t]*+|[\"'][ \t]*[+.]?[ \t]*\\?\r?\n?[ \t]*[+.]?[ \t]*[\"'])"

_NO_MORE = rb"(?!--[a-z]+=[A-Za-z0-9]|[A-Za-z0-9_-]+==[0-9]{1,4}\.)"
_NEXT_LINE = lazy_re(_GAP + _NO_MORE + rb"([A-Za-z0-9+/_-]+)(?=[=\r\n\"'\\]|\Z)")
"""A line that goes on with a run. The next option of a command and the next package of a list do not
(``--hash=sha256:...``, ``name==1.2``). They only look like the end of base64 with its padding."""
_BEFORE_GAP = frozenset((b" ", b"\t", b"\\", b"\r", b"\n", b"'", b'"'))
"""What a run has behind it where the next line may go on with it."""
_HEX_RUN = lazy_re(rb"[0-9A-Fa-f]{16,}(?:(?:\\r|\r)?(?:\\n|\n)[ \t]*[0-9A-Fa-f]{16,})*")
PAIR_GAP = rb"(?:[:\- ]|,[ \t]?|[,\s]\s{0,16}0x)"
_PAIRS = lazy_re(rb"[0-9A-Fa-f]{2}(?:" + PAIR_GAP + rb"[0-9A-Fa-f]{2}){7,}")
_PAIRS_LEAST = 23
"""Bytes of eight pairs."""
_CODES = lazy_re(rb"[0-9]{1,3}(?:,\s{0,16}[0-9]{1,3}){11,}")
_CODES_LEAST = 23
_NO_HEX = b" :,-\\nrt\r\n\t\v\f"
_IN_BASE64 = table_of(BASE64)
_IN_HEX = table_of(_HEX)
_IN_PAIRS = table_of(_HEX + b"xX:,- \t\r\n\v\f")
_IN_CODES = table_of(b"0123456789, \t\r\n\v\f")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_SHORTEST = 16
_LEAST_WIDE = 24
"""Bytes of which each other one is zero in UTF-16, behind a mark of the order of bytes."""
_LONG_RUN = 40
"""Characters of a run of base64 that need not begin with text."""
_TOGETHER = 256
"""Runs that are decoded at once."""
_ALONE = 1024
"""Characters of a run from which on it is decoded by itself: in so many there is some text by chance."""
_FILL = b"////////"
"""Its end stands behind each run of base64 when several are decoded at once: bytes that are not printable, so that no
text goes on from one run to the next. There are as many as make the run's length a multiple of four."""
_HEX_FILL = b"ffff"
"""The same for hexadecimal digits, and a multiple of two."""


def base64(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Runs of base64, of either alphabet, with or without padding, in one line or more.

    What a run is glued to may be of the alphabet too, so all four places where it may begin are tried.
    """
    runs: list[tuple[bytes, int, int]] = []
    covered = 0
    mask = data.translate(_IN_BASE64)
    for spot in ends:
        if spot <= covered:
            continue
        start = max(covered, mask.rfind(0, covered, max(covered, spot - 1)) + 1)
        run, covered = _read_wrapped(data, mask, start)
        if len(run) >= _SHORTEST and run not in budget.dull and run.translate(None, _HEX):
            runs.append((run, start, covered))
        if len(runs) == _TOGETHER:
            yield from _base64_runs(runs, budget, depth)
            runs = []
        if budget.is_over():
            return
    yield from _base64_runs(runs, budget, depth)


def _base64_runs(runs: Sequence[tuple[bytes, int, int]], budget: Budget, depth: int) -> Iterator[Decoded]:
    from binascii import a2b_base64

    # The length of each part is a multiple of four, so leaving out the first characters of the first leaves out as many
    # of each.
    parts = [run + _FILL[len(run) % 4 :] if len(run) < _ALONE else b"" for run, _, _ in runs]
    joined = b"".join(parts).translate(_STANDARD)
    begins = [0, *accumulate(len(part) // 4 * 3 for part in parts)]
    shifted = (a2b_base64(joined[glued:] + _FILL[:glued]) for glued in (range(4) if joined else ()))
    for run in _select_promising(runs, shifted, begins, budget):
        yield from _base64_run(*run, budget, depth)


def _select_promising(
    runs: Sequence[tuple[bytes, int, int]], shifted: Iterable[bytes], begins: Sequence[int], budget: Budget
) -> Iterator[tuple[bytes, int, int]]:
    """The runs that may hold something: those that are long, and those of which some decoding is promising.

    Args:
        runs: Runs, each with its place.
        shifted: What all short ones are decoded to at once, with ever more characters left out in front.
        begins: Where each begins in that, and the end.
        budget: What may be looked at; the other runs are noted in it as dull.
    """
    found = {number for number, (run, _, _) in enumerate(runs) if len(run) >= _ALONE}
    for glued, decoded in enumerate(shifted):
        found |= find_promising(decoded, begins, glued=glued > 0)
    budget.dull.update(run for number, (run, _, _) in enumerate(runs) if number not in found)
    for number in sorted(found):
        if budget.is_over():
            return
        yield runs[number]


def _base64_run(run: bytes, start: int, end: int, budget: Budget, depth: int) -> Iterator[Decoded]:
    from binascii import a2b_base64

    standard = run.translate(_STANDARD)
    for glued in range(4):
        part = standard[glued:]
        left = len(part) % 4
        decoded = _narrow(a2b_base64(part + b"=" * (4 - left) if left > 1 else part[: len(part) - left]))
        yield from worth_a_look(decoded, start, end, "base64", budget, depth, LONG if glued else BRIEF)
        if not glued and is_text(decoded):
            break


def _narrow(decoded: bytes) -> bytes:
    """The characters of UTF-16, as PowerShell takes encoded commands; other bytes as they are."""
    for first in (0, 1):
        if not any(decoded[4 + first : 4 + _LEAST_WIDE : 2]) and any(decoded[5 - first : 4 + _LEAST_WIDE : 2]):
            return decoded[1 - first :: 2]
    return decoded


def long_runs(data: bytes, start: int) -> list[int]:
    """A place in each long run that may be base64 and is not wholly before ``start``: as ends of spots.

    A run of hexadecimal digits is none, unless the next line goes on with it. Lock files have hundreds of such hashes.
    """
    digits = data.translate(_IN_HEX)
    return [
        begin + _LONG_RUN
        for begin, end in stretches(data, _IN_BASE64, _LONG_RUN, start)
        if digits.find(0, begin, end) >= 0 or _next_line(data, end)
    ]


def hexadecimal(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Runs of hexadecimal digits, in one line or more, from the first spot on."""
    runs: list[tuple[bytes, int, int]] = []
    first = min(ends, default=len(data))
    for found in _HEX_RUN.finditer(data, len(data[:first].rstrip(_HEX))):
        run = _only_digits(found[0])
        if run not in budget.dull:
            runs.append((run, *found.span()))
        if len(runs) == _TOGETHER:
            yield from _hex_runs(runs, budget, depth)
            runs = []
            if budget.is_over():
                return
    yield from _hex_runs(runs, budget, depth)


def _fill_up(run: bytes) -> bytes:
    """Hexadecimal digits with what fills them up to whole bytes."""
    return run + (_HEX_FILL[1:] if len(run) % 2 else _HEX_FILL)


def _hex_runs(runs: Sequence[tuple[bytes, int, int]], budget: Budget, depth: int) -> Iterator[Decoded]:
    from binascii import unhexlify

    parts = [_fill_up(run) if len(run) < _ALONE else b"" for run, _, _ in runs]
    joined = b"".join(parts)
    begins = [0, *accumulate(len(part) // 2 for part in parts)]
    shifted = (unhexlify(joined[glued:] + _HEX_FILL[:glued]) for glued in (range(2) if joined else ()))
    for run in _select_promising(runs, shifted, begins, budget):
        yield from _digits(*run, budget, depth)


def _only_digits(run: bytes) -> bytes:
    return run.replace(b"0x", b"").translate(None, _NO_HEX) if run.translate(None, _HEX) else run


def pairs(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Bytes in hexadecimal, one by one: ``73:6b``, ``0x73, 0x6b``; from the first spot on."""
    for found in _within(data, _IN_PAIRS, _PAIRS_LEAST, _PAIRS, ends, budget):
        yield from _digits(_only_digits(found.group()), found.start(), found.end(), budget, depth)


def _within(
    data: bytes, table: bytes, least: int, regex: re.Pattern[bytes], ends: Sequence[int], budget: Budget
) -> Iterator[re.Match[bytes]]:
    """Matches in the stretches of some characters, from the first spot on."""
    for start, end in stretches(data, table, least, min(ends, default=len(data))):
        if budget.is_over():
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

    even = len(run) & ~1
    decoded = unhexlify(run[:even])
    yield from worth_a_look(decoded, start, end, "hex", budget, depth, BRIEF)
    if not is_text(decoded):
        odd = unhexlify(run[1 : len(run) - (len(run) - 1) % 2])
        yield from worth_a_look(odd, start, end, "hex", budget, depth, LONG)


def _next_line(data: bytes, end: int) -> re.Match[bytes] | None:
    """The line that goes on with the run that ends there."""
    return _NEXT_LINE.match(data, end) if data[end : end + 1] in _BEFORE_GAP else None


def _read_wrapped(data: bytes, mask: bytes, start: int) -> tuple[bytes, int]:
    """The run that begins there, with the lines that go on with it, and its end.

    A line goes on with the one before if nothing else stands in it. If they do not belong together, they are still
    decoded, because every place where one may begin is tried.

    Args:
        data: The text.
        mask: Has 0 where it has no character of the alphabet.
        start: An offset.
    """
    end = mask.find(0, start)
    end = len(mask) if end < 0 else end
    lines = [data[start:end]]
    while len(lines[-1]) >= _SHORTEST:
        found = _next_line(data, end)
        if found is None:
            break
        lines.append(found.group(1))
        end = found.end()
    end += data.startswith(b"=", end) + data.startswith(b"==", end)
    return (b"".join(lines) if len(lines) > 1 else lines[0]), end


def codes(data: bytes, ends: Sequence[int], budget: Budget, depth: int) -> Iterator[Decoded]:
    """Bytes as decimal numbers: ``[115, 107, 45]``; from the first spot on."""
    for found in _within(data, _IN_CODES, _CODES_LEAST, _CODES, ends, budget):
        made = bytes(code if code < 256 else 0 for code in map(int, found.group().split(b",")))
        yield from worth_a_look(made, found.start(), found.end(), "decimal", budget, depth, BRIEF)


DECODERS: dict[str, Decoder] = {
    "base64": base64,
    "hex": hexadecimal,
    "pairs": pairs,
    "decimal": codes,
}
