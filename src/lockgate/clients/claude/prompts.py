"""Who wrote what Claude Code submits as the user's turn. The marks are those of version 2.1.329."""

from __future__ import annotations

from lockgate.core.record import Record

_INSIDE = ("<task-notification", "<agent-message")
"""How text begins that the client itself or an agent of this session submits: its labels come by other ways."""

_OUTSIDE = (
    *("<channel ", "<cross-session-message", "<teammate-message", "<slack-ping", "<slack-tag-message"),
    *("<mcp-resource-update", "<mcp-polling-update", "<remote-review", "<fetched-web-content", "<coordinator-relay"),
)
"""How text begins that comes from elsewhere. What another session has read, nobody knows here."""

_OUTSIDE_SOURCES = frozenset({"poll_event"})
_HUMAN_SOURCES = frozenset({"", "user", "sdk"})
"""Who submitted a prompt, where the client says it; ``sdk`` is the text of ``claude -p`` and of an SDK's caller."""


class Author(Record):
    """Who wrote a prompt."""

    human: bool
    """Whether a person did."""
    outside: bool
    """Whether it comes from outside of the session."""


def author(prompt: str, source: str) -> Author:
    """Tell who wrote a prompt. A mark counts wherever it stands: queued messages are submitted as one.

    Args:
        prompt: Its text.
        source: Who submitted it, empty where the client does not say so.
    """
    outside = source in _OUTSIDE_SOURCES or any(mark in prompt for mark in _OUTSIDE)
    inside = any(mark in prompt for mark in _INSIDE)
    return Author(source in _HUMAN_SOURCES and not outside and not inside, outside)
