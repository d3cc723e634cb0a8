"""Codex CLI's answers. One key that it does not know makes it drop the whole answer and run the call."""

from __future__ import annotations

import json

from lockgate.clients.adapter import HookOutput, failure, hook_output, new_text
from lockgate.core.events import Answer, Event
from lockgate.core.model import Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_ADDS_CONTEXT = frozenset({"PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SubagentStart"})
_BLOCKS = frozenset({"PostToolUse", "UserPromptSubmit"})
"""Events whose refusal is spelt ``decision: block``. After a tool, its reason takes the place of the result."""
_EMPTY = "Lockgate blocked this"


def encode(event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
    """Spell an answer: one JSON object or nothing, and the exit code.

    ``ask`` is not spelt: Codex would run the call. Nor is ``allow`` without a changed input: it takes that for a fault.
    """
    output: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if event_name == "PreToolUse":
        _decide(answer, specific)
    elif event_name in _BLOCKS:
        reason = _instead(answer, event)
        if reason:
            output |= {"decision": "block", "reason": reason}
    if answer.context and event_name in _ADDS_CONTEXT:
        specific["additionalContext"] = answer.context
    to_person = answer.to_person if event_name != "SessionEnd" else ""
    output |= hook_output(event_name, specific, to_person)
    return HookOutput(json.dumps(output) if output else "")


def _decide(answer: Answer, specific: dict[str, Any]) -> None:
    if answer.verdict is Verdict.CONTAIN and answer.new_input is not None:
        specific["permissionDecision"] = "allow"
        specific["updatedInput"] = dict(answer.new_input)
    elif answer.verdict is not Verdict.ALLOW:
        specific["permissionDecision"] = "deny"
        specific["permissionDecisionReason"] = _reason_of(answer)


def _reason_of(answer: Answer) -> str:
    return answer.to_agent.strip() or answer.to_person.strip() or _EMPTY


def _instead(answer: Answer, event: Event | None) -> str:
    """What the model reads in the place of a result, empty where it reads the result."""
    new = new_text(answer, event)
    if new is not None:
        return new.strip() or _EMPTY
    return _reason_of(answer) if answer.verdict is not Verdict.ALLOW else ""


def encode_failure(event_name: str | None, message: str, payload: Mapping[str, Any] | None = None) -> HookOutput:
    """Spell "the gate could not decide": stdout, stderr (never empty: Codex would go on) and the exit code.

    Exit code 2 refuses a call, and withholds a result.
    """
    reason = failure(message)
    name = event_name if event_name in _ADDS_CONTEXT else "PreToolUse"
    refusal = encode(name or "PreToolUse", Answer(Verdict.DENY, to_agent=reason))
    return refusal._replace(stderr=f"{reason}\n", exit_status=2)
