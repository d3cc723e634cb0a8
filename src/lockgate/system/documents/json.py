"""Parses JSON into plain values with their lines: see ``reader.py``."""

from __future__ import annotations

import json
from bisect import bisect_left

from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.documents.values import LONGEST_NUMBER, NUMBER, Counter, Document, Path, format_path

if TYPE_CHECKING:
    from typing import Any

_BLANK = lazy_re(r"[ \t\n\r]*")


def read_json(text: str, file: str) -> Document:
    """Read JSON.

    Raises:
        ConfigError: It is none.
    """
    return _JsonReader(text, file).document()


class _JsonReader:
    """A reader of RFC 8259 that keeps lines. The standard library's has none for values."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.lines: dict[Path, int] = {}
        self.counter = Counter(file)
        self.breaks = [place for place, character in enumerate(text) if character == "\n"]
        self.strings = json.JSONDecoder(strict=True)

    def document(self) -> Document:
        value, end = self.value(self.blank(0), ())
        end = self.blank(end)
        if end < len(self.text):
            raise self.error(end, "more text after the end of the value")
        return Document(value, self.lines)

    def error(self, at: int, problem: str, path: Path = ()) -> ConfigError:
        return ConfigError(self.file, self.line(at), format_path(path), problem)

    def line(self, at: int) -> int:
        return bisect_left(self.breaks, at) + 1

    def blank(self, at: int) -> int:
        match = _BLANK.match(self.text, at)
        assert match
        if self.text.startswith(("//", "/*", "#"), match.end()):
            raise self.error(match.end(), "JSON has no comments: write a key that begins with an underscore")
        return match.end()

    def value(self, at: int, path: Path) -> tuple[Any, int]:
        line = self.line(at)
        self.counter.add(line, path)
        self.lines.setdefault(path, line)
        character = self.text[at : at + 1]
        if character == "{":
            return self.mapping(at + 1, path)
        if character == "[":
            return self.sequence(at + 1, path)
        if character == '"':
            return self.string(at)
        for word, constant in (("true", True), ("false", False), ("null", None)):
            if self.text.startswith(word, at):
                return constant, at + len(word)
        number = NUMBER.match(self.text, at)
        if number is None or len(number.group()) > LONGEST_NUMBER:
            what = "the file ends too early" if not character else f"no JSON value begins with {visible(character)!r}"
            raise self.error(at, what, path)
        return json.loads(number.group()), number.end()

    def string(self, at: int) -> tuple[str, int]:
        try:
            value, end = self.strings.raw_decode(self.text, at)
        except json.JSONDecodeError as error:
            raise self.error(error.pos, f"not a JSON text: {error.msg.lower()}") from None
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise self.error(at, "half of a surrogate pair")
        return value, end

    def mapping(self, at: int, path: Path) -> tuple[dict[str, Any], int]:
        result: dict[str, Any] = {}
        at = self.blank(at)
        if self.text[at : at + 1] == "}":
            return result, at + 1
        while True:
            if self.text[at : at + 1] != '"':
                raise self.error(at, "expected a key in double quotes (JSON has no comma after the last entry)", path)
            key, end = self.string(at)
            if key in result:
                raise self.error(at, "this key stands twice", (*path, key))
            self.lines[*path, key] = self.line(at)
            end = self.blank(end)
            if self.text[end : end + 1] != ":":
                raise self.error(end, "expected a colon after the key", (*path, key))
            result[key], end = self.value(self.blank(end + 1), (*path, key))
            at, more = self.next(end, "}", path)
            if not more:
                return result, at

    def sequence(self, at: int, path: Path) -> tuple[list[Any], int]:
        result: list[Any] = []
        at = self.blank(at)
        if self.text[at : at + 1] == "]":
            return result, at + 1
        while True:
            value, end = self.value(at, (*path, len(result)))
            result.append(value)
            at, more = self.next(end, "]", path)
            if not more:
                return result, at

    def next(self, at: int, close: str, path: Path) -> tuple[int, bool]:
        """After a value: the place after a comma, or after the closing bracket."""
        at = self.blank(at)
        character = self.text[at : at + 1]
        if character == close:
            return at + 1, False
        if character != ",":
            raise self.error(at, f"expected a comma or {close}", path)
        return self.blank(at + 1), True
