"""The monitor: one event in, one answer out.

A tool call is analysed (pure), then one transaction reads the subject's labels, decides, notes what the call's result
will give, and records the decision; only then is the answer given. Everything with I/O is handed in.
"""

from __future__ import annotations

from lockgate.core.events import (
    AgentStarted,
    AgentStopped,
    Answer,
    CallsAnswered,
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
from lockgate.core.model import LabelState, Verdict
from lockgate.core.questions import Objection
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.parts import Consultants, Guard, Parts

if TYPE_CHECKING:
    from typing import Any

    from lockgate.core.events import Context
    from lockgate.core.model import ToolCall
    from lockgate.core.questions import Deliberation
    from lockgate.gate.monitor.masking import Mask
    from lockgate.patterns.model import GuardrailResult

    Lifetime = SessionStarted | SessionEnded | AgentStarted | AgentStopped | ConfigChanged
    Noted = ToolFailed | ToolRefused | CallsAnswered | PromptSubmitted | InstructionsLoaded | Lifetime

__all__ = [
    "Consultants",
    "Guard",
    "Monitor",
    "Parts",
    "approvals",
    "authors",
    "contradictions",
    "delegates",
    "host",
    "judge",
    "messages",
    "monitor",
    "objections",
    "parts",
    "session",
]


class Monitor:
    """The reference monitor."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    @property
    def parts(self) -> Parts:
        """What it is made of."""
        return self._parts

    def record_forged_answer(self, context: Context, process: str) -> None:
        """Record that a process without the key has answered in the place of the gate, and which one was ended."""
        from lockgate.gate.session.forgeries import record_forged_answer

        store = self._parts.store
        with store.transaction() as tx:
            record_forged_answer(tx, context, process, store.clock())

    def handle(self, event: Event) -> Answer:
        """Answer one event, and wait for whoever is asked about it.

        Raises only :class:`lockgate.core.errors.LockgateError`; the caller then refuses.
        """
        deliberation = self.deliberate(event)
        said: Any = None
        try:
            while True:
                said = self._parts.consultants.ask(deliberation.send(said))
        except StopIteration as end:
            answer: Answer = end.value
            return answer

    def deliberate(self, event: Event) -> Deliberation:
        """Answer one event; whom it has to ask is the caller's to ask: each yield is a question.

        Raises only :class:`lockgate.core.errors.LockgateError`; the caller then refuses.
        """
        # By their whole names: docs/architecture.md, "The hot path".
        if isinstance(event, ToolRequested):
            import lockgate.gate.monitor.calls as calls

            return (yield from calls.handle_request(self._parts, event))
        if isinstance(event, ToolFinished):
            import lockgate.gate.monitor.results as results

            return (yield from results.handle_result(self._parts, event))
        return self._note(event)

    def note_reported(self, event: ToolRequested) -> bool:
        """Note a call that a container runs already; whether the host sees it as the container did."""
        from lockgate.gate.monitor import reported_calls

        return reported_calls.note(self._parts, event)

    @staticmethod
    def find_in_call(guard: Guard, context: Context, call: ToolCall, exact: str) -> tuple[GuardrailResult, Mask]:
        """What the pattern library says to a call, given as it is and as JSON, and what hides that in a text.

        It is what a request to run the call is decided on; nothing is decided or recorded here.
        """
        import lockgate.gate.monitor.calls as calls

        return calls.find_matches(guard, context, call, exact)

    @staticmethod
    def objections(result: GuardrailResult) -> list[Objection]:
        """What the pattern library has against a call, whatever the labels are."""
        from lockgate.gate.findings import reasons_of

        reasons = () if result.is_empty else reasons_of(result, LabelState.CLEAN)
        return [Objection(r.effect.rule, r.effect.because, r.verdict) for r in reasons if r.verdict > Verdict.ALLOW]

    def _note(self, event: Noted) -> Answer:
        # A hook answers one event: it imports what that one takes.
        match event:
            case ToolFailed():
                from lockgate.gate.monitor import results

                return results.handle_failure(self._parts, event)
            case ToolRefused():
                from lockgate.gate.monitor import results

                return results.handle_refusal(self._parts, event)
            case CallsAnswered():
                from lockgate.gate.monitor import dialog

                return dialog.settle_all(self._parts, event.context)
            case PromptSubmitted():
                from lockgate.gate.monitor import context_text

                return context_text.handle_prompt(self._parts, event)
            case InstructionsLoaded():
                from lockgate.gate.monitor import context_text

                return context_text.instructions_loaded(self._parts, event)
            case _:
                return self._lives(event)

    def _lives(self, event: Lifetime) -> Answer:
        from lockgate.gate.monitor import lifetimes

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
