"""Translates clients' names of tools to those that the analysis knows, by the tables in ``data/``."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import lru_cache

from lockgate.core.errors import BadInputError
from lockgate.core.model import ToolCall
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_MCP = "mcp__"


@lru_cache(maxsize=2)
def table(client: str) -> Mapping[str, Any]:
    """The compiled table of a client: ``tools`` by their names."""
    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", f"{client}.json")
    with open(file, encoding="utf-8") as stream:
        loaded: Mapping[str, Any] = json.load(stream)
    return loaded


def translate(client: str, call: ToolCall) -> ToolCall:
    """A client's call in the words of the analysis.

    Parameters that are not renamed stay as they are. A tool that is not known is called ``CLIENT:NAME``, so that it is
    not taken for one of the same name; an MCP tool that is spelt ``mcp__SERVER__TOOL`` stays one.

    Raises:
        BadInputError: A parameter would be given twice: nobody knows which of them the client takes.
    """
    row = table(client)["tools"].get(call.tool)
    if row is None:
        return call if call.tool.startswith(_MCP) else call._replace(tool=f"{client}:{call.tool}")
    names = row.get("input", {})
    new_input: dict[str, Any] = {}
    for name, value in call.tool_input.items():
        new = names.get(name, name)
        if new in new_input:
            raise BadInputError(f"the call says {new} twice")
        new_input[new] = value
    words = row.get("words", "")
    if words in new_input:
        new_input[words] = _join_words(new_input[words], words)
    moved = call.tool_input.get(row.get("cwd", ""))
    cwd = os.path.normpath(os.path.join(call.cwd, moved)) if isinstance(moved, str) and moved else call.cwd
    return call._replace(tool=row["is"], tool_input=new_input, cwd=cwd)


def goes_on(client: str, tool: str, tool_input: Mapping[str, Any]) -> bool:
    """Whether a call goes on after its result, and its output comes without an event."""
    row = table(client)["tools"].get(tool) or {}
    name, _, wanted = row.get("background", "").partition("=")
    value = tool_input.get(name)
    return value == wanted if wanted else bool(value)


def _join_words(value: Any, name: str) -> Any:
    """A list of words as a command; ``apply_patch`` as the only text that a list of two holds."""
    if not isinstance(value, list) or not value or not all(isinstance(word, str) for word in value):
        return value
    if name == "patch":
        return value[-1]
    return " ".join(_quote(word) for word in value)


def _quote(word: str) -> str:
    plain = word and all(character.isalnum() or character in "-_./:=@%+," for character in word) and word.isascii()
    return word if plain else "'" + word.replace("'", "'\"'\"'") + "'"
