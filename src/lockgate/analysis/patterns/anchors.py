"""Patterns to *anchors*: what Hyperscan looks for in the place of a pattern.

An anchor matches within every match of its pattern, and is cheaper: as much of the pattern's beginning as tells it from
ordinary text (the prefix of a key, a provider's name), in which what may be repeated some times may be repeated often.
What it finds is then held against the pattern itself, in a window of known size. So the database stays small, which
every hook has to load, and a place is reported once and not for each end of a match.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lockgate.analysis.patterns.engine import UNBOUNDED
from lockgate.lazy import lazy_re
from lockgate.record import Record

ENOUGH = 18.0
"""Bits after which the rest of a pattern is left out: more than four characters that are given."""
_PRINTABLE = 96
_CHARACTER = 4.0
"""Bits of a character that is given; text is no random sequence."""
_QUANTIFIER = lazy_re(r"(?:\{(\d+)(,(\d*))?\}|[*+?])\??")
_GROUP = lazy_re(r"\((?:\?P<\w+>|\?[a-zA-Z-]*:|\?[a-zA-Z-]+\)|(?!\?))")
_ESCAPE = lazy_re(r"\\(?:x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]+\}|[0-7]{3}|[^A-Za-z0-9]|[bBdDsSwWnrtfvaAz])")
_CLASS_SIZES = {"d": 10, "w": 63, "s": 6}
_ZERO_WIDTH = frozenset("bBAz")
_WORD_CLASS = lazy_re(r"\[(?:[A-Za-z0-9]-[A-Za-z0-9]|\\[dw]|[A-Za-z0-9_])+\]|\\[dw]")
_ALONE = r"(?:\b|\\[nrt])"
_SAYS_ENOUGH = 3
"""Characters that are given, by which a part is found quickly."""
_FAR = 1024
"""Most bytes of a match before the part that is looked for."""


class Anchor(Record):
    """What is looked for, and where around it the pattern's match lies."""

    pattern: str
    before: int
    """Most bytes of it: a match begins at most so many before the end of the anchor's match."""
    behind: int
    """Most bytes of a match behind the end of the anchor's match."""
    least: int = 1
    """Fewest bytes of a match."""


class _Node(Record):
    """A part of a pattern."""

    text: str
    bits: float
    least: int
    """Bytes."""
    most: int
    head: str = ""
    """For a group: what opens it."""
    branches: tuple[tuple[_Node, ...], ...] = ()
    times: int = 1
    """The least number of times."""
    atom: _Node | None = None
    """For a repetition: what is repeated."""


class _Unreadable(Exception):  # noqa: N818 - no error: such patterns are taken whole
    """Syntax that is not needed here."""


def anchor_of(pattern: str, *, alone: bool = False) -> Anchor:
    """The anchor of a pattern.

    Args:
        pattern: In RE2's syntax.
        alone: Whether a match counts only where no letter, digit or ``_`` stands before it, but for an escape.
    """
    try:
        reader = _Reader(pattern)
        branches = reader.branches()
        if reader.at < len(pattern):
            raise _Unreadable
        text, most = _cut_branches(branches, ENOUGH, leading=True)
        width = max(_most(branch) for branch in branches)
    except _Unreadable:
        text = ""
    if not text:
        return Anchor(pattern, UNBOUNDED, UNBOUNDED)
    if alone and len(branches) == 1 and _begins_with_any_word(branches[0]):
        # Else each place in a long run of letters or digits would be one.
        text = _ALONE + text
    least = min(sum(node.least for node in branch) for branch in branches)
    return Anchor(text, min(most, UNBOUNDED), min(width, UNBOUNDED), least)


# ---------------------------------------------------------------- cutting
def _cut_branches(branches: Sequence[Sequence[_Node]], need: float, leading: bool) -> tuple[str, int]:
    cut = [_cut(branch, need, leading) for branch in branches]
    return "|".join(text for text, _ in cut), max(most for _, most in cut)


