"""The monitor: one event in, one answer out.

A tool call is analysed (pure), then one transaction reads the subject's labels, decides, notes what the call's result
will give, and records the decision; only then is the answer given. Everything with I/O is handed in.
"""

from __future__ import annotations

from lockgate.events import (
    AgentStarted,
    AgentStopped,
    Answer,
    ConfigChanged,
    Event,
    InstructionsLoaded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolRefused,
    ToolRequested,
)
from lockgate.gate.parts import Guard, Parts

__all__ = ["Gate", "Guard", "Parts"]


class Gate:
    """The reference monitor."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def handle(self, event: Event) -> Answer:
        """Answer one event. Raises only :class:`lockgate.errors.LockgateError`; the caller then refuses."""
        # A hook answers one event: it imports what that one takes.
        match event:
            case ToolRequested():
                from lockgate.gate import calls

                return calls.requested(self._parts, event)
            case ToolFinished() | ToolFailed() | ToolRefused():
                return self._came_back(event)
            case PromptSubmitted():
                from lockgate.gate import exposure

                return exposure.prompted(self._parts, event)
            case InstructionsLoaded():
                from lockgate.gate import exposure

                return exposure.instructions_loaded(self._parts, event)
            case _:
                return self._lives(event)

    def _came_back(self, event: ToolFinished | ToolFailed | ToolRefused) -> Answer:
        from lockgate.gate import results

        match event:
            case ToolFinished():
                return results.finished(self._parts, event)
            case ToolFailed():
                return results.failed(self._parts, event)
            case ToolRefused():
                return results.refused(self._parts, event)

    def _lives(self, event: SessionStarted | SessionEnded | AgentStarted | AgentStopped | ConfigChanged) -> Answer:
        from lockgate.gate import lifetimes

        match event:
            case SessionStarted():
                return lifetimes.session_started(self._parts, event)
            case SessionEnded():
                return lifetimes.session_ended(self._parts, event)
            case AgentStarted():
                return lifetimes.agent_started(self._parts, event)
            case AgentStopped():
                return lifetimes.agent_stopped(self._parts, event)
            case ConfigChanged():
                return lifetimes.config_changed(self._parts, event)
