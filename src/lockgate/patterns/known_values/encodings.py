"""Spells a known value in every form that is looked for: as it is, reversed, or encoded.

An encoded value may stand inside of a longer text that was encoded as a whole. Then only the characters that come from
the value's own bits are looked for, which is why base64 has three forms of each value: one for each place that its
first byte can have in a group of three.
"""

from __future__ import annotations

from collections.abc import Iterator

FORMS = (
    "plain",
    "part",
    "reversed",
    "base64",
    "base64 (url-safe)",
    "hex",
    "url-encoded",
)
"""All forms by their number in an index."""
PLAIN, PART, REVERSED, BASE64, BASE64_URL, HEX, URL = range(len(FORMS))

_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
"""What percent-encoding leaves alone (RFC 3986, section 2.3)."""


def whole_forms(value: bytes) -> Iterator[tuple[int, bytes]]:
    """Every form of a whole value, with the text to look for. No text comes twice."""
    seen = set()
    for form, text in _all_forms(value):
        if text not in seen:
            seen.add(text)
            yield form, text


def _all_forms(value: bytes) -> Iterator[tuple[int, bytes]]:
    yield PLAIN, value
    yield REVERSED, value[::-1]
    for before in range(3):
        text = _base64(value, before)
        yield BASE64, text
        yield BASE64_URL, text.translate(_URL_SAFE)
    digits = value.hex().encode()
    yield HEX, digits
    yield HEX, digits.upper()
    yield URL, _percent(value, "%%%02X")
    yield URL, _percent(value, "%%%02x")


def _base64(value: bytes, before: int) -> bytes:
    """The characters that depend on the value alone, where so many bytes stand before it in its group of three."""
    from binascii import b2a_base64  # a library of its own, which nothing needs to look through a text

    text = b2a_base64(bytes(before) + value, newline=False)
    first = (before * 8 + 5) // 6
    end = (before + len(value)) * 8 // 6
    return text[first:end]


def _percent(value: bytes, escape: str) -> bytes:
    return b"".join(bytes((byte,)) if byte in _UNRESERVED else (escape % byte).encode() for byte in value)


def entropy_at_most(value: bytes) -> float:
    """Bits that a value of these kinds of characters can hold, if every one was drawn at random."""
    kinds = {_kind(byte) for byte in value}
    if kinds <= {0, 1} or kinds <= {0, 2}:  # hexadecimal
        bits = 4.0 if kinds != {0} else 3.32
    elif kinds <= {0, 1, 3} or kinds <= {0, 2, 4}:
        bits = 5.17
    else:
        bits = 5.95
    return bits * len(value)


def _kind(byte: int) -> int:
    """0 a digit, 1 and 2 letters of hexadecimal digits, 3 and 4 other letters (lower, upper case), 5 all else."""
    if 48 <= byte < 58:
        return 0
    if 97 <= byte < 123:
        return 1 if byte < 103 else 3
    if 65 <= byte < 91:
        return 2 if byte < 71 else 4
    return 5
