"""Parses YAML into plain values with their lines: see ``reader.py``."""

from __future__ import annotations

from lockgate.core.display_text import visible
from lockgate.core.errors import ConfigError
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING
from lockgate.system.documents.values import LONGEST_NUMBER, NUMBER, Counter, Document, Path, format_path

if TYPE_CHECKING:
    from typing import Any

_INTEGER = lazy_re(r"[-+]?[0-9]+")
_ADVICE = (
    ("unknown escape", "put regular expressions in single quotes, or write each backslash twice"),
    ("a tag", "put a value that begins with ! in quotes"),
    ("cannot start any token", "indent with spaces, not with tabs; put a value that begins with @, % or ` in quotes"),
)
"""What people do wrong, by a part of what both parsers of PyYAML say."""


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


def read_yaml(text: str, file: str) -> Document:
    """Read YAML from its events: the parser makes them without recursion, and nothing is constructed from a tag."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    builder = _Builder(file)
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


def _is_plain(event: Any) -> bool:
    """Whether a scalar has no quotes. The parser in Python says ``None``, that in C an empty text."""
    return not event.style


class _Builder:
    """Builds values from YAML events."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.lines: dict[Path, int] = {}
        self.counter = Counter(file)
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
            raise ConfigError(self.file, line, format_path(frame.path), "a key must be text")
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
            raise ConfigError(self.file, line, format_path(path), "a key must be text: put it in quotes")
        if event.value == "<<" and _is_plain(event):
            raise ConfigError(
                self.file, line, format_path(frame.path), "merge keys are not read: write the entries out"
            )
        if event.value in frame.value:
            raise ConfigError(self.file, line, format_path(path), "this key stands twice")
        self.counter.add(line, path)
        self.lines[path] = line
        frame.key = event.value

    def refuse_tag(self, event: Any, path: Path, line: int) -> None:
        if event.tag is not None and event.tag != "!":
            raise ConfigError(
                self.file, line, format_path(path), "a tag is not read: put a value that begins with ! in quotes"
            )

    def resolve(self, event: Any, path: Path, line: int) -> Any:
        """The value of a scalar: text, a decimal number, true, false or null."""
        text: str = event.value
        if not _is_plain(event) or event.tag == "!":
            return text
        if text.lower() in ("true", "false"):
            return text.lower() == "true"
        if text in ("", "~") or text.lower() == "null":
            return None
        if len(text) <= LONGEST_NUMBER and (_INTEGER.fullmatch(text) or NUMBER.fullmatch(text)):
            return int(text) if _INTEGER.fullmatch(text) else float(text)
        if text.lower() in ("yes", "no", "on", "off"):
            # YAML 1.1 reads these as true and false, YAML 1.2 as text: nobody should have to know which this is.
            raise ConfigError(self.file, line, format_path(path), f"write {text!r} in quotes, or true or false")
        return text
