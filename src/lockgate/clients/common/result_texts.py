"""Reads the texts in a tool's result, and writes the same result with other texts.

Claude Code takes a changed result only in the shape of the tool's own record: anything else is dropped without a word,
and the model reads the original (observed with 2.1.197 and 2.1.329). So texts are replaced where they stand, and
nothing else is touched. Results of MCP tools come as a string or as content blocks, and go back as what they came as.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from lockgate.core.lazy import lazy_re
from lockgate.core.model import ARRAY, OBJECT
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_WRITERS = frozenset({"Edit", "MultiEdit", "NotebookEdit", "Write"})
_UNSHOWN = frozenset(
    {"content", "edits", "newString", "new_source", "oldString", "originalFile", "original_file", "structuredPatch"}
)
"""What a writer's record tells the person's screen: the model is told that the file has been changed."""
_OWN_WORDS = {"Agent": frozenset({"prompt"}), "Task": frozenset({"prompt"})}
"""Fields that repeat what the agent itself said."""
_PICTURES = frozenset({"image", "audio", "pdf"})
_BINARY = frozenset({"base64", "blob", "data", "image_data", "source"})
"""Fields of a picture, a sound or a file that hold its bytes."""
_NAMES = frozenset(
    {"type", "mode", "status", "role", "mimeType", "media_type", "agentType", "resolvedModel", "language"}
)
"""Fields that hold one of a few words of the client: with another one the whole record would be dropped."""
_BODIES = frozenset({"content", "result", "stdout", "text"})
"""Fields that the model is sure to be shown."""
_SHORTEST_NAME = 16
"""Characters from which on a field's name is looked at: those of the client's own records are shorter, or words."""
_WORD = lazy_re(r"[A-Za-z][A-Za-z_./+-]{0,31}")
_WORDS = lazy_re(r"[A-Za-z_-]+")
_PLAIN_KEY = lazy_re(r"[A-Za-z_][A-Za-z0-9_-]*")

_SIMPLE = (str, int, float)
"""Texts, numbers, true and false: to ask of these too whether they are of an abstract class would take far longer."""

Place = tuple[str | int, ...]


def texts_of(tool: str, result: Any) -> list[tuple[str, str]]:
    """Each text of a result that the model may read, with the path to it. No two have the same path.

    Args:
        tool: The tool's name in the client's vocabulary.
        result: The client's record: a string, an object, or a list of content blocks.
    """
    return [(_path(place), text) for place, text in _texts(tool, result)]


def find_unread_fields(tool: str, result: Any) -> list[str]:
    """The names of fields that hold a picture, a sound or a file, which no text tells and the model is shown.

    Args:
        tool: As for :func:`texts_of`.
        result: The client's record.
    """
    found: dict[str, None] = {}
    todo = [result]
    while todo:
        item = todo.pop()
        if isinstance(item, OBJECT):
            found |= {key: None for key, value in item.items() if key in _BINARY and value and _is_bytes(key, item)}
            todo.extend(item.values())
        elif isinstance(item, ARRAY):
            todo.extend(item)
    return list(found)


def names_of(result: Any) -> str:
    """The names of fields that are no words, one a line.

    They are only looked at: a record with other names would not be of the tool's shape.
    """
    names: dict[str, None] = {}
    todo = [result]
    while todo:
        item = todo.pop()
        if item is None or isinstance(item, _SIMPLE):
            continue
        if isinstance(item, OBJECT):
            for name in item:
                if len(name) >= _SHORTEST_NAME and not _WORDS.fullmatch(name):
                    names[name] = None
            todo.extend(item.values())
        elif isinstance(item, ARRAY):
            todo.extend(item)
    return "\n".join(names)


def with_texts(tool: str, result: Any, texts: Mapping[str, str]) -> Any:
    """A record in which some texts are others; the rest is the very same.

    Args:
        tool: As for :func:`texts_of`.
        result: The record.
        texts: The new texts, by the paths that :func:`texts_of` gave.
    """
    tree: dict[str | int, Any] = {}
    for place, _ in _texts(tool, result):
        path = _path(place)
        if path in texts:
            _plant(tree, ("", *place), texts[path])
    return _with_lines_counted(tool, _grown(result, tree[""])) if tree else result


def withheld(tool: str, result: Any, notice: str) -> Any:
    """A record in which one sentence stands in the place of all texts; ``None`` where there is no text."""
    paths = {_path(place): place for place, _ in _texts(tool, result)}
    if not paths:
        return None
    shown = next((path for path, place in paths.items() if place and place[-1] in _BODIES), next(iter(paths)))
    return with_texts(tool, result, {**dict.fromkeys(paths, ""), shown: notice})


def _texts(tool: str, result: Any) -> Iterator[tuple[Place, str]]:
    """Every text, depth first, without recursion: a result may be nested as deep as it likes."""
    todo: list[tuple[Place, Any]] = [((), result)]
    while todo:
        place, item = todo.pop()
        if isinstance(item, str):
            if item:
                yield place, item
        elif isinstance(item, ARRAY):
            todo.extend(((*place, index), item[index]) for index in range(len(item) - 1, -1, -1))
        elif item is not None and not isinstance(item, _SIMPLE) and isinstance(item, OBJECT):
            inner = [((*place, key), value) for key, value in item.items() if not _is_unread(tool, place, key, item)]
            todo.extend(reversed(inner))


def _is_unread(tool: str, place: Place, key: str, owner: Mapping[str, Any]) -> bool:
    """Whether a member is nothing that the model reads as text."""
    value = owner[key]
    if not place and key in _OWN_WORDS.get(tool, ()):
        return True
    if not place and tool in _WRITERS and key in _UNSHOWN and owner.get("userModified") is not True:
        return True
    if tool == "Bash" and key == "stdout" and owner.get("isImage") is True:
        return True
    if key in _NAMES and isinstance(value, str) and _WORD.fullmatch(value):
        return True
    return key in _BINARY and _is_bytes(key, owner)


def _is_bytes(key: str, owner: Mapping[str, Any]) -> bool:
    return key in {"base64", "blob", "image_data"} or owner.get("type") in _PICTURES or owner.get("type") == "base64"


def _path(place: Place) -> str:
    """``file.content``, ``[0].text``, ``rows["a key"]``; ``result`` for a result that is nothing but a text."""
    said = ""
    for step in place:
        if isinstance(step, int):
            said += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            said += f".{step}" if said else step
        else:
            said += f"[{json.dumps(step)}]"
    return said or "result"


def _plant(tree: dict[str | int, Any], place: Place, text: str) -> None:
    for step in place[:-1]:
        tree = tree.setdefault(step, {})
    tree[place[-1]] = text


def _grown(value: Any, change: str | dict[str | int, Any]) -> Any:
    """A copy of a JSON value with new texts; what is not on the way to one is shared. Without recursion, as above."""
    if isinstance(change, str):
        return change
    whole = _copy(value)
    todo = [(whole, change)]
    while todo:
        copy, changes = todo.pop()
        for step, inner in changes.items():
            if isinstance(inner, str):
                copy[step] = inner
            else:
                copy[step] = _copy(copy[step])
                todo.append((copy[step], inner))
    return whole


def _copy(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else list(value)


def _with_lines_counted(tool: str, result: Any) -> Any:
    """The record of a file that was read says how many lines are shown; a value may have gone over several."""
    file = result.get("file") if tool == "Read" and isinstance(result, OBJECT) else None
    if not isinstance(file, OBJECT) or not isinstance(file.get("content"), str) or "numLines" not in file:
        return result
    return {**result, "file": {**file, "numLines": file["content"].count("\n") + 1}}


# ---------------------------------------------------------------- results that are too long to be shown
def find_kept_file(tool: str, result: Any) -> tuple[str, str]:
    """The file in which the client keeps the whole of a cut result, and the path of the text that shows its beginning.

    Only ``Bash`` writes one before the hook is run: those of other tools are written from what the hook has left.
    """
    kept = result.get("persistedOutputPath") if tool == "Bash" and isinstance(result, OBJECT) else None
    return (kept, "stdout") if isinstance(kept, str) else ("", "")
