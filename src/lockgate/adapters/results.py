"""A tool's result as the clients beside Claude Code give it: a text, content blocks, or any JSON value."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.adapters import claude_output
from lockgate.events import Context, ToolFinished
from lockgate.model import ToolCall
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def finished(
    context: Context, call: ToolCall, result: Any, *, agent: str = "", background: bool = False
) -> ToolFinished:
    """A call that has come back.

    Args:
        context: The event's context.
        call: The call, in the words of the analysis.
        result: What the client says that the model reads.
        agent: The sub-agent that the call started.
        background: Whether the call goes on.
    """
    texts = claude_output.texts_of("", result)
    return ToolFinished(
        context,
        call,
        result,
        text="\n".join(text for _, text in texts),
        agent=agent,
        background=background,
        texts=texts,
        names=claude_output.names_of(result),
    )


def with_texts(result: Any, texts: Mapping[str, str]) -> Any:
    """The result in which some texts are others, by the paths of :func:`finished`."""
    return claude_output.with_texts("", result, texts)
