"""Expands braces in a word's parts, before anything else in it is expanded, as bash does it."""

from __future__ import annotations

import re
from itertools import pairwise

from lockgate.core.record import TYPE_CHECKING
from lockgate.shell.grammar.tree import Braces, Literal, Word

if TYPE_CHECKING:
    from lockgate.shell.grammar.cursor import Cursor
    from lockgate.shell.grammar.tree import Part

MAX_SEQUENCE = 256
"""Longest sequence that is expanded; of a longer one the first and the last element stay."""

_SEQUENCE = r"(-?[0-9]{1,9}|[A-Za-z])\.\.(-?[0-9]{1,9}|[A-Za-z])(?:\.\.(-?[0-9]{1,9}))?"
"""Compiled when the first sequence is met: few commands have one."""


def expand(cursor: Cursor, parts: list[Part], position: int) -> list[Part]:
    """Replace brace expansions in the unquoted text of ``parts`` by :class:`Braces`."""
    tokens: list[str | Part] = []
    for part in parts:
        if isinstance(part, Literal) and not part.quoted:
            tokens += part.text
        else:
            tokens.append(part)
    ends, commas = _match(tokens)
    found = _Pass(cursor, tokens, ends, commas, position)
    result = found.read(0, len(tokens))
    if found.left_over and (found.expanded or _may_pair_late(tokens)):
        cursor.refuse("unbalanced braces beside a brace expansion", "write the words one by one", at=position)
    if not found.expanded:
        return parts
    cursor.refuse_outside_bash("brace expansion", "write the words one by one")
    return result


def _may_pair_late(tokens: list[str | Part]) -> bool:
    """Tell whether bash may close a brace later than at its own end, as in ``{a},b}``: after a comma behind it."""
    skeleton = "".join(piece for piece in tokens if isinstance(piece, str) and piece in "{,}").lstrip(",}")
    return "," in skeleton and "}" in skeleton[skeleton.index(",") :]


def _match(tokens: list[str | Part]) -> tuple[dict[int, int], dict[int, list[int]]]:
    """Find, for each opening brace that is closed, where, and its own commas."""
    ends: dict[int, int] = {}
    commas: dict[int, list[int]] = {}
    open_braces: list[int] = []
    for index, piece in enumerate(tokens):
        if piece == "{":
            open_braces.append(index)
            commas[index] = []
        elif piece == "}" and open_braces:
            ends[open_braces.pop()] = index
        elif piece == "," and open_braces:
            commas[open_braces[-1]].append(index)
    return ends, commas


class _Pass:
    """One pass over a word's tokens: single characters of unquoted text, and whole parts."""

    def __init__(
        self,
        cursor: Cursor,
        tokens: list[str | Part],
        ends: dict[int, int],
        commas: dict[int, list[int]],
        position: int,
    ) -> None:
        self.cursor = cursor
        self.tokens = tokens
        self.ends = ends
        self.commas = commas
        self.position = position
        self.expanded = False
        self.left_over = False
        """Whether a brace stayed literal."""

    def read(self, start: int, stop: int) -> list[Part]:
        """Read the tokens from ``start`` up to ``stop``."""
        result: list[Part] = []
        text = ""
        index = start
        while index < stop:
            piece = self.tokens[index]
            part = self.braces(index) if piece == "{" else piece
            if isinstance(part, Braces) and piece == "{":
                index = self.ends[index]
            index += 1
            if part is None or isinstance(part, str):
                self.left_over = self.left_over or piece in ("{", "}")
                text += str(piece)
                continue
            if text:
                result.append(Literal(text))
                text = ""
            result.append(part)
        if text:
            result.append(Literal(text))
        return result

    def braces(self, start: int) -> Braces | None:
        """Read the brace expansion that the brace at ``start`` opens, if it opens one."""
        end = self.ends.get(start)
        if end is None:
            return None
        commas = self.commas[start]
        if not commas:
            return self.sequence(start + 1, end)
        self.expanded = True
        self.cursor.enter_level()
        edges = [start, *commas, end]
        words = tuple(Word(tuple(self.read(left + 1, right)), self.position) for left, right in pairwise(edges))
        self.cursor.limits.depth -= 1
        return Braces(words)

    def sequence(self, start: int, stop: int) -> Braces | None:
        """Read ``1..9``, ``a..e`` or ``0..10..2``."""
        if stop - start > 40 or not all(isinstance(token, str) for token in self.tokens[start:stop]):
            return None
        match = re.fullmatch(_SEQUENCE, "".join(str(token) for token in self.tokens[start:stop]))
        if match is None:
            return None
        first, last, step = match.groups()
        if first.isalpha() != last.isalpha():
            return None
        self.expanded = True
        elements, elided = self.letters(first, last, step) if first.isalpha() else _numbers(first, last, step)
        self.cursor.limits.elements -= len(elements)
        if self.cursor.limits.elements < 0:
            elements, elided = [elements[0], elements[-1]], True
        return Braces(tuple(Word((Literal(element),), self.position) for element in elements), elided)

    def letters(self, first: str, last: str, step: str | None) -> tuple[list[str], bool]:
        """Give the elements of a sequence of letters."""
        if first.isupper() != last.isupper():
            self.cursor.refuse("a sequence from upper to lower case letters", "write the words one by one")
        codes, elided = _range(ord(first), ord(last), step)
        return [chr(code) for code in codes], elided


def _numbers(first: str, last: str, step: str | None) -> tuple[list[str], bool]:
    values, elided = _range(int(first), int(last), step)
    padded = any(len(number.lstrip("-")) > 1 and number.lstrip("-")[0] == "0" for number in (first, last))
    width = max(len(first), len(last)) if padded else 0
    return [str(value).zfill(width) for value in values], elided


def _range(first: int, last: int, step: str | None) -> tuple[list[int], bool]:
    """Give the elements, or the first and the last of many, and whether some were left out."""
    stride = abs(int(step or 1)) or 1
    values = range(first, last + 1, stride) if first <= last else range(first, last - 1, -stride)
    return (list(values), False) if len(values) <= MAX_SEQUENCE else ([values[0], values[-1]], True)
