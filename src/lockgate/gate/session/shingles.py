"""Passages that a session has read from strangers, so that they are known again where the agent writes them down.

A shingle is eight words in a row. Only its hash is kept, so the text itself is not. A session keeps a bounded number of
them: once there are too many, only those whose hash ends in so many zero bits, which is the same sample on both sides.
"""

from __future__ import annotations

import base64
import zlib
from array import array
from itertools import accumulate

from lockgate.core.lazy import lazy_re
from lockgate.core.record import Record

_SINGLE = r"\u2e80-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
_WORD = lazy_re(rf"[{_SINGLE}]|[^\W_{_SINGLE}](?:[^\s{_SINGLE}]*[^\W_{_SINGLE}])?")
"""What stands between blanks, without the signs around it; or one character of a script that sets no blanks.

A path is one word: lists of files are nobody's sentences.
"""
_WORDS = 8
_SHORTEST = 24
"""Bytes that the words of a shingle must have together: eight brackets or digits are nobody's passage."""
_MOST = 8192
"""Hashes that are kept of one session."""
_MOST_TEXT = 256 * 1024
"""Characters of one text that are looked at."""
_LEVELS = 32


class Shingles(Record):
    """Hashes of passages."""

    hashes: frozenset[int] = frozenset()
    level: int = 0
    """How many zero bits each of the hashes ends in: the higher, the smaller the sample."""

    def unite(self, other: Shingles) -> Shingles:
        """The passages of both, as far as there is room."""
        level = max(self.level, other.level)
        hashes = _sample(self.hashes | other.hashes, level)
        while len(hashes) > _MOST and level < _LEVELS:
            level += 1
            hashes = _sample(hashes, level)
        return Shingles(hashes, level)

    def intersect(self, other: Shingles) -> frozenset[int]:
        """The hashes of passages that are in both."""
        return self.hashes & other.hashes


def shingles_of(text: str) -> Shingles:
    """The passages of a text, all of them."""
    words = [word.encode("utf-8", "surrogatepass") for word in _WORD.findall(text[:_MOST_TEXT].casefold())]
    codes = array("I", map(zlib.crc32, words)).tobytes()
    ends = [0, *accumulate(map(len, words))]
    size = len(codes) // max(len(words), 1)
    span = size * _WORDS
    return Shingles(
        frozenset(
            [
                zlib.crc32(codes[size * start : size * start + span])
                for start, (begin, end) in enumerate(zip(ends, ends[_WORDS:], strict=False))
                if end - begin >= _SHORTEST
            ]
        )
    )


def pack(shingles: Shingles) -> str:
    """The text that is stored."""
    hashes = array("I", sorted(shingles.hashes))
    return f"{shingles.level} {hashes.itemsize} {base64.b64encode(hashes.tobytes()).decode()}"


def unpack(text: str) -> Shingles:
    """The passages of a stored text; none of one that no gate of ours has written."""
    try:
        level, size, hashes = text.split(" ")
        found = array("I")
        if int(size) != found.itemsize:
            return Shingles()
        found.frombytes(base64.b64decode(hashes, validate=True))
        return Shingles(frozenset(found), int(level))
    except ValueError:
        return Shingles()


def _sample(hashes: frozenset[int], level: int) -> frozenset[int]:
    mask = (1 << level) - 1
    return frozenset(each for each in hashes if not each & mask)
