"""What the audit records of an event, as JSON values for ``Transaction.append_audit``.

Everything that came from outside is redacted and cut: the record tells what was decided and why, and is not a second
place where secrets lie. The exact call is named by its digest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from lockgate.analysis.redact import redact, redact_input
from lockgate.events import Context
from lockgate.model import Analysis, Decision, Effect, Label, Taint, ToolCall

_TEXT = 2000
_ITEMS = 64
_DEPTH = 8
_EFFECTS = 32
_TAINTS = 8
"""How many sources are recorded of each label, the oldest first."""


def record_decision(
    event: str,
    context: Context,
    call: ToolCall,
    digest: str,
    taints: Sequence[Taint],
    analysis: Analysis,
    decision: Decision,
) -> dict[str, Any]:
    """The record of a decision.

    Args:
        event: What happened, in the client's word (``PreToolUse``).
        context: The event's context.
        call: The call that was decided.
        digest: SHA-256 of the exact call, hexadecimal.
        taints: Where the subject's labels came from.
        analysis: What the call can do.
        decision: The verdict and its reasons.
    """
    return {
        **_common(event, context, call, digest),
        "input": _bounded(redact_input(call.tool, call.tool_input)),
        "labels": sorted({taint.label.value for taint in taints}),
        "provenance": _provenance(taints),
        "effects": [_effect(effect) for effect in analysis.effects[:_EFFECTS]],
        "effects_omitted": max(len(analysis.effects) - _EFFECTS, 0),
        "verdict": decision.verdict.word,
        "column": decision.column.value,
        "profile": decision.profile,
        "reasons": [
            {"rule": reason.effect.rule, "row": reason.row, "because": _text(reason.effect.because)}
            for reason in decision.reasons[:_EFFECTS]
        ],
    }


def record_outcome(
    event: str,
    context: Context,
    call: ToolCall,
    digest: str,
    outcome: str,
    gave: Iterable[Label],
) -> dict[str, Any]:
    """The record of what came of a call.

    Args:
        event: What happened, in the client's word (``PostToolUse``).
        context: The event's context.
        call: The call.
        digest: SHA-256 of the exact call, hexadecimal.
        outcome: finished, failed or refused.
        gave: The labels that the result gave to the subject.
    """
    return {**_common(event, context, call, digest), "outcome": outcome, "gave": sorted(gave)}


def record_event(event: str, context: Context, **facts: Any) -> dict[str, Any]:
    """The record of any other event, with facts that are JSON values; text in them is redacted and cut."""
    return {**_who(event, context), **{name: _bounded(_redacted(value)) for name, value in facts.items()}}


def _who(event: str, context: Context) -> dict[str, Any]:
    return {
        "event": event,
        "client": context.client,
        "session": context.subject.session,
        "agent": context.subject.agent,
    }


def _common(event: str, context: Context, call: ToolCall, digest: str) -> dict[str, Any]:
    return {
        **_who(event, context),
        "cwd": call.cwd or context.cwd,
        "tool": call.tool,
        "call": call.call_id,
        "digest": digest,
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "row": effect.row,
        "what": _text(effect.what),
        "rule": effect.rule,
        "because": _text(effect.because),
        "gives": effect.gives.value if effect.gives else None,
    }


def _provenance(taints: Sequence[Taint]) -> list[dict[str, Any]]:
    return [
        {
            "label": taint.label.value,
            "source": _text(taint.source),
            "tool": taint.tool,
            "call": taint.call_id,
            "at": taint.at,
            "state": taint.state.value,
            "origin": taint.origin,
        }
        for label in Label
        for taint in [taint for taint in taints if taint.label is label][:_TAINTS]
    ]


def _text(text: str) -> str:
    return _cut(redact(text[: _TEXT * 2]))


def _cut(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]} [... {len(text) - _TEXT} more ...]"


def _redacted(value: Any) -> Any:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {str(key): _redacted(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_redacted(item) for item in value]
    return value


def _bounded(value: Any, depth: int = 0) -> Any:
    """A JSON value of bounded size, without NaN and infinities, which JSON has no text for."""
    if isinstance(value, str):
        return _cut(value)
    if isinstance(value, float) and not isfinite(value):
        return str(value)
    if isinstance(value, Mapping):
        return _bounded_mapping(value, depth)
    if isinstance(value, list | tuple):
        return _bounded_list(value, depth)
    return value


def _bounded_mapping(value: Mapping[str, Any], depth: int) -> Any:
    if depth >= _DEPTH:
        return "[... nested too deep ...]"
    kept = {_cut(str(key)): _bounded(item, depth + 1) for key, item in list(value.items())[:_ITEMS]}
    if len(value) > _ITEMS:
        kept["..."] = f"{len(value) - _ITEMS} more"
    return kept


def _bounded_list(value: Sequence[Any], depth: int) -> Any:
    if depth >= _DEPTH:
        return "[... nested too deep ...]"
    kept = [_bounded(item, depth + 1) for item in value[:_ITEMS]]
    return kept if len(value) <= _ITEMS else [*kept, f"[... {len(value) - _ITEMS} more ...]"]
