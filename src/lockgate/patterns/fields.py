"""The texts in a tool's input: decoded strings, each with the path to it. The JSON around them is never looked at."""

from __future__ import annotations

from collections.abc import Iterator

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


class Field(Record):
    """One text."""

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
