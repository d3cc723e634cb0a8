"""Removes credentials from text before it is recorded.

The records must show what a call did, and must not become a second place where passwords lie. So each key that has
a known format, and each value whose name says that it is a secret, is replaced by ``[redacted:TYPE]``; contents of
files become their size and hash.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache, lru_cache, partial

from lockgate.core.model import ARRAY, OBJECT
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.core.version import resource_table
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from typing import Any

_COMMAND_LIMIT = 4000
"""Characters of a command, an address or a prompt that are recorded."""
_TEXT_LIMIT = 1000
_DEPTH = 6
_ITEMS = 50
_REMEMBERED, _REMEMBERED_LENGTH = 2000, 120
_HARMLESS: set[str] = set()
"""Short texts that stay as they are: names of parameters and our own reasons come again and again."""
_LONGEST_NAME = 100
_SOME_VALUE = "Qw7Zx9Kp2Lm4"
_RARE = "=_:qzjxkvwygfb-.phmucdlsnroitae"
"""Characters, the rarest in commands and paths first. What is not among them is rarer still."""
_SCAN_LIMIT = 200_000
"""Characters of one text that are scanned; what lies behind is not recorded at all."""

_CONTENTS = frozenset({"content", "new_string", "old_string", "new_source", "file_text", "new_str", "old_str", "patch"})
"""Parameters that hold what a file says: their size and hash identify them well enough."""


class _Pattern(Record):
    name: str
    has: tuple[str, ...]
    text: str


def redact(text: str) -> str:
    """A text without credentials. Idempotent; the cost is linear in the length of the text."""
    if len(text) > _SCAN_LIMIT:
        text = f"{text[:_SCAN_LIMIT]} [... {len(text) - _SCAN_LIMIT} more ...]"
    if text in _HARMLESS:
        return text
    lower, whole = text.lower(), text
    due = {number for rare, marks in _marks() if rare in lower for mark, number in marks if mark in lower}
    for number in sorted(due):
        pattern = _patterns()[number]
        text = _compile(pattern.text).sub(partial(_mark, pattern.name), text)
    if text == whole and len(text) <= _REMEMBERED_LENGTH:
        if len(_HARMLESS) >= _REMEMBERED:
            _HARMLESS.clear()
        _HARMLESS.add(text)
    return text


def redact_input(tool: str, tool_input: Mapping[str, Any]) -> dict[str, Any]:
    """A tool's input as it is recorded: redacted and cut, contents of files as ``{"characters", "sha256"}``.

    NaN and infinities, which JSON has no text for, become text.

    Args:
        tool: The tool's name. MCP tools have contents of their own kind: only what their values look like, and what
            their names say, is known. Empty for facts of our own, whose names say nothing of secrets.
        tool_input: What the client sent; any JSON.
    """
    known = not tool.startswith("mcp__")
    recorded = {}
    for name, value in list(tool_input.items())[:_ITEMS]:
        shown, contents, mark = _describe_name(name)
        recorded[shown] = _value(value, 1, contents and known, mark if tool else None)
    return recorded


def _describe_name(name: object) -> tuple[str, bool, str]:
    """Of a parameter: what is recorded of its name, whether it holds what a file says, and the mark of its value."""
    if type(name) is str and len(name) <= _LONGEST_NAME:
        return _describe_short_name(name)  # nearly always: few tools have many names
    text = str(name)
    contents = isinstance(name, str) and name in _CONTENTS
    return redact(text)[:_LONGEST_NAME], contents, _secret_mark(text[:_LONGEST_NAME])


@lru_cache(maxsize=500)
def _describe_short_name(name: str) -> tuple[str, bool, str]:
    return redact(name)[:_LONGEST_NAME], name in _CONTENTS, _secret_mark(name)


def _secret_mark(name: str) -> str:
    """What is recorded for a text under this name: a mark where it says that the text is a secret, else empty."""
    said = redact(f"{name}={_SOME_VALUE}")
    return "" if said.endswith(_SOME_VALUE) else said[said.rfind("[redacted:") :]


def _value(value: Any, depth: int, contents: bool, mark: str | None) -> Any:
    """A value as it is recorded; ``mark`` is its name's, ``None`` where names say nothing."""
    if isinstance(value, str):
        if mark and value:
            return mark
        if contents:
            return _fingerprint(value)
        return _cut(redact(value), _COMMAND_LIMIT if depth == 1 else _TEXT_LIMIT)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, int):
        return value
    if depth >= _DEPTH:
        return f"[... {type(value).__name__} ...]"
    if isinstance(value, ARRAY):
        shown = [_value(item, depth + 1, contents, mark) for item in value[:_ITEMS]]
        return shown if len(value) <= _ITEMS else [*shown, f"[... {len(value) - _ITEMS} more ...]"]
    if isinstance(value, OBJECT):
        recorded = {}
        for name, item in list(value.items())[:_ITEMS]:
            inner, its_contents, its_mark = _describe_name(name)
            recorded[inner] = _value(item, depth + 1, its_contents, None if mark is None else its_mark)
        return recorded
    return f"[{type(value).__name__}]"


def _fingerprint(text: str) -> dict[str, Any]:
    return {"characters": len(text), "sha256": sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} [... {len(text) - limit} more ...]"


def _mark(name: str, match: re.Match[str]) -> str:
    groups = match.groupdict()
    secret = next((group for group in groups if groups[group] is not None), None)
    if secret is None:
        return f"[redacted:{name}]"
    start, end = (position - match.start() for position in match.span(secret))
    whole = match.group()
    inside = whole[start:end]
    quote = inside[0] if inside[:1] in {'"', "'"} and inside[-1:] == inside[:1] else ""
    if "[redacted:" in inside:
        return whole
    return f"{whole[:start]}{quote}[redacted:{name}]{quote}{whole[end:]}"


@lru_cache(maxsize=1)
def _patterns() -> tuple[_Pattern, ...]:
    return tuple(_Pattern(row["name"], tuple(row["has"]), row["pattern"]) for row in resource_table("redaction"))


@lru_cache(maxsize=1)
def _marks() -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """The marks, each with the number of its pattern, by a character: most texts lack most of these."""
    by_rarest: dict[str, list[tuple[str, int]]] = {}
    for number, pattern in enumerate(_patterns()):
        for mark in pattern.has:
            by_rarest.setdefault(min(mark, key=_RARE.find), []).append((mark, number))
    return tuple((rare, tuple(marks)) for rare, marks in by_rarest.items())


@cache
def _compile(pattern: str) -> re.Pattern[str]:
    # Compiled when a text first needs it: most hooks need none.
    return re.compile(pattern)
