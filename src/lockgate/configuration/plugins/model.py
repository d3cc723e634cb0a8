"""The records that plugins receive and return."""

from __future__ import annotations

from enum import StrEnum

from lockgate.core.record import Record


class HookEvent(StrEnum):
    """A moment at which plugins are asked. Its value is the name of the plugin's function."""

    BEFORE_TOOL_USE = "before_tool_use"
    AFTER_TOOL_USE = "after_tool_use"


BEFORE_TOOL_USE = HookEvent.BEFORE_TOOL_USE


class HookDecision(Record):
    """A plugin's answer about a call or a result. An allow says nothing: a plugin can only tighten."""

    allowed: bool = True
    reason: str | None = None
    """One sentence for agent and person."""
    decision: str = ""
    """``deny`` or ``ask``, where that says more than ``allowed``. Of a result, ``ask`` withholds it too."""


class HookContext(Record):
    """The session and the agent that make the call."""

    client: str
    """The agent client: ``claude-code``."""
    session: str
    agent: str
    """For a sub-agent, its id; empty for the main agent."""
    cwd: str
    """The working folder of the call; empty where it is not known."""
    workspace: str
    """The project's root folder; empty where it is not known."""
