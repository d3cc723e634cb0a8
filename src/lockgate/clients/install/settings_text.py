"""Inserts the gate's entries into the text of Claude Code's settings, and removes exactly those."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from lockgate.clients.common.hook_command import is_own_command
from lockgate.core.errors import InstallError
from lockgate.system.documents import json_edit
from lockgate.system.documents.json_edit import JsonNode, Style

_Path = tuple[str, ...]


class FormerFile(NamedTuple):
    """The former state of a file, as far as its text with the entries does not tell."""

    created: tuple[str, ...] = ()
    """Keys that were not there, as paths joined with ``/``."""
    empty: Mapping[str, str] = {}
    """For objects and arrays that were there and empty: what stood between their brackets."""
    file: bool = False
    """Whether the file itself was not there."""
    folder: bool = False
    """Whether its folder was not there."""


def _node_at(root: JsonNode, path: _Path) -> JsonNode | None:
    node: JsonNode | None = root
    for key in path:
        if node is None:
            return None
        node = node.members.get(key)
    return node


def _is_own_entry(value: Any) -> bool:
    return isinstance(value, dict) and is_own_command(value.get("command"))


def _container(text: str, path: _Path, kind: type) -> JsonNode | None:
    node = _node_at(json_edit.parse(text), path)
    if node is not None and not isinstance(node.value, kind):
        what = "an object" if kind is dict else "an array"
        line = text.count("\n", 0, node.start) + 1
        raise InstallError(f"line {line}: {'.'.join(path) or 'the file'} must be {what}")
    return node


# ---------------------------------------------------------------- taking out
def take_out(text: str, record: FormerFile | None) -> str:
    """Remove every entry of the gate, and what was added to hold it.

    Args:
        text: The settings.
        record: What was written down when the entries were put in; ``None`` where that is lost, and what becomes empty
            is taken for added.

    Raises:
        InstallError: The text is not a settings file.
    """
    _container(text, (), dict)
    hooks = _container(text, ("hooks",), dict)
    before = text
    for event in list(hooks.members) if hooks else ():
        text = _take_out_event(text, ("hooks", event), record)
    if text != before:
        text = _drop_if_created(text, ("hooks",), record)
    return _take_out_statusline(text, record)


def _take_out_event(text: str, path: _Path, record: FormerFile | None) -> str:
    groups = _container(text, path, list)
    touched = False
    for number in reversed(range(len(groups.items) if groups else 0)):
        assert groups is not None
        if _is_own_entry(groups.items[number].value):  # Cursor's entries stand in no group
            touched = True
            text = json_edit.remove(text, groups, number, _empty(record, path))
            groups = _container(text, path, list)
            continue
        entries = groups.items[number].members.get("hooks")
        own = [index for index, node in enumerate(entries.items if entries else ()) if _is_own_entry(node.value)]
        if not own or entries is None:
            continue
        touched = True
        if len(own) == len(entries.items):
            text = json_edit.remove(text, groups, number, _empty(record, path))
        else:
            for index in reversed(own):
                text = json_edit.remove(text, _entries(text, path, number), index)
        groups = _container(text, path, list)
    return _drop_if_created(text, path, record) if touched else text


def _entries(text: str, path: _Path, number: int) -> JsonNode:
    groups = _container(text, path, list)
    assert groups is not None
    return groups.items[number].members["hooks"]


def _drop_if_created(text: str, path: _Path, record: FormerFile | None) -> str:
    root = json_edit.parse(text)
    node, owner = _node_at(root, path), _node_at(root, path[:-1])
    if node is None or owner is None or node.value or (record and "/".join(path) not in record.created):
        return text
    return json_edit.remove(text, owner, list(owner.members).index(path[-1]), _empty(record, path[:-1]))


def _empty(record: FormerFile | None, path: _Path) -> str:
    return record.empty.get("/".join(path), "") if record else ""


def _take_out_statusline(text: str, record: FormerFile | None) -> str:
    root = json_edit.parse(text)
    node = root.members.get("statusLine")
    if node is None or not is_own_statusline(node.value):
        return text
    return json_edit.remove(text, root, list(root.members).index("statusLine"), _empty(record, ()))


def is_own_statusline(value: Any) -> bool:
    """Whether a status line's entry was written by this program."""
    command = value.get("command") if isinstance(value, dict) else None
    return isinstance(command, str) and "lockgate/statusline.py' " in command


# ---------------------------------------------------------------- putting in
def put_in(
    text: str,
    entries: Mapping[str, Mapping[str, Any]],
    statusline: Mapping[str, Any] | None = None,
    *,
    grouped: bool = True,
) -> tuple[str, FormerFile]:
    """Add an entry for every event, each in a group of its own, behind what is there.

    Args:
        text: Settings without entries of the gate.
        entries: The hook entry of each event.
        statusline: The status line's entry; it is added only where there is no status line.
        grouped: Whether the client's entries stand in groups.

    Returns:
        The new text, and the record that :func:`take_out` needs.

    Raises:
        InstallError: The text is not a settings file.
    """
    created: list[str] = []
    empty: dict[str, str] = {}
    root = _container(text, (), dict)
    assert root is not None
    style = Style.of(text, root)
    text = _ensure(text, ("hooks",), {}, style, created, empty)
    for event, entry in entries.items():
        path = ("hooks", event)
        text = _ensure(text, path, [], style, created, empty)
        groups = _container(text, path, list)
        assert groups is not None
        if not groups.items and "/".join(path) not in created:
            empty["/".join(path)] = json_edit.inner(text, groups)
        text = json_edit.add_item(text, groups, {"hooks": [dict(entry)]} if grouped else dict(entry), style, 2)
    if statusline is not None and "statusLine" not in json_edit.parse(text).members:
        text = json_edit.add_member(text, json_edit.parse(text), "statusLine", dict(statusline), style, 0)
        created.append("statusLine")
    return text, FormerFile(tuple(created), empty)


def _ensure(text: str, path: _Path, value: Any, style: Style, created: list[str], empty: dict[str, str]) -> str:
    """Add an empty value at a path where there is none, and write down what that changes."""
    if _container(text, path, type(value)) is not None:
        return text
    owner = _container(text, path[:-1], dict)
    assert owner is not None
    above = "/".join(path[:-1])
    if not owner.members and above not in created:
        empty[above] = json_edit.inner(text, owner)
    created.append("/".join(path))
    return json_edit.add_member(text, owner, path[-1], value, style, len(path) - 1)
