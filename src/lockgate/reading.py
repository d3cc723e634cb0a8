"""Text of a configuration file to plain values, each with the line that it stands on.

Both formats are read more strictly than their parsers would: text in UTF-8 without a byte order mark, keys that are
text and stand once, and bounds on depth and number of values, which also end expansions of aliases.
"""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.errors import ConfigError
from lockgate.lazy import lazy_re
from lockgate.record import TYPE_CHECKING, Record
from lockgate.text import visible

if TYPE_CHECKING:
    from typing import Any

Path = tuple[str | int, ...]
"""Keys and indexes from the top of a file to a value."""
MOST_BYTES = 1_000_000
MOST_VALUES = 20_000
DEEPEST = 16
NUMBER = lazy_re(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
"""A number as JSON writes it."""
LONGEST_NUMBER = 30
"""Characters."""


class Document(Record):
    """What a file holds."""

    value: Any
    lines: Mapping[Path, int]
    """1-based lines of all values; a value in a mapping has the line of its key."""

    def line(self, path: Path) -> int:
        """The line of a value, or of the nearest one around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def dotted(path: Path) -> str:
    """A path as a person reads it: ``bash_patterns.safe[0]``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else (f".{part}" if text else part)
    return visible(text, 200)


def read(data: bytes, file: str) -> Document:
    """Read a file by the format that its name says: ``.json``, else YAML.

    Raises:
        ConfigError: the text is not in that format; file and line are known, and the key where there is one.
    """
    text = _text(data, file)
    if file.endswith(".json"):
        from lockgate.reading_json import read_json

        return read_json(text, file)
    from lockgate.reading_yaml import read_yaml

    return read_yaml(text, file)


def _text(data: bytes, file: str) -> str:
    if len(data) > MOST_BYTES:
        raise ConfigError(file, 0, "", f"the file is larger than {MOST_BYTES} bytes")
    if data.startswith((b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")):
        raise ConfigError(file, 1, "", "the file begins with a byte order mark: save it as UTF-8 without one")
    if (zero := data.find(b"\0")) >= 0:
        raise ConfigError(file, data.count(b"\n", 0, zero) + 1, "", "a zero byte: save the file as UTF-8")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(file, line, "", "not UTF-8: save the file in that encoding") from None


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
