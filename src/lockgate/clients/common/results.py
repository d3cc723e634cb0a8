"""Reads tool results of the clients beside Claude Code: a text, content blocks, or any JSON value."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.clients.common import result_texts
from lockgate.core.events import Context, ToolFinished
from lockgate.core.model import ToolCall
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_ENVELOPE = frozenset(
    {"_meta", "annotations", "content", "isError", "meta", "output", "result", "structuredContent", "type"}
)
"""Names of fields that protocols and clients give, and nobody who writes a result."""


def make_finished_event(
    context: Context, call: ToolCall, result: Any, *, agent: str = "", background: bool = False, whole: bool = True
) -> ToolFinished:
    """A call that has come back.

    Args:
        context: The event's context.
        call: The call, in the words of the analysis.
        result: What the client says that the model reads.
        agent: The sub-agent that the call started.
        background: Whether the call goes on.
        whole: Whether the client tells of pictures too. Where it does not, a tool that nobody knows and that has said
            nothing may have shown one.
    """
    texts = result_texts.texts_of("", result)
    return ToolFinished(
        context,
        call,
        result,
        text=all_text(call.tool, result, texts) or ("" if whole or _is_known(call.tool) else "[not told]"),
        agent=agent,
        background=background,
        texts=texts,
        names=result_texts.names_of(result),
        untold=not whole and call.tool != "Bash",
    )


def with_texts(result: Any, texts: Mapping[str, str]) -> Any:
    """The result in which some texts are others, by the paths of :func:`make_finished_event`."""
    return result_texts.with_texts("", result, texts)


def all_text(tool: str, result: Any, texts: Sequence[tuple[str, str]]) -> str:
    """All text of a result, with a line ``[name]`` for each part that is none, as a picture.

    It is empty only where the result says nothing at all.

    Args:
        tool: The tool, in the words of the analysis.
        result: As for :func:`make_finished_event`.
        texts: What :func:`lockgate.clients.common.result_texts.texts_of` gives for it.
    """
    lines = [text for _, text in texts]
    lines += (f"[{name}]" for name in result_texts.find_unread_fields("", result))
    return "\n".join(lines) or fields_text(tool, result)


def fields_text(tool: str, result: Any) -> str:
    """A placeholder for a result that has no text, but numbers or names of fields; empty where it has neither.

    A list of numbers can spell a text, and a name can be one. In results of known tools they are the client's own, as
    an exit code is: those count as empty.
    """
    return "[a record without a text]" if _has_number_or_name(result) and not _is_known(tool) else ""


def _is_known(tool: str) -> bool:
    from lockgate.analysis.tools import list_known_tools

    return tool == "Bash" or tool in list_known_tools()


def _has_number_or_name(result: Any) -> bool:
    """Whether there is a number, or a name that is not a protocol's, anywhere in a record."""
    todo = [result]
    while todo:
        item = todo.pop()
        if isinstance(item, Mapping):
            if not _ENVELOPE.issuperset(item):
                return True
            todo.extend(value for value in item.values() if not isinstance(value, bool))
        elif isinstance(item, list | tuple):
            todo.extend(item)
        elif item is not None and not isinstance(item, str):
            return True
    return False
