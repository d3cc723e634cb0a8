"""Parses a pattern into parts, as far as ``anchors.py`` needs them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from lockgate.core.lazy import lazy_re
from lockgate.core.record import Record
from lockgate.patterns.engine.matcher import UNBOUNDED

_PRINTABLE = 96
CHARACTER = 4.0
"""Bits of a character that is given; text is no random sequence."""
_OF_A_CLASS = 20.0
"""Most bits of one class, however often it is repeated: the characters of a key are those of a hash too, and lock files
are full of hashes."""
_QUANTIFIER = lazy_re(r"(?:\{(\d+)(,(\d*))?\}|[*+?])\??")
_GROUP = lazy_re(r"\((?:\?P<\w+>|\?[a-zA-Z-]*:|\?[a-zA-Z-]+\)|(?!\?))")
_ESCAPE = lazy_re(r"\\(?:x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]+\}|[0-7]{3}|[^A-Za-z0-9]|[bBdDsSwWnrtfvaAz])")
_CLASS_SIZES = {"d": 10, "w": 63, "s": 6}
_ZERO_WIDTH = frozenset("bBAz")


class Part(Record):
    """A part of a pattern."""

    text: str
    bits: float
    """How much it tells from ordinary text."""
    least: int
    """Bytes."""
    most: int
    head: str = ""
    """For a group: what opens it."""
    branches: Branches = ()
    times: int = 1
    """The least number of times."""
    atom: Part | None = None
    """For a repetition: what is repeated."""


class UnreadablePattern(Exception):  # noqa: N818 - no error: such patterns are taken whole
    """Syntax that is not needed here."""


Branches = tuple[tuple[Part, ...], ...]
"""Alternatives, each of them parts in a row."""


def branches_of(pattern: str) -> Branches:
    """The alternatives of a pattern in RE2's syntax.

    Raises:
        UnreadablePattern: It has syntax that is not needed here, or that is wrong.
    """
    reader = _PatternReader(pattern)
    branches = reader.branches()
    if reader.at < len(pattern):
        raise UnreadablePattern
    return branches


def most_bytes(parts: Sequence[Part]) -> int:
    """The most bytes that parts in a row match."""
    return sum(part.most for part in parts)


class _PatternReader:
    """Reads a pattern into parts."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def branches(self) -> Branches:
        """Alternatives, up to the end or to the parenthesis that closes them."""
        found: list[tuple[Part, ...]] = []
        parts: list[Part] = []
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            if self.pattern[self.at] == "|":
                self.at += 1
                found.append(tuple(parts))
                parts = []
            else:
                parts.append(self.read_repetition(self.atom()))
        return (*found, tuple(parts))

    def read_repetition(self, atom: Part) -> Part:
        match = _QUANTIFIER.match(self.pattern, self.at)
        if match is None:
            return atom
        self.at = match.end()
        if match[1] is None:
            times, most = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[match.group()[0]]
        else:
            times = most = int(match[1])
            if match[2] is not None:
                most = int(match[3]) if match[3] else -1
        if _QUANTIFIER.match(self.pattern, self.at):
            raise UnreadablePattern
        width = UNBOUNDED if most < 0 else min(atom.most * most, UNBOUNDED)
        text = atom.text + match.group()
        bits = atom.bits * times if atom.bits == CHARACTER else min(atom.bits * times, _OF_A_CLASS)
        return Part(text, bits, atom.least * times, width, times=times, atom=atom)

    def atom(self) -> Part:
        character = self.pattern[self.at]
        if character == "(":
            return self.group()
        if character == "[":
            return self.bracket()
        if character == "\\":
            return self.escape()
        if character in "*+?":
            raise UnreadablePattern
        self.at += 1
        if character in "^$":
            return Part(character, 1.0, 0, 0)
        if character == ".":
            return Part(character, 0.0, 1, 1)
        size = len(character.encode("utf-8"))
        return Part(character, CHARACTER, size, size)

    def group(self) -> Part:
        match = _GROUP.match(self.pattern, self.at)
        if match is None:
            raise UnreadablePattern
        begin, head = self.at, match.group()
        self.at = match.end()
        if head.endswith(")"):  # flags such as (?i): no part of the text
            return Part(head, 0.0, 0, 0)
        branches = self.branches()
        if self.at >= len(self.pattern):
            raise UnreadablePattern
        self.at += 1
        return Part(
            self.pattern[begin : self.at],
            min(sum(part.bits for part in branch) for branch in branches),
            min(sum(part.least for part in branch) for branch in branches),
            max(most_bytes(branch) for branch in branches),
            head,
            branches,
        )

    def escape(self) -> Part:
        match = _ESCAPE.match(self.pattern, self.at)
        if match is None:
            raise UnreadablePattern
        self.at = match.end()
        letter = match.group()[1]
        if letter in _ZERO_WIDTH:
            return Part(match.group(), 0.0, 0, 0)
        if letter.lower() in _CLASS_SIZES:
            size = _CLASS_SIZES[letter.lower()]
            return Part(match.group(), _class_bits(size if letter.islower() else _PRINTABLE - size), 1, 1)
        return Part(match.group(), CHARACTER, 1, 1)

    def bracket(self) -> Part:
        """A class; its size is estimated, which decides about nothing but speed."""
        begin = self.at
        self.at += 1
        negated = self.pattern[self.at : self.at + 1] == "^"
        self.at += negated
        size, first = 0, True
        while first or self.pattern[self.at : self.at + 1] != "]":
            first = False
            size += self.member()
            if self.at >= len(self.pattern):
                raise UnreadablePattern
        self.at += 1
        size = max(1, _PRINTABLE - size) if negated else size
        return Part(self.pattern[begin : self.at], _class_bits(size), 1, 1)

    def member(self) -> int:
        """One member of a class, or a range; how many characters that is."""
        rest = self.pattern[self.at : self.at + 2]
        if not rest or rest == "[:" or not rest[0].isascii():
            raise UnreadablePattern
        low = self.single()
        if low < 0:
            return -low
        if self.pattern[self.at : self.at + 1] == "-" and self.pattern[self.at + 1 : self.at + 2] not in ("]", ""):
            self.at += 1
            high = self.single()
            return max(1, high - low + 1) if high >= 0 else 1 - high
        return 1

    def single(self) -> int:
        r"""The code of one member, or the negative size of a class such as ``\d``."""
        character = self.pattern[self.at]
        if character != "\\":
            self.at += 1
            return ord(character)
        match = _ESCAPE.match(self.pattern, self.at)
        if match is None:
            raise UnreadablePattern
        self.at = match.end()
        size = _CLASS_SIZES.get(match.group()[1].lower())
        return -size if size is not None else ord(match.group()[-1])


def _class_bits(size: int) -> float:
    return max(0.0, min(CHARACTER, math.log2(_PRINTABLE / max(size, 1)) * 0.6))
