"""The values of a configuration file with their lines, bounded in number and depth."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

Path = tuple[str | int, ...]
"""Keys and indexes from the top of a file to a value."""
MOST_VALUES = 20_000
DEEPEST = 16
NUMBER = lazy_re(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""A number as JSON writes it."""
LONGEST_NUMBER = 30
"""Characters."""


class Document(Record):
    """The content of a file."""

    value: Any
    lines: Mapping[Path, int]
    """1-based lines of all values; a value in a mapping has the line of its key."""

    def line(self, path: Path) -> int:
        """The line of a value, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def format_path(path: Path) -> str:
    """A path as a person reads it: ``bash_patterns.safe[0]``."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{part}" if text else part
    return visible(text, 200)


class Counter:
    """Refuses what has too many values or is too deep."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values = 0

    def add(self, line: int, path: Path, number: int = 1) -> None:
        """Count values that stand at a place. Raises ``ConfigError``."""
        self.values += number
        if self.values > MOST_VALUES:
            raise ConfigError(self.file, line, "", f"more than {MOST_VALUES} values")
        if len(path) > DEEPEST:
            raise ConfigError(self.file, line, "", f"nested more than {DEEPEST} levels deep")
