"""Reduces patterns to *anchors*: what Hyperscan looks for in place of a pattern.

An anchor matches within every match of its pattern, and is cheaper: as much of the pattern's beginning as tells it from
ordinary text (the prefix of a key, a provider's name). What may be repeated some times in the pattern may be repeated
often there. What it finds is then held against the pattern itself, in a window of known size. So the database stays
small, which every hook has to load, and a place is reported once and not for each end of a match.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from lockgate.core.lazy import lazy_re
from lockgate.core.record import Record
from lockgate.patterns.engine.matcher import UNBOUNDED
from lockgate.patterns.engine.pattern_parts import CHARACTER, Part, UnreadablePattern, branches_of, most_bytes

ENOUGH = 24.0
"""Bits after which the rest of a pattern is left out: more than four characters that are given."""
_OF_ADDRESSES = frozenset((":", "/"))
"""What tells nothing: all lock files are full of ``https://``."""
_WORD_CLASS = lazy_re(r"\[(?:[A-Za-z0-9]-[A-Za-z0-9]|\\[dw]|[A-Za-z0-9_])+\]|\\[dw]")
_ALONE = r"(?:\b|\\[nrt])"
_SAYS_ENOUGH = 3
"""Characters that are given, by which a part is found quickly."""
_FAR = 1024
"""Most bytes of a match before the part that is looked for."""


class Anchor(Record):
    """A text that is looked for, and the distance of the pattern's match from it."""

    pattern: str
    before: int
    """Most bytes of it: a match begins at most so many before the end of the anchor's match."""
    behind: int
    """Most bytes of a match behind the end of the anchor's match."""
    least: int = 1
    """Fewest bytes of a match."""


def anchor_of(pattern: str, *, alone: bool = False) -> Anchor:
    """The anchor of a pattern.

    Args:
        pattern: In RE2's syntax.
        alone: Whether a match counts only where no letter, digit or ``_`` stands before it, but for an escape.
    """
    try:
        branches = branches_of(pattern)
        text, most = _cut_branches(branches, ENOUGH, leading=True)
        width = max(most_bytes(branch) for branch in branches)
    except UnreadablePattern:
        text = ""
    if not text:
        return Anchor(pattern, UNBOUNDED, UNBOUNDED)
    if alone and len(branches) == 1 and _begins_with_any_word(branches[0]):
        # Else each place in a long run of letters or digits would be one.
        text = _ALONE + text
    least = min(sum(node.least for node in branch) for branch in branches)
    return Anchor(text, min(most, UNBOUNDED), min(width, UNBOUNDED), least)


# ---------------------------------------------------------------- cutting
def _cut_branches(branches: Sequence[Sequence[Part]], need: float, leading: bool) -> tuple[str, int]:
    cut = [_cut(branch, need, leading) for branch in branches]
    return "|".join(text for text, _ in cut), max(most for _, most in cut)


def _cut(nodes: Sequence[Part], need: float, leading: bool) -> tuple[str, int]:
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
            text, times = _loosen(node, need, index == last)
            kept.append(text)
            if times:  # perhaps fewer than in a match: nothing can follow
                return "".join(kept), most + node.atom.most * times
            most += node.most
        else:
            kept.append(_loose(node, leads))
            most += node.most
        need -= 0.0 if node.text in _OF_ADDRESSES else node.bits
    return "".join(kept), most


def _is_given(node: Part) -> bool:
    return node.bits == CHARACTER and node.atom is None and not node.branches


def _is_flags(node: Part) -> bool:
    return node.text.startswith("(?") and not node.head


def _start(nodes: Sequence[Part]) -> int:
    """The index from which on a sequence is looked for: its beginning, or the first word in it that is given."""
    first, last = _first(nodes), _last(nodes)
    if _count_given(nodes[first:]):
        return first
    for index in range(first + 1, last + 1):
        if most_bytes(nodes[:index]) > _FAR:
            break
        if _count_given(nodes[index:]) >= _SAYS_ENOUGH and nodes[index].least:
            return index
    return first


def _count_given(nodes: Sequence[Part]) -> int:
    """How many given characters a sequence begins with, at least."""
    count = 0
    for node in nodes:
        if _is_given(node):
            count += 1
        elif node.branches:
            inside = [_count_given(branch) for branch in node.branches]
            count += min(inside)
            if any(number < len(branch) for number, branch in zip(inside, node.branches, strict=True)):
                break
        elif node.most:
            break
    return count


def _begins_with_any_word(nodes: Sequence[Part]) -> bool:
    """Whether a sequence is looked for from its beginning, which is a letter or digit and not a given one."""
    if not nodes or _start(nodes) or _count_given(nodes):
        return False
    first = nodes[0].atom if nodes[0].atom is not None and nodes[0].times else nodes[0]
    if first.branches and first is nodes[0]:
        return all(_begins_with_any_word(branch) for branch in first.branches)
    return first.atom is None and _WORD_CLASS.fullmatch(first.text) is not None


def _first(nodes: Sequence[Part]) -> int:
    """The index from which on a sequence is looked for: what may be missing at its beginning is not.

    What has no width stays, where it stands before what stays.
    """
    needed = next((index for index, node in enumerate(nodes) if node.least), len(nodes))
    while needed and not nodes[needed - 1].most and not _is_flags(nodes[needed - 1]):
        needed -= 1
    return needed


def _last(nodes: Sequence[Part]) -> int:
    """The index of the last part that must be there. What may be missing at the end need not be looked for."""
    needed = [index for index, node in enumerate(nodes) if node.least]
    return needed[-1] if needed else len(nodes) - 1


def _loosen(node: Part, need: float, final: bool) -> tuple[str, int]:
    """A repetition that may go on; with how often it is matched where that is certain, else 0."""
    assert node.atom is not None
    atom = _loose(node.atom, leading=False)
    if node.times and (final or node.bits >= need):
        enough = math.ceil(need / node.atom.bits) if node.atom.bits > 0 and need < math.inf else node.times
        times = min(node.times, max(enough, 1))
        return atom + (f"{{{times}}}" if times > 1 else ""), times
    if node.most <= max(3, node.times) * max(node.atom.most, 1):
        return atom + node.text[len(node.atom.text) :], 0
    return atom + {0: "*", 1: "+"}.get(node.times, f"{{{node.times},}}"), 0


def _loose(node: Part, leading: bool) -> str:
    """All of a part, with bounds of repetition left out."""
    if node.atom is not None:
        return _loosen(node, math.inf, final=False)[0]
    if node.branches:
        return node.head + "|".join(_loose_branch(branch, leading) for branch in node.branches) + ")"
    return node.text


def _loose_branch(nodes: Sequence[Part], leading: bool) -> str:
    first = _first(nodes) if leading and any(node.least for node in nodes) else 0
    return "".join(
        _loose(node, leading and index == first)
        for index, node in enumerate(nodes)
        if index >= first or _is_flags(node)
    )
