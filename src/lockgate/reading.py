"""Text of a configuration file to plain values, each with the line that it stands on.

Both formats are read more strictly than their parsers would: text in UTF-8 without a byte order mark, keys that are
text and stand once, and bounds on depth and number of values, which also end expansions of aliases.
"""

from __future__ import annotations

import json
from bisect import bisect_left
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
_NUMBER = lazy_re(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_BLANK = lazy_re(r"[ \t\n\r]*")
_INTEGER = lazy_re(r"[-+]?[0-9]+")
_LONGEST_NUMBER = 30
_ADVICE = (
    ("unknown escape", "put regular expressions in single quotes, or write each backslash twice"),
    ("a tag", "put a value that begins with ! in quotes"),
    ("cannot start any token", "indent with spaces, not with tabs; put a value that begins with @, % or ` in quotes"),
)
"""What people do wrong, by a part of what both parsers of PyYAML say."""


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
        return _Json(text, file).document()
    return _yaml(text, file)


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


class _Counter:
    """Refuses what has too many values or is too deep."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.values = 0

    def add(self, line: int, path: Path, number: int = 1) -> None:
        self.values += number
        if self.values > MOST_VALUES:
            raise ConfigError(self.file, line, "", f"more than {MOST_VALUES} values")
        if len(path) > DEEPEST:
            raise ConfigError(self.file, line, "", f"nested more than {DEEPEST} levels deep")


# ---------------------------------------------------------------- JSON


class _Json:
    """A reader of RFC 8259 that keeps lines. The standard library's has none for values."""

    def __init__(self, text: str, file: str) -> None:
        self.text, self.file = text, file
        self.lines: dict[Path, int] = {}
        self.counter = _Counter(file)
        self.breaks = [place for place, character in enumerate(text) if character == "\n"]
        self.strings = json.JSONDecoder(strict=True)

    def document(self) -> Document:
        value, end = self.value(self.blank(0), ())
        end = self.blank(end)
        if end < len(self.text):
            raise self.error(end, "more text after the end of the value")
        return Document(value, self.lines)

    def error(self, at: int, problem: str, path: Path = ()) -> ConfigError:
        return ConfigError(self.file, self.line(at), dotted(path), problem)

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
        number = _NUMBER.match(self.text, at)
        if number is None or len(number.group()) > _LONGEST_NUMBER:
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


# ---------------------------------------------------------------- YAML


class _Frame:
    """A mapping or sequence that is being read."""

    def __init__(self, path: Path, value: Any, anchor: str | None, start: int) -> None:
        self.path, self.value, self.anchor, self.start = path, value, anchor, start
        self.key: str | None = None

    def child(self) -> Path:
        part = self.key if isinstance(self.value, dict) else len(self.value)
        return self.path if part is None else (*self.path, part)

    def put(self, value: Any) -> None:
        if isinstance(self.value, dict):
            self.value[self.key], self.key = value, None
        else:
            self.value.append(value)


def _yaml(text: str, file: str) -> Document:
    """Read YAML from its events: the parser makes them without recursion, and nothing is constructed from a tag."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Yaml(file)
    try:
        for event in yaml.parse(text, Loader=loader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = visible(" ".join(part for part in (error.context, error.problem) if part))
        raise ConfigError(file, mark.line + 1 if mark else 0, "", f"not YAML: {_with_advice(problem)}") from None
    except yaml.YAMLError as error:
        raise ConfigError(file, 0, "", f"not YAML: {visible(str(error), 200)}") from None
    return Document({} if builder.root is None else builder.root, builder.lines)


def _with_advice(problem: str) -> str:
    """A problem that the YAML parser found, with what to do about it where people often have it."""
    advice = next((advice for sign, advice in _ADVICE if sign in problem), "")
    return f"{problem}{advice and f': {advice}'}"


def _plain(event: Any) -> bool:
    """Whether a scalar has no quotes. The parser in Python says ``None``, that in C an empty text."""
    return not event.style


class _Yaml:
    """Builds values from YAML events."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}
        self.counter = _Counter(file)
        self.stack: list[_Frame] = []
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.documents = 0
        self.root: Any = None

    def take(self, event: Any) -> None:
        import yaml

        line = event.start_mark.line + 1
        if isinstance(event, yaml.DocumentStartEvent):
            self.documents += 1
            if self.documents > 1:
                raise ConfigError(self.file, line, "", "a second document: a configuration is one")
        elif isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            path = self.place(line)
            self.refuse_tag(event, path, line)
            value: Any = {} if isinstance(event, yaml.MappingStartEvent) else []
            self.stack.append(_Frame(path, value, event.anchor, self.counter.values))
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            frame = self.stack.pop()
            self.finish(frame.value, frame.anchor, self.counter.values - frame.start)
        elif isinstance(event, yaml.AliasEvent):
            self.alias(event.anchor, line)
        elif isinstance(event, yaml.ScalarEvent):
            self.scalar(event, line)

    def place(self, line: int, number: int = 1) -> Path:
        """Where the next value goes; counts it."""
        frame = self.stack[-1] if self.stack else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            raise ConfigError(self.file, line, dotted(frame.path), "a key must be text")
        path = frame.child() if frame else ()
        self.counter.add(line, path, number)
        self.lines.setdefault(path, line)
        return path

    def finish(self, value: Any, anchor: str | None, size: int) -> None:
        if anchor is not None:
            self.anchors[anchor] = (value, size)
        if self.stack:
            self.stack[-1].put(value)
        else:
            self.root = value

    def alias(self, anchor: str | None, line: int) -> None:
        if anchor is None or anchor not in self.anchors:
            raise ConfigError(self.file, line, "", f"no value before this has the anchor {visible(str(anchor), 40)!r}")
        value, size = self.anchors[anchor]
        self.place(line, size + 1)
        self.finish(value, None, 0)

    def scalar(self, event: Any, line: int) -> None:
        frame = self.stack[-1] if self.stack else None
        if frame is not None and isinstance(frame.value, dict) and frame.key is None:
            self.key(frame, event, line)
            return
        path = self.place(line)
        self.refuse_tag(event, path, line)
        self.finish(self.resolve(event, path, line), event.anchor, 1)

    def key(self, frame: _Frame, event: Any, line: int) -> None:
        path = (*frame.path, event.value)
        self.refuse_tag(event, path, line)
        if not isinstance(self.resolve(event, path, line), str):
            raise ConfigError(self.file, line, dotted(path), "a key must be text: put it in quotes")
        if event.value == "<<" and _plain(event):
            raise ConfigError(self.file, line, dotted(frame.path), "merge keys are not read: write the entries out")
        if event.value in frame.value:
            raise ConfigError(self.file, line, dotted(path), "this key stands twice")
        self.counter.add(line, path)
        self.lines[path] = line
        frame.key = event.value

    def refuse_tag(self, event: Any, path: Path, line: int) -> None:
        if event.tag is not None and event.tag != "!":
            raise ConfigError(
                self.file, line, dotted(path), "a tag is not read: put a value that begins with ! in quotes"
            )

    def resolve(self, event: Any, path: Path, line: int) -> Any:
        """The value of a scalar: text, a decimal number, true, false or null."""
        text: str = event.value
        if not _plain(event) or event.tag == "!":
            return text
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        if text in ("", "~") or text.lower() == "null":
            return None
        if len(text) <= _LONGEST_NUMBER and (_INTEGER.fullmatch(text) or _NUMBER.fullmatch(text)):
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        if text.lower() in ("yes", "no", "on", "off"):
            # YAML 1.1 reads these as true and false, YAML 1.2 as text: nobody should have to know which this is.
            raise ConfigError(self.file, line, dotted(path), f"write {text!r} in quotes, or true or false")
        return text