def _cut(nodes: Sequence[_Node], need: float, leading: bool) -> tuple[str, int]:
    """The part of a sequence that is looked for, and the most bytes from the sequence's start to that part's end.

    Args:
        nodes: The sequence.
        need: Bits that are enough.
        leading: Whether nothing stands before it.
    """
    kept: list[str] = []
    most = 0
    first, last = _start(nodes) if leading else 0, _last(nodes)
    for index, node in enumerate(nodes):
        if index > last or (need <= 0 and not _is_given(node)):
            break  # a word that has begun is taken whole: it costs nothing, and says more
        leads = leading and not any(not _is_flags(earlier) for earlier in nodes[first:index])
        if index < first:
            kept += [node.text] if _is_flags(node) else []
            most += node.most
            continue
        if node.branches and node.bits >= need:
            text, width = _cut_branches(node.branches, need, leads)
            return "".join((*kept, node.head, text, ")")), most + width
        if node.atom is not None:
            text, times = _loosened(node, need, index == last)
            kept.append(text)
            if times:  # perhaps fewer than in a match: nothing can follow
                return "".join(kept), most + node.atom.most * times
            most += node.most
        else:
            kept.append(_loose(node, leads))
            most += node.most
        need -= node.bits
    return "".join(kept), most


def _is_given(node: _Node) -> bool:
    return node.bits == _CHARACTER and node.atom is None and not node.branches


def _is_flags(node: _Node) -> bool:
    return node.text.startswith("(?") and not node.head


def _start(nodes: Sequence[_Node]) -> int:
    """The index from which on a sequence is looked for: its beginning, or the first word in it that is given."""
    first, last = _first(nodes), _last(nodes)
    if _given(nodes[first:]):
        return first
    for index in range(first + 1, last + 1):
        if _most(nodes[:index]) > _FAR:
            break
        if _given(nodes[index:]) >= _SAYS_ENOUGH and nodes[index].least:
            return index
    return first


def _given(nodes: Sequence[_Node]) -> int:
    """How many given characters a sequence begins with, at least."""
    count = 0
    for node in nodes:
        if _is_given(node):
            count += 1
        elif node.branches:
            inside = [_given(branch) for branch in node.branches]
            count += min(inside)
            if any(number < len(branch) for number, branch in zip(inside, node.branches, strict=True)):
                break
        elif node.most:
            break
    return count


def _begins_with_any_word(nodes: Sequence[_Node]) -> bool:
    """Whether a sequence is looked for from its beginning, which is a letter or digit and not a given one."""
    if not nodes or _start(nodes) or _given(nodes):
        return False
    first = nodes[0].atom if nodes[0].atom is not None and nodes[0].times else nodes[0]
    if first.branches and first is nodes[0]:
        return all(_begins_with_any_word(branch) for branch in first.branches)
    return first.atom is None and _WORD_CLASS.fullmatch(first.text) is not None


def _first(nodes: Sequence[_Node]) -> int:
    """The index from which on a sequence is looked for: what may be missing at its beginning is not.

    What has no width stays, where it stands before what stays.
    """
    needed = next((index for index, node in enumerate(nodes) if node.least), len(nodes))
    while needed and not nodes[needed - 1].most and not _is_flags(nodes[needed - 1]):
        needed -= 1
    return needed


def _last(nodes: Sequence[_Node]) -> int:
    """The index of the last part that must be there. What may be missing at the end need not be looked for."""
    needed = [index for index, node in enumerate(nodes) if node.least]
    return needed[-1] if needed else len(nodes) - 1


def _loosened(node: _Node, need: float, final: bool) -> tuple[str, int]:
    """A repetition that may go on; with how often it is matched where that is certain, else 0."""
    assert node.atom is not None
    atom = _loose(node.atom, leading=False)
    if node.times and (final or node.atom.bits * node.times >= need):
        enough = math.ceil(need / node.atom.bits) if node.atom.bits > 0 and need < math.inf else node.times
        times = min(node.times, max(enough, 1))
        return atom + (f"{{{times}}}" if times > 1 else ""), times
    if node.most <= max(3, node.times) * max(node.atom.most, 1):
        return atom + node.text[len(node.atom.text) :], 0
    return atom + ("*" if node.times == 0 else "+" if node.times == 1 else f"{{{node.times},}}"), 0


def _loose(node: _Node, leading: bool) -> str:
    """All of a part, with bounds of repetition left out."""
    if node.atom is not None:
        return _loosened(node, math.inf, final=False)[0]
    if node.branches:
        return node.head + "|".join(_loose_branch(branch, leading) for branch in node.branches) + ")"
    return node.text


