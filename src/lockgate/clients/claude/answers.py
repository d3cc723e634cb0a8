"""Spells answers in Claude Code's dialect: what a hook writes, and its exit status.

How each answer is obeyed was observed with versions 2.1.197 and 2.1.329; where the two differ, the form that works in
both is used. The client's own reference: https://code.claude.com/docs/en/hooks
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from lockgate.clients.adapter import HookOutput, failure, hook_output, refusal_text
from lockgate.clients.common.transcripts import EVENTS, IGNORED
from lockgate.core.events import Answer, Event, ToolFinished
from lockgate.core.model import Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_ADDS_CONTEXT = frozenset(
    {"PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "SubagentStart"},
)
_BLOCKS = frozenset({"PostToolUse", "UserPromptSubmit", "ConfigChange"})
"""Events whose refusal is spelt ``decision: block``; PreToolUse has a spelling of its own."""


def encode(event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
    """Spell an answer for the client.

    No objection is silence: ``permissionDecision: allow`` would skip the client's own permission rules. It is said only
    where a person wants that of harmless calls, and no such rule refuses this one or asks about it.

    Args:
        event_name: The event that is answered, as the client named it.
        answer: The gate's answer.
        event: The event that is answered, where the answer changes a result.

    Returns:
        What to write to stdout (one JSON object, or nothing) and the exit code.
    """
    if event_name == "PreToolUse":
        output = _tool_answer(answer)
    else:
        output = _event_answer(event_name, answer, _new_output(answer, event))
    return HookOutput(json.dumps(output) if output else "")


def _new_output(answer: Answer, event: Event | None) -> dict[str, Any]:
    if not isinstance(event, ToolFinished) or not (answer.texts or answer.withheld):
        return {}
    from lockgate.clients.common import result_texts

    if answer.withheld:
        return {"updatedToolOutput": result_texts.withheld(event.call.tool, event.result, answer.withheld)}
    return {"updatedToolOutput": result_texts.with_texts(event.call.tool, event.result, answer.texts)}


def _tool_answer(answer: Answer) -> dict[str, Any]:
    specific: dict[str, Any] = {}
    to_person = answer.to_person
    verdict = _spellable(answer)
    if verdict is Verdict.ASK:
        # The native dialog shows the reason to the person, so nothing is left for a second message.
        specific["permissionDecision"] = "ask"
        specific["permissionDecisionReason"] = (
            answer.to_person or answer.to_agent or "Lockgate asks for a person's consent"
        )
        to_person = ""
    elif verdict is Verdict.DENY:
        specific["permissionDecision"] = "deny"
        specific["permissionDecisionReason"] = answer.to_agent or answer.to_person or "Lockgate blocked this call"
    elif verdict is Verdict.ALLOW and (answer.approved or answer.permitted):
        specific["permissionDecision"] = "allow"
    if answer.new_input is not None and verdict is not Verdict.DENY:
        if verdict is Verdict.CONTAIN and answer.permitted:
            specific["permissionDecision"] = "allow"
        specific["updatedInput"] = dict(answer.new_input)
    if answer.context:
        specific["additionalContext"] = answer.context
    return hook_output("PreToolUse", specific, to_person)


def _spellable(answer: Answer) -> Verdict:
    """The verdict, or the next one up that the client can carry out."""
    if answer.verdict is Verdict.CONTAIN and answer.new_input is None:
        return Verdict.DENY
    return Verdict.DENY if answer.verdict is Verdict.JUDGE else answer.verdict


def _event_answer(event_name: str, answer: Answer, specific: dict[str, Any]) -> dict[str, Any]:
    objects = answer.verdict is not Verdict.ALLOW
    if answer.context and event_name in _ADDS_CONTEXT:
        specific["additionalContext"] = answer.context
    output = hook_output(event_name, specific, answer.to_person)
    if not objects:
        return output
    reason = refusal_text(answer)
    if event_name in _BLOCKS:
        return {"decision": "block", "reason": reason, **output}
    return output or {"systemMessage": reason}


def encode_failure(event_name: str | None, message: str, payload: Mapping[str, Any] | None = None) -> HookOutput:
    """Spell "the gate could not decide", so that every client version blocks what can be blocked.

    A result that nobody looked at is withheld. That takes exit code 0: with 2, which alone blocks a call in both
    observed versions, the client does not read what stands on stdout.

    Args:
        event_name: The event, as far as it is known. An unknown one counts as ``PreToolUse``.
        message: What went wrong, for a person; it is made safe to show.
        payload: What the client wrote, as far as it was read.

    Returns:
        stdout, stderr (never empty) and the exit code.
    """
    reason = failure(message)
    if event_name == "PostToolUse" and payload and (record := _withheld(payload, reason)) is not None:
        answer = _event_answer("PostToolUse", Answer(Verdict.DENY, to_agent=reason), {"updatedToolOutput": record})
        return HookOutput(json.dumps(answer), f"{reason}\n")
    name = event_name if event_name in EVENTS or event_name in IGNORED else "PreToolUse"
    refusal = encode(name or "PreToolUse", Answer(Verdict.DENY, to_agent=reason))
    return refusal._replace(stderr=f"{reason}\n", exit_status=2)


def _withheld(payload: Mapping[str, Any], notice: str) -> Any:
    from lockgate.clients.common import result_texts

    tool = payload.get("tool_name")
    return result_texts.withheld(tool, payload.get("tool_response"), notice) if isinstance(tool, str) else None
