"""Lists the texts in a tool's input: decoded strings with their paths, and never the JSON around them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from lockgate.core.lazy import lazy_re
from lockgate.core.model import ARRAY, OBJECT
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.model import Rule

if TYPE_CHECKING:
    from typing import Any

_LONG_NUMBER = 10**6
"""Numbers from here on are looked at as text: a card number need not be a string."""
_SHOWN = 80
"""Characters of a key in a path."""
_NUMBER = (int, float)

_MOST_ASSIGNED = 1000
"""Assignments of one text that are looked at."""
_NAME = rb"(?<![A-Za-z0-9_-])([A-Za-z][A-Za-z0-9_-]{0,79})"
_BETWEEN = rb"[\"'`*]{0,3}[ \t]{0,8}[:=][*]{0,2}[ \t]{0,8}[\"'`]?"
_VALUE = rb"([^\s\"'`,;()\[\]{}<>$]{0,199}[^\s\"'`,;()\[\]{}<>$.:!?*])"
_ASSIGNMENT = lazy_re(_NAME + _BETWEEN + _VALUE)
_OF_AN_ID = lazy_re(rb"[0-9-]")


class Field(Record):
    """A text in a tool's input, with its path."""

    path: str
    """``command``, ``edits[0].new_string``, ``headers.{Authorization}`` for the name of a field itself."""
    name: str
    """The name of the field that it stands in: of the nearest mapping around it."""
    text: str


def fields_of(value: Any) -> Iterator[Field]:
    """Every string in a JSON value, and every number and key that is long enough to hold something.

    Without recursion: a value may be nested as deep as it likes.
    """
    todo: list[tuple[str, str, Any]] = [("", "", value)]
    while todo:
        path, name, item = todo.pop()
        if isinstance(item, str):
            if item:
                yield Field(path, name, item)
        elif isinstance(item, _NUMBER):
            if not isinstance(item, bool) and abs(item) >= _LONG_NUMBER:
                yield Field(path, name, str(item))
        elif isinstance(item, ARRAY):
            todo.extend((f"{path}[{index}]", name, item[index]) for index in range(len(item) - 1, -1, -1))
        elif item is not None and isinstance(item, OBJECT):
            for key, inner in reversed(list(item.items())):
                text = str(key)
                where = f"{path}.{text[:_SHOWN]}" if path else text[:_SHOWN]
                todo.append((where, text, inner))
                if len(text) >= 8:
                    todo.append((f"{path}.{{{text[:_SHOWN]}}}" if path else f"{{{text[:_SHOWN]}}}", "", text))


def is_for(rule: Rule, name: str) -> bool:
    """Whether a rule looks at fields of this name."""
    if not rule.fields:
        return True
    from lockgate.resources.globs import name_matches

    plain = plain_name(name)
    return any(name_matches(plain_name(glob), plain) for glob in rule.fields)


def plain_name(name: str) -> str:
    """A field's name as rules name it, however it is written."""
    return name.replace("-", "").replace("_", "").lower()


def find_assigned_values(data: bytes) -> Iterator[tuple[str, tuple[int, int]]]:
    """Find what a text in UTF-8 hands over under a name: ``project_id: PROJ-042``, ``entry_id=e-17``.

    A value without a digit and a hyphen is a word of a sentence (``entry_id: the one above``), and no id.

    Returns:
        The name, and where the value stands, in bytes; without quotes, and without the full stop of a sentence.
    """
    for found in islice(_ASSIGNMENT.finditer(data), _MOST_ASSIGNED):
        if _OF_AN_ID.search(found[2]):
            yield found[1].decode("ascii"), found.span(2)