def _loose_branch(nodes: Sequence[_Node], leading: bool) -> str:
    first = _first(nodes) if leading and any(node.least for node in nodes) else 0
    return "".join(
        _loose(node, leading and index == first)
        for index, node in enumerate(nodes)
        if index >= first or _is_flags(node)
    )


# ---------------------------------------------------------------- reading
def _bits(nodes: Sequence[_Node]) -> float:
    return sum(node.bits for node in nodes)


def _most(nodes: Sequence[_Node]) -> int:
    return sum(node.most for node in nodes)


class _Reader:
    """Reads a pattern into parts."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0

    def branches(self) -> tuple[tuple[_Node, ...], ...]:
        """Alternatives, up to the end or to the parenthesis that closes them."""
        found: list[tuple[_Node, ...]] = []
        nodes: list[_Node] = []
        while self.at < len(self.pattern) and self.pattern[self.at] != ")":
            if self.pattern[self.at] == "|":
                self.at += 1
                found.append(tuple(nodes))
                nodes = []
            else:
                nodes.append(self.repeated(self.atom()))
        return (*found, tuple(nodes))

    def repeated(self, atom: _Node) -> _Node:
        match = _QUANTIFIER.match(self.pattern, self.at)
        if match is None:
            return atom
        self.at = match.end()
        if match[1] is None:
            times, most = {"*": (0, -1), "+": (1, -1), "?": (0, 1)}[match.group()[0]]
        else:
            times = int(match[1])
            most = times if match[2] is None else int(match[3]) if match[3] else -1
        if _QUANTIFIER.match(self.pattern, self.at):
            raise _Unreadable
        width = UNBOUNDED if most < 0 else min(atom.most * most, UNBOUNDED)
        text = atom.text + match.group()
        return _Node(text, atom.bits * times, atom.least * times, width, times=times, atom=atom)

    def atom(self) -> _Node:
        character = self.pattern[self.at]
        if character == "(":
            return self.group()
        if character == "[":
            return self.bracket()
        if character == "\\":
            return self.escape()
        if character in "*+?":
            raise _Unreadable
        self.at += 1
        if character in "^$":
            return _Node(character, 1.0, 0, 0)
        if character == ".":
            return _Node(character, 0.0, 1, 1)
        size = len(character.encode("utf-8"))
        return _Node(character, _CHARACTER, size, size)

    def group(self) -> _Node:
        match = _GROUP.match(self.pattern, self.at)
        if match is None:
            raise _Unreadable
        begin, head = self.at, match.group()
        self.at = match.end()
        if head.endswith(")"):  # flags such as (?i): no part of the text
            return _Node(head, 0.0, 0, 0)
        branches = self.branches()
        if self.at >= len(self.pattern):
            raise _Unreadable
        self.at += 1
        return _Node(
            self.pattern[begin : self.at],
            min(_bits(branch) for branch in branches),
            min(sum(node.least for node in branch) for branch in branches),
            max(_most(branch) for branch in branches),
            head,
            branches,
        )

    def escape(self) -> _Node:
        match = _ESCAPE.match(self.pattern, self.at)
        if match is None:
            raise _Unreadable
        self.at = match.end()
        letter = match.group()[1]
        if letter in _ZERO_WIDTH:
            return _Node(match.group(), 0.0, 0, 0)
        if letter.lower() in _CLASS_SIZES:
            size = _CLASS_SIZES[letter.lower()]
            return _Node(match.group(), _of_class(size if letter.islower() else _PRINTABLE - size), 1, 1)
        return _Node(match.group(), _CHARACTER, 1, 1)

    def bracket(self) -> _Node:
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
                raise _Unreadable
        self.at += 1
        size = max(1, _PRINTABLE - size) if negated else size
        return _Node(self.pattern[begin : self.at], _of_class(size), 1, 1)

    def member(self) -> int:
        """One member of a class, or a range; how many characters that is."""
        rest = self.pattern[self.at : self.at + 2]
        if not rest or rest == "[:" or not rest[0].isascii():
            raise _Unreadable
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
            raise _Unreadable
        self.at = match.end()
        size = _CLASS_SIZES.get(match.group()[1].lower())
        return -size if size is not None else ord(match.group()[-1])


def _of_class(size: int) -> float:
    return max(0.0, min(_CHARACTER, math.log2(_PRINTABLE / max(size, 1)) * 0.6))
