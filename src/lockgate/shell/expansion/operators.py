"""Applies the operators of parameter expansion to a known value: parts of it, replacements, other letters.

Each function gives ``None`` where the result is not sure to be the same in every shell.
"""

from __future__ import annotations

import re

from lockgate.shell.grammar.tree import Glob, Literal, Param, Word
from lockgate.shell.state.abstract_text import is_known
from lockgate.shell.state.scope import Scope

_LONGEST = 500
_MARKS = {"*": ".*", "?": "."}
_LETTERS = {"^^": str.upper, "@U": str.upper, ",,": str.lower, "@L": str.lower}


def respell(part: Param, value: str, arguments: list[str], scope: Scope) -> str | None:
    """The text that an expansion with an operator becomes."""
    single = part.subscript is None and part.name not in ("@", "*") and part.name not in scope.arrays
    if not single or not is_known(value) or not value.isascii() or len(value) > _LONGEST:
        return None
    operator = part.operator
    if operator in _LETTERS:
        return None if any(arguments) else _LETTERS[operator](value)
    if operator in ("^", "@u", ","):
        change = str.lower if operator == "," else str.upper
        return None if any(arguments) else change(value[:1]) + value[1:]
    if operator == ":":
        return _slice(value, arguments)
    pattern = _pattern(part.arguments[0], arguments[0]) if arguments else None
    if pattern is None:
        return None
    if operator in ("#", "##", "%", "%%"):
        return _cut(operator, value, pattern)
    if operator in ("/", "//", "/#", "/%"):
        return _replace(operator, value, pattern, arguments[1] if len(arguments) > 1 else "")
    return None


def _slice(value: str, arguments: list[str]) -> str | None:
    """``${x:2:3}``; a negative start counts from the end, a negative length is an end."""
    numbers = [text.strip() for text in arguments]
    if not 1 <= len(numbers) <= 2 or not all(re.fullmatch(r"-?(0|[1-9][0-9]{0,5})", text) for text in numbers):
        return None
    start = int(numbers[0])
    if start < 0:
        start += len(value)
    if not 0 <= start <= len(value):
        return ""
    if len(numbers) == 1:
        return value[start:]
    length = int(numbers[1])
    end = len(value) + length if length < 0 else start + length
    return value[start:end] if end >= start else None


def _pattern(word: Word, text: str) -> str | None:
    """A regular expression for a pattern of ``*``, ``?`` and literal text."""
    if not is_known(text):
        return None
    result = ""
    for part in word.parts:
        if isinstance(part, Literal):
            result += re.escape(part.text)
        elif isinstance(part, Glob) and part.text in _MARKS:
            result += _MARKS[part.text]
        elif len(word.parts) == 1 and not set(text) & set("*?[\\"):
            result += re.escape(text)
        else:
            return None
    return result if result.count(".*") <= 2 else None


def _cut(operator: str, value: str, pattern: str) -> str:
    """``#`` and ``%``: without the shortest part at an end that fits; twice, without the longest."""
    whole = re.compile(pattern, re.DOTALL)
    lengths = range(len(value) + 1) if len(operator) == 1 else range(len(value), -1, -1)
    for length in lengths:
        rest = len(value) - length
        if whole.fullmatch(value[:length] if operator[0] == "#" else value[rest:]):
            return value[length:] if operator[0] == "#" else value[:rest]
    return value


def _replace(operator: str, value: str, pattern: str, replacement: str) -> str | None:
    """``/`` and its kin; ``&`` in what replaces stands for the match in new shells only."""
    if not is_known(replacement) or set(replacement) & set("&\\") or re.compile(pattern).match("") is not None:
        return None
    if operator == "/#":
        pattern = rf"\A(?:{pattern})"
    elif operator == "/%":
        pattern = rf"(?:{pattern})\Z"
    compiled = re.compile(pattern, re.DOTALL)
    return compiled.sub(lambda _: replacement, value, count=0 if operator == "//" else 1)
