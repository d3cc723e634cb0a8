"""Makes values safe to show in a page: hiding, reordering and invalid characters become escapes.

Markup is no concern here: JSON has none, and pages put texts in as text. What is a concern is text that reads otherwise
than it is, in a page as in a terminal: bidirectional marks, zero-width characters, half of a surrogate pair.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any

from lockgate.core.display_text import visible

_MANY_SPACES = " " * 60
"""From so many on they are counted: they push the rest of a line out of sight."""
_DEEP = 64
"""Levels of nesting that are shown; what is below is named and not shown."""


def escape_text(text: str) -> str:
    """A text with every unsafe character as an escape; line breaks and tabs stay. Nothing is cut."""
    return "\n".join("\t".join(_line(part) for part in line.split("\t")) for line in text.split("\n"))


def _line(text: str) -> str:
    plain = text.isascii() and text.isprintable() and _MANY_SPACES not in text
    return text if plain else visible(text, 10 * len(text) + 1)


def escape_json(value: Any, deep: int = _DEEP) -> Any:
    """A JSON value with all its texts and names as :func:`escape_text` writes them."""
    if isinstance(value, str):
        return escape_text(value)
    if isinstance(value, dict):
        return _number_names(value, deep) if deep else "{...}"
    if isinstance(value, list | tuple):
        return [escape_json(each, deep - 1) for each in value] if deep else "[...]"
    if isinstance(value, float) and not abs(value) < float("inf"):
        return str(value)  # JSON has no text for it
    return value


def _number_names(value: Mapping[Any, Any], deep: int) -> dict[str, Any]:
    """An object, with a number behind a name that looks like an earlier one once both are escaped."""
    found: dict[str, Any] = {}
    times: Counter[str] = Counter()
    for name, each in value.items():
        plain = name = escape_text(str(name))
        while name in found:
            times[plain] += 1
            name = f"{plain} ({times[plain] + 1})"
        found[name] = escape_json(each, deep - 1)
    return found


Shown = Annotated[str, "untrusted"]
"""A text that others may have written. Every text of every model is escaped; this says of which it matters."""
ShownJson = Annotated[Any, "untrusted"]
"""A JSON value in which others may have written."""
