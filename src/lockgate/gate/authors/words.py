"""Checks whether each word of a result stands in texts of known authors.

A result is text, and may be formed by options, by another program of that name, or by a server that was put between.
So it counts as somebody's words only where the service itself says that they wrote each line of it.
"""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any

MOST_LINES = 5000
_LONGEST = 256 * 1024
_PLAIN = re.compile(
    r"[+-]?#?\d{1,20}|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?: ?\+0000| UTC|Z)?(?: UTC)?"
    r"|[0-9a-f]{7,64}|-{1,3}|\W{0,3}"
    r"|index [0-9a-f]{7,64}\.\.[0-9a-f]{7,64}(?: [0-7]{6})?|(?:new|deleted) file mode [0-7]{6}"
    r"|similarity index \d{1,3}%"
    r"|date: (?:mon|tue|wed|thu|fri|sat|sun) [a-z]{3} \d{1,2} \d\d:\d\d:\d\d \d{4} [+-]\d{4}",
    re.ASCII,
)
"""A number, a moment, a digest, a line between two texts, signs."""
_QUOTE = re.compile(r"[\s*+\-\d.)]*>")
_TOLD_BY_OTHERS = re.compile(
    r"<\s*(blockquote|details|q|cite|summary|pre)\b|originally posted by|^\s*(co-authored-by|sourced from)\b",
    re.I | re.M,
)
"""Marks of a text that a person quotes, or that a bot copies from somewhere. A false alarm only locks."""
_CLIENTS = re.compile(r"(?i:exit code):? -?\d{1,10}")


def own_lines(text: str) -> Iterator[str]:
    """The lines of a text that whoever wrote it did not quote.

    A quotation goes on until an empty line, as Markdown has it. Where a text has marks of other quotations, all of it
    counts as quoted: so a false alarm only locks.
    """
    if _TOLD_BY_OTHERS.search(text):
        return
    is_quoted = False
    for line in text.splitlines():
        is_quoted = _QUOTE.match(line) is not None or (is_quoted and bool(line.strip()))
        if not is_quoted:
            yield line


def normal(text: str) -> str:
    """A line as it is compared: one space for each gap, and no capitals."""
    return " ".join(text.split()).casefold()


def find_foreign(text: str, is_known: Callable[[str], bool]) -> str:
    """Where a result holds something else than lines that are known, with fields and numbers around them.

    Args:
        text: All of it.
        is_known: Whether a line, as :func:`normal` writes it, is one of those whose authors are known.

    Returns:
        The place in a few words, without anything of the text; empty where there is none.
    """
    if len(text) > _LONGEST or text.count("\n") > MOST_LINES:
        return "it is too long to look at"
    values = _values(text)
    if values is not None:
        stands = all(_value_stands(value, is_known) for value in values)
        return "" if stands else "a field or a value of its JSON stands in none of their texts"
    lines = enumerate(re.split(r"\r\n|\n|\r", text), 1)
    foreign = next((number for number, line in lines if not _line_stands(line, is_known)), None)
    return "" if foreign is None else f"line {foreign} stands in none of their texts"


def _values(text: str) -> list[Any] | None:
    """The values of a text that is JSON, one or several in a row, beginning with an object or a list."""
    decoder, values, at = json.JSONDecoder(), [], 0
    rest = text.strip()
    if rest[:1] not in ("{", "["):
        return None
    try:
        while at < len(rest):
            value, at = decoder.raw_decode(rest, at)
            values.append(value)
            at += len(rest[at:]) - len(rest[at:].lstrip())
    except (ValueError, RecursionError):
        return None
    return values


def _value_stands(value: Any, is_known: Callable[[str], bool]) -> bool:
    stack = [value]
    while stack:
        each = stack.pop()
        if isinstance(each, dict):
            if not all(_is_field(name) or is_known(normal(name)) for name in each):
                return False
            stack += each.values()
        elif isinstance(each, list):
            stack += each
        elif isinstance(each, str) and not all(_line_stands(line, is_known) for line in re.split(r"\r\n|\n|\r", each)):
            return False
    return True


@lru_cache(maxsize=1)
def _words() -> Mapping[str, frozenset[str]]:
    """The words that a service's client writes around people's lines, by their kind: the table ``words.yaml``."""
    with open(os.path.join(os.path.dirname(__file__), "words.json"), encoding="ascii") as file:
        return {kind: frozenset(words) for kind, words in json.load(file).items()}


def _is_field(name: str) -> bool:
    return name.lower() in _words()["field"]


def _line_stands(line: str, is_known: Callable[[str], bool]) -> bool:
    if _stands(line, is_known) or _CLIENTS.fullmatch(line):
        return True
    cells = line.split("\t")
    if len(cells) > 1 and cells[0].endswith(":") and _is_field(cells[0][:-1]):
        cells = cells[1:]
    return all(_stands(cell, is_known) or _are_names(cell, is_known) for cell in cells)


def _stands(cell: str, is_known: Callable[[str], bool]) -> bool:
    plain = normal(cell)
    return is_known(plain) or _is_plain(plain) or _is_known_between(plain.split(" "), is_known)


def _is_plain(word: str) -> bool:
    states = _words()["state"]
    return _PLAIN.fullmatch(word) is not None or word.strip("()[],:") in states or word.replace(" ", "_") in states


def _is_known_between(words: list[str], is_known: Callable[[str], bool]) -> bool:
    """Whether a known line stands between numbers and states, as in ``7 OPEN Title``."""
    first, last = 0, len(words)
    while first < last and _is_plain(words[first]):
        first += 1
    while last > first and _is_plain(words[last - 1]):
        last -= 1
    return first == last or ((first, last) != (0, len(words)) and is_known(" ".join(words[first:last])))


def _are_names(cell: str, is_known: Callable[[str], bool]) -> bool:
    """Whether a cell is a list of names, each with its state or without: ``ann (Approved), bob``."""
    return all(_stands(name, is_known) for name in cell.split(", "))
