"""Reads what a tool's result says to the model, in the shapes of Claude Code's own tools."""

from __future__ import annotations

from collections.abc import Iterator

from lockgate.core.model import ARRAY, OBJECT, SPAWNING_TOOLS
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_SHELL_FIELDS = ("stdout", "stderr")
_WRITERS = frozenset({"Edit", "MultiEdit", "Write", "NotebookEdit"})
_UNSHOWN = frozenset({"originalFile", "original_file"})
"""Fields of a writer's record that the model is not shown."""
_SEARCHES = frozenset({"content", "files_with_matches", "count"})
"""What a search may show (``output_mode``). Source: the schema of Claude Code 2.1.329."""
_COUNTS = frozenset({"content", "numFiles", "numLines", "numMatches", "totalFiles", "totalLines"})
"""Fields of a search's record that say what was found."""


def result_text(tool: str, tool_response: Any) -> str:
    """All text of a result, as far as the model reads it, pieces joined with line breaks.

    An unknown shape gives every string value in it; where an unknown tool gives none, what else it says.

    Args:
        tool: The tool's name in the client's vocabulary.
        tool_response: The client's record of the result: a string, an object, or a list of content blocks.
    """
    if isinstance(tool_response, str):
        return tool_response
    if isinstance(tool_response, OBJECT):
        if tool == "Bash" and all(isinstance(tool_response.get(field), str) for field in _SHELL_FIELDS):
            return "\n".join(text for field in _SHELL_FIELDS if (text := tool_response[field]))
        if tool in SPAWNING_TOOLS and isinstance(tool_response.get("content"), list):
            return "\n".join(_strings(tool_response["content"]))
        if tool == "Read" and isinstance(tool_response.get("file"), OBJECT):
            content = tool_response["file"].get("content")
            return content if isinstance(content, str) else "\n".join(_strings(tool_response["file"]))
        if tool == "Grep" and _has_found_nothing(tool_response):
            return ""
        if tool in _WRITERS:
            return "\n".join(_strings({key: value for key, value in tool_response.items() if key not in _UNSHOWN}))
    text = "\n".join(_strings(tool_response))
    if text or not tool_response:
        return text
    from lockgate.clients.common.results import fields_text

    return fields_text(tool, tool_response)


def _has_found_nothing(record: Mapping[str, Any]) -> bool:
    """Whether a search has ended and no line of any file matched.

    With an offset or a time-out it may only show none. Who asks again and again, and learns from what is not there,
    has a hit sooner or later: for each bit that is learnt so, the chance of none halves.
    """
    if record.get("mode") not in _SEARCHES or record.get("filenames") != []:
        return False
    others = {name: value for name, value in record.items() if name not in ("mode", "filenames", "appliedLimit")}
    return all(name in _COUNTS and not value for name, value in others.items())


def _strings(value: Any) -> Iterator[str]:
    """Every string in a JSON value, depth first, without recursion: a result may be nested as deep as it likes."""
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, str):
            if item:
                yield item
        elif isinstance(item, OBJECT):
            if item.get("type") == "text" and isinstance(item.get("text"), str):
                todo.append(item["text"])
                continue
            todo.extend(reversed(list(item.values())))
        elif isinstance(item, ARRAY):
            todo.extend(reversed(item))


def find_spawned_agent(tool: str, tool_response: Any) -> tuple[str, bool]:
    """For a call that started a sub-agent, or a task: the agent's id, and whether it goes on in the background.

    Returns:
        ``("", False)`` for every other call.
    """
    if not isinstance(tool_response, OBJECT):
        return "", False
    if tool not in SPAWNING_TOOLS:
        return "", bool(tool_response.get("backgroundTaskId"))
    agent = tool_response.get("agentId")
    background = tool_response.get("isAsync") is True or tool_response.get("status") == "async_launched"
    return (agent if isinstance(agent, str) else ""), background
