"""Edits JSON as text, so that everything in a person's file that is not ours stays as it is.

A change is a splice of the text. Adding a member or an item puts the new text directly behind the one before it;
removing it takes exactly that away again, so one undoes the other byte for byte, whatever the file's indentation, line
ends and order of keys. Only what stood between the brackets of an empty value must be remembered by the caller.
"""

from __future__ import annotations

import json

from lockgate.core.errors import InstallError
from lockgate.core.lazy import lazy_re
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

_SPACE = lazy_re(r"[ \t\n\r]*")
_SCALAR = lazy_re(r"true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_MAX_DEPTH = 200
_DECODER = json.JSONDecoder()


class JsonNode(Record):
    """A value in a text: where it stands, what it is, and the values in it."""

    start: int
    end: int
    value: Any
    members: dict[str, JsonNode]
    """For an object: its members by key, in order. ``key_starts`` says where each one's key begins."""
    items: list[JsonNode]
    """For an array: its items, in order."""
    key_starts: dict[str, int]


def parse(text: str) -> JsonNode:
    """Read a whole JSON text.

    Raises:
        InstallError: It is not JSON, says a key twice in one object, or is nested too deep. The message has the line.
    """
    start = 1 if text.startswith("\ufeff") else 0
    reader = _EditReader(text)
    node = reader.value(reader.skip(start), 0)
    if reader.skip(node.end) != len(text):
        raise reader.error(node.end, "text after the end")
    return node


class _EditReader:
    def __init__(self, text: str) -> None:
        self.text = text

    def error(self, at: int, problem: str) -> InstallError:
        line = self.text.count("\n", 0, at) + 1
        return InstallError(f"line {line}: {problem}")

    def skip(self, at: int) -> int:
        match = _SPACE.match(self.text, at)
        return match.end() if match else at

    def value(self, at: int, depth: int) -> JsonNode:
        if depth > _MAX_DEPTH:
            raise self.error(at, "nested too deep")
        character = self.text[at : at + 1]
        if character == "{":
            return self.object(at, depth)
        if character == "[":
            return self.array(at, depth)
        if character == '"':
            value, end = self.string(at)
            return JsonNode(at, end, value, {}, [], {})
        match = _SCALAR.match(self.text, at)
        if not match:
            raise self.error(at, "not JSON")
        return JsonNode(at, match.end(), json.loads(match.group()), {}, [], {})

    def string(self, at: int) -> tuple[str, int]:
        if self.text[at : at + 1] != '"':
            raise self.error(at, "a quoted key is expected")
        try:
            value, end = _DECODER.raw_decode(self.text, at)
        except ValueError as problem:
            raise self.error(at, f"not a JSON string ({problem})") from None
        return str(value), end

    def object(self, start: int, depth: int) -> JsonNode:
        members: dict[str, JsonNode] = {}
        keys: dict[str, int] = {}
        at = self.skip(start + 1)
        while self.text[at : at + 1] != "}" or members:
            key, end = self.string(at)
            if key in members:
                raise self.error(at, f"the key {key!r} stands there twice")
            keys[key] = at
            at = self.skip(end)
            if self.text[at : at + 1] != ":":
                raise self.error(at, "a colon is expected")
            members[key] = node = self.value(self.skip(at + 1), depth + 1)
            at = self.skip(node.end)
            if self.text[at : at + 1] == "}":
                break
            at = self.comma(at)
        value = {key: node.value for key, node in members.items()}
        return JsonNode(start, at + 1, value, members, [], keys)

    def array(self, start: int, depth: int) -> JsonNode:
        items: list[JsonNode] = []
        at = self.skip(start + 1)
        while self.text[at : at + 1] != "]" or items:
            items.append(self.value(at, depth + 1))
            at = self.skip(items[-1].end)
            if self.text[at : at + 1] == "]":
                break
            at = self.comma(at)
        return JsonNode(start, at + 1, [node.value for node in items], {}, items, {})

    def comma(self, at: int) -> int:
        if self.text[at : at + 1] != ",":
            raise self.error(at, "a comma is expected")
        return self.skip(at + 1)


class Style(Record):
    """The layout of a file: ``indent`` is one step, empty where everything stands on one line."""

    indent: str
    newline: str

    @classmethod
    def of(cls, text: str, root: JsonNode) -> Style:
        """Take the style of an object from its first member."""
        newline = "\r\n" if "\r\n" in text else "\n"
        if not root.key_starts:
            return cls("  ", newline)
        first = next(iter(root.key_starts.values()))
        before = text[root.start + 1 : first]
        if "\n" not in before:
            return cls("", newline)
        return cls(before.rpartition("\n")[2] or "  ", newline)

    def dump(self, value: Any, depth: int) -> str:
        """Write a value that stands ``depth`` steps deep."""
        if not self.indent:
            return json.dumps(value, ensure_ascii=False)
        lines = json.dumps(value, ensure_ascii=False, indent=self.indent).split("\n")
        return (self.newline + self.indent * depth).join(lines)

    def separator(self, depth: int) -> str:
        """What stands between a comma, or an opening bracket, and a value ``depth`` steps deep."""
        return self.newline + self.indent * depth if self.indent else ""


def add_member(text: str, owner: JsonNode, key: str, value: Any, style: Style, depth: int) -> str:
    """Add a member as the last one of an object that stands ``depth`` steps deep."""
    body = f"{json.dumps(key)}: {style.dump(value, depth + 1)}"
    return _add(text, owner, list(owner.members.values()), body, style, depth)


def add_item(text: str, owner: JsonNode, value: Any, style: Style, depth: int) -> str:
    """Add an item as the last one of an array that stands ``depth`` steps deep."""
    return _add(text, owner, owner.items, style.dump(value, depth + 1), style, depth)


def _add(text: str, owner: JsonNode, inside: list[JsonNode], body: str, style: Style, depth: int) -> str:
    gap = style.separator(depth + 1)
    if inside:
        at = inside[-1].end
        return text[:at] + "," + (gap or " ") + body + text[at:]
    return text[: owner.start + 1] + gap + body + style.separator(depth) + text[owner.end - 1 :]


def inner(text: str, owner: JsonNode) -> str:
    """The text between the brackets of an object or array."""
    return text[owner.start + 1 : owner.end - 1]


def remove(text: str, owner: JsonNode, index: int, empty: str = "") -> str:
    """Remove the member or item with this index, with the comma and the space that came with it.

    Args:
        text: The text that ``owner`` was read from.
        owner: An object or array.
        index: Which one of its members or items, in order.
        empty: What to leave between the brackets where it was the only one.
    """
    starts = list(owner.key_starts.values()) or [node.start for node in owner.items]
    inside = list(owner.members.values()) or owner.items
    if index:
        return text[: inside[index - 1].end] + text[inside[index].end :]
    if len(inside) > 1:
        return text[: starts[0]] + text[starts[1] :]
    return text[: owner.start + 1] + empty + text[owner.end - 1 :]
