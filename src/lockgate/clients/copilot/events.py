"""GitHub Copilot CLI's dialect: translates hook payloads to events, and answers to what it reads.

Seen with version 1.0.102. Its own events (``preToolUse``) are used, not the ones with Claude Code's names: only they
say which sub-agent calls. A payload does not say its event, so the command line does. Calls have no ids.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

from lockgate.clients.adapter import ClientAdapter, HookOutput, failure, new_text, refusal_text
from lockgate.clients.common import tool_names, transcripts
from lockgate.clients.common.payload import (
    identifier,
    optional,
    prompt_submitted,
    quote_text,
    require_object,
    session_ended,
    text,
)
from lockgate.core.errors import BadInputError
from lockgate.core.events import (
    AgentStarted,
    AgentStopped,
    Answer,
    Context,
    Event,
    SessionStarted,
    ToolFailed,
    ToolRequested,
)
from lockgate.core.model import Subject, ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from lockgate.clients.common.hook_command import HookLaunch

CLIENT = "copilot-cli"
EVENTS = (
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "userPromptSubmitted",
    "sessionStart",
    "sessionEnd",
    "subagentStart",
    "subagentStop",
)
"""The events that the gate is registered for."""
_BEGINNINGS = {"new": "startup"}


def _transcript(session: str, environ: Mapping[str, str]) -> str:
    """Where the client keeps what happens in a session; tool events do not say it."""
    if "/" in session or session.startswith("."):
        return ""
    return os.path.join(environ.get("HOME", "/"), ".copilot", "session-state", session, "events.jsonl")


def _call(payload: Mapping[str, Any], context: Context) -> ToolCall:
    call = ToolCall(text(payload, "toolName"), require_object(payload, "toolArgs"), context.cwd)
    return tool_names.translate(CLIENT, call)


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    # Where nobody can be asked, the client refuses what a hook asks about.
    return ToolRequested(context, _call(payload, context), askable=True)


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    from lockgate.clients.common import results

    background = tool_names.goes_on(CLIENT, text(payload, "toolName"), require_object(payload, "toolArgs"))
    result = require_object(payload, "toolResult").get("textResultForLlm")
    return results.make_finished_event(context, _call(payload, context), result, background=background, whole=False)


def _read_failure(payload: Mapping[str, Any], context: Context) -> Event:
    return ToolFailed(context, _call(payload, context), text(payload, "error", empty=True))


def _read_start(payload: Mapping[str, Any], context: Context) -> Event:
    how = text(payload, "source")
    return SessionStarted(context, _BEGINNINGS.get(how, how))


def _agent(payload: Mapping[str, Any], context: Context) -> Event:
    identifier(payload, "agentId")
    return AgentStopped(context) if "stopReason" in payload else AgentStarted(context)


_BY_FIELD: tuple[tuple[str, Callable[[Mapping[str, Any], Context], Event]], ...] = (
    ("toolResult", _read_result),
    ("error", _read_failure),
    ("toolArgs", _read_request),
    ("source", _read_start),
    ("prompt", prompt_submitted),
    ("agentName", _agent),
    ("reason", session_ended),
)


def _decision_answer(answer: Answer) -> dict[str, Any]:
    """What becomes of a call. With ``ask`` the client runs what was asked for, whatever else stands in the answer."""
    if answer.verdict is Verdict.ALLOW:
        return {"permissionDecision": "allow"} if answer.permitted else {}
    if answer.verdict is not Verdict.CONTAIN or answer.new_input is None:
        verdict = "ask" if answer.verdict is Verdict.ASK else "deny"
        return {"permissionDecision": verdict, "permissionDecisionReason": refusal_text(answer)}
    output: dict[str, Any] = {"modifiedArgs": dict(answer.new_input)}
    if answer.permitted:  # else the client asks about paths that only the changed command names
        output["permissionDecision"] = "allow"
    if answer.context:
        output["additionalContext"] = answer.context
    return output


class Copilot(ClientAdapter):
    """The adapter of GitHub Copilot CLI."""

    CLIENT = CLIENT
    EVENTS = EVENTS
    CALL_EVENT = "preToolUse"
    UNNAMED = True
    SESSION = ("parentAgentId", "sessionId")
    AGENT = "agentId"
    TOOL = "toolName"
    CALL_ID = ""

    def decode(
        self, payload: Mapping[str, Any], environ: Mapping[str, str], launch: HookLaunch | None = None
    ) -> Event | None:
        """Translate one hook payload. Its event is what its fields say: each event has its own.

        Raises:
            BadInputError: The payload is not one that the client sends.
        """
        context = self.context(payload, environ)
        for field, decoder in _BY_FIELD:
            if field in payload:
                return decoder(payload, context)
        raise BadInputError(f"unknown payload with {quote_text(', '.join(sorted(payload)))}")

    def context(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Context:
        """The context of a payload: subject, folder, process."""
        cwd = text(payload, "cwd")
        session, agent = identifier(payload, "sessionId"), identifier(payload, "agentId", maybe=True)
        # A sub-agent's own calls have its id for the session's; the session is what started it.
        parent = identifier(payload, "parentAgentId", maybe=True) if agent else ""
        return Context(
            client=CLIENT,
            process=transcripts.client_process(""),
            subject=Subject(parent or session, agent),
            cwd=cwd,
            workspace=cwd,
            agent_type=optional(payload, "agentType"),
            transcript=optional(payload, "transcriptPath") or _transcript(session, environ),
        )

    def has_history(self, context: Context) -> bool:
        """Whether a session has read something already. A sub-agent whose session nobody knows counts as one that has.

        Of a session that begins, the first prompt may be told before the beginning: both hooks run at the same time.
        """
        if context.subject.agent:
            return True
        for line in transcripts.ends_of(context.transcript):
            record = transcripts.parse_json(line) if b"tool.execution_complete" in line else None
            if isinstance(record, dict) and record.get("type") == "tool.execution_complete":
                return True
        return False

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether a call must not be rewritten: the client may have a rule about it, and would not know it again."""
        from lockgate.clients.copilot.permission_rules import may_be_refused

        return may_be_refused(context, call)

    def is_permitted(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether the client's own rules let a call run unasked."""
        from lockgate.clients.copilot.permission_rules import is_allowed

        return is_allowed(context, call, home)

    def may_skip_prompt(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether the client asks about the call only because no rule lets it run."""
        from lockgate.clients.copilot.permission_rules import asks_by_default

        return asks_by_default(context, call, home)

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer: one JSON object or nothing, and the exit code."""
        output: dict[str, Any] = {}
        if event_name == "preToolUse":
            output = _decision_answer(answer)
        elif event_name == "postToolUse":
            new = new_text(answer, event)
            if new is not None:
                output["modifiedResult"] = {"resultType": "success", "textResultForLlm": new}
            if answer.context:
                output["additionalContext"] = answer.context
        return HookOutput(json.dumps(output) if output else "")

    def encode_failure(
        self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
    ) -> HookOutput:
        """Spell "the gate could not decide": stdout, stderr and the exit code. Any code but 0 refuses a call.

        A result that nobody looked at is withheld. That takes exit code 0: with another, stdout is not read.
        """
        reason = failure(message)
        if event_name == "postToolUse":
            notice = {"modifiedResult": {"resultType": "failure", "textResultForLlm": reason}}
            return HookOutput(json.dumps(notice), f"{reason}\n")
        refusal = self.encode("preToolUse", Answer(Verdict.DENY, to_agent=reason))
        return refusal._replace(stderr=f"{reason}\n", exit_status=2)


ADAPTER = Copilot()
