"""Splits a makefile into lines, and a line into its parts, as GNU make reads them.

``info make``, nodes "Parsing Makefiles", "Splitting Lines", "Rule Syntax" and "Setting".
"""

from __future__ import annotations

import re

from lockgate.core.record import Record

_CLOSING = {"(": ")", "{": "}"}
_OPERATORS = (":::=", "::=", ":=", "?=", "+=", "!=", "=")


class MakeLine(Record):
    """One logical line."""

    text: str
    """Continued lines are joined: in a recipe as they are, elsewhere by one space, and without the comment."""
    offset: int
    """Where it begins in the file."""
    recipe: bool
    """Whether it begins with a tab."""


def lines(text: str) -> list[MakeLine]:
    """The logical lines of a makefile."""
    found: list[MakeLine] = []
    rows = text.split("\n")
    at = offset = 0
    while at < len(rows):
        start, begin, row = at, offset, rows[at]
        recipe = row.startswith("\t")
        taken = [row[1:] if recipe else row]
        while _ends_escaping(rows[at]) and at + 1 < len(rows):
            offset += len(rows[at]) + 1
            at += 1
            taken.append(rows[at].removeprefix("\t") if recipe else rows[at])
        offset += len(rows[at]) + 1
        at += 1
        joined = "\n".join(taken) if recipe else _without_comment(_join(taken))
        if joined.strip() or at - start > 1:
            found.append(MakeLine(joined, begin, recipe))
    return found


def _ends_escaping(text: str) -> bool:
    """Whether it ends with a backslash that no other one escapes, and so escapes what follows, be it a line's end."""
    return (len(text) - len(text.rstrip("\\"))) % 2 == 1


def _join(rows: list[str]) -> str:
    """One line of rows that a backslash joins: blanks around it become one space."""
    if len(rows) == 1:
        return rows[0]
    first, *inner, last = rows
    return " ".join([first[:-1].rstrip(), *(row[:-1].strip() for row in inner), last.lstrip()])


def _without_comment(text: str) -> str:
    """A line up to its comment: a ``#`` outside of references that no backslash escapes, itself not escaped."""
    at = 0
    while (at := _outside(text, at, "#")) >= 0:
        if not _ends_escaping(text[:at]):
            return text[:at]
        at += 1
    return text


def _outside(text: str, at: int, marks: str) -> int:
    """Where one of some characters stands outside of references; -1 where none does."""
    while at < len(text):
        if text[at] == "$" and text[at + 1 : at + 2] in _CLOSING:
            at = find_closing(text, at + 1) + 1
        elif text[at] in marks:
            return at
        else:
            at += 1
    return -1


def find_closing(text: str, at: int) -> int:
    """Where the bracket that opens at ``at`` is closed, or the text's end."""
    opens, closes = text[at], _CLOSING[text[at]]
    depth = 0
    for index in range(at, len(text)):
        depth += (text[index] == opens) - (text[index] == closes)
        if depth == 0:
            return index
    return len(text)


def arguments(text: str) -> list[str]:
    """The arguments of a function. Commas inside brackets separate nothing."""
    found, start, depth = [], 0, 0
    for index, character in enumerate(text):
        depth += (character in "({") - (character in ")}")
        if character == "," and depth <= 0:
            found.append(text[start:index])
            start = index + 1
    return [*found, text[start:]]


class MakeVariable(Record):
    """``NAME = value``."""

    name: str
    operator: str
    value: str


class MakeRule(Record):
    """``targets: prerequisites ; recipe``, or a variable for some targets. Nothing is expanded yet."""

    targets: str
    rest: str
    recipe: str | None
    double: bool
    """Whether it is a rule with ``::``: each such rule of a target is run for itself."""


def statement(text: str) -> MakeVariable | MakeRule | None:
    """What a line says that is no directive; ``None`` where it only holds references."""
    at = _outside(text, 0, ":=?+!")
    while at >= 0:
        operator = next((word for word in _OPERATORS if text.startswith(word, at)), "")
        if operator:
            return MakeVariable(text[:at].strip(), operator, text[at + len(operator) :].lstrip())
        if text[at] == ":":
            double = text.startswith("::", at)
            return _rule(text[:at], text[at + 1 + double :], double=double)
        at = _outside(text, at + 1, ":=?+!")
    return None


def _rule(targets: str, rest: str, *, double: bool) -> MakeRule:
    end = _outside(rest, 0, ";")
    # A semicolon of a variable's value is none of a recipe.
    if end < 0 or isinstance(statement(rest[:end]), MakeVariable):
        return MakeRule(targets, rest, None, double)
    return MakeRule(targets, rest[:end], rest[end + 1 :], double)


def condition(word: str, rest: str) -> tuple[str, str] | None:
    """The two texts that ``ifeq`` compares, or ``None`` where they are not written as they must be."""
    rest = rest.strip()
    if rest.startswith("("):
        sides = arguments(rest[1 : find_closing(rest, 0)])
        return (sides[0].strip(), ",".join(sides[1:]).strip()) if len(sides) >= 2 else None
    quoted = re.fullmatch(r"""("[^"]*+"|'[^']*+')\s*("[^"]*+"|'[^']*+')""", rest)
    return (quoted[1][1:-1], quoted[2][1:-1]) if quoted else None
