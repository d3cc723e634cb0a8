"""What the audit records of an event, as JSON values for ``Transaction.append_audit``.

Everything that came from outside is redacted and cut: the record tells what was decided and why, and is not a second
place where secrets lie. The exact call is named by its digest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, Label, PolicyDecision, Taint, ToolCall, Variant
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.model import GuardrailResult, PatternMatch
from lockgate.patterns.redaction.credentials import redact, redact_input

if TYPE_CHECKING:
    from typing import Any, Protocol

    from lockgate.core.questions import Opinion
    from lockgate.store.rows import ApprovalRow, BriefRow

    class CameBack(Protocol):
        """What ``session`` says of a call that has come back."""

        @property
        def labels(self) -> frozenset[Label]:
            """The labels that the result gave."""

        @property
        def known(self) -> bool:
            """Whether the call was seen before it ran."""


_TEXT = 2000
_EFFECTS = 32
_PATH = 300
_TAINTS = 4
"""How many sources are recorded of each label, the oldest first."""
_LABELS = tuple(Label)


def decision_record(
    context: Context,
    call: ToolCall,
    digest: str,
    taints: Sequence[Taint],
    analysis: Analysis,
    decision: PolicyDecision,
    shadow: PolicyDecision | None = None,
    found: GuardrailResult | None = None,
    cascade: Mapping[str, Any] = {},
    *,
    trial: bool = False,
) -> dict[str, Any]:
    """The record of a decision.

    Args:
        context: The event's context.
        call: The call that was decided.
        digest: SHA-256 of the exact call, hexadecimal.
        taints: Where the subject's labels came from.
        analysis: What the call can do.
        decision: The verdict and its reasons.
        shadow: What would have been decided, where the profile only observes.
        found: What the pattern library found in the call.
        cascade: Which step decided, as :func:`cascade` tells it.
        trial: Whether the doctor made the call, to see whether it is refused.
    """
    body = {
        **_of_call("decision", context, call, digest),
        "input": redact_input(call.tool, call.tool_input),
        "labels": sorted({str(taint.label) for taint in taints}),
        "provenance": _provenance(taints),
        "effects": [_effect(effect) for effect in analysis.effects[:_EFFECTS]],
        "effects_omitted": max(len(analysis.effects) - _EFFECTS, 0),
        **_verdict(decision),
        **(guardrail(found) if found else {}),
        **cascade,
        **({"trial": True} if trial else {}),
    }
    return body if shadow is None else {**body, "would_have": _verdict(shadow)}


class Timing(Record):
    """How long a decision took, and what it is a part of."""

    ms: float = 0.0
    """Milliseconds for all of it, with the time that a judge or a person took."""
    steps: Mapping[str, float] = {}
    """Milliseconds of each step that took any."""
    trace: str = ""
    """The trace that the client's process is a part of (W3C Trace Context, ``traceparent``); empty where it is none."""


def cascade(decision: PolicyDecision, timing: Timing, opinion: Opinion | None, approval: str) -> dict[str, Any]:
    """Which step of the cascade decided, and in how long.

    Args:
        decision: The decision.
        timing: How long it took.
        opinion: What the judge said, where it was asked.
        approval: The id under which a person was asked, empty where none was.
    """
    told: dict[str, Any] = {"tier": str(decision.tier), "ms": timing.ms}
    if timing.steps:
        told["steps"] = dict(timing.steps)
    if timing.trace:
        told["trace"] = timing.trace
    if opinion is not None:
        told["judge"] = {
            "flagged": opinion.flagged,
            "reason": _text(opinion.reason),
            "failed": _text(opinion.failed),
            "model": _text(opinion.model),
            "ms": round(opinion.ms, 1),
            "cached": opinion.cached,
            "tokens": list(opinion.tokens),
        }
    if approval:
        told["approval"] = approval
    return {"cascade": told}


def person_asked(context: Context, row: ApprovalRow) -> dict[str, Any]:
    """The record of a question to a person. The decision that it was about is recorded once it is answered."""
    return {**_about("asked", context, row), "expires_at": row.expires_at}


def answer_record(context: Context, row: ApprovalRow) -> dict[str, Any]:
    """The record of what became of a question to a person."""
    said = {"state": row.state, "by": _text(row.decided_by), "reason": _text(row.reason)}
    return {**_about("answered", context, row), **said}


def _about(kind: str, context: Context, row: ApprovalRow) -> dict[str, Any]:
    return {**_who(kind, context), "approval": row.approval, "digest": row.digest, "call": row.call_id}


def came_back(
    context: Context,
    call: ToolCall,
    digest: str,
    outcome: str,
    result: CameBack | None,
    screened: Mapping[str, Any] = {},
) -> dict[str, Any]:
    """The record of what came of a call.

    Args:
        context: The event's context.
        call: The call.
        digest: SHA-256 of the exact call, hexadecimal.
        outcome: finished, failed or refused.
        result: What its result changed; ``None`` where it brought none (yet).
        screened: What the pattern library found in the result, as :func:`guardrail` tells it.
    """
    body = {**_of_call("outcome", context, call, digest), "outcome": outcome, **screened}
    if result is None:
        return body
    return {**body, "gave": sorted(map(str, result.labels)), "was_expected": result.known}


def approval_record(context: Context, brief: BriefRow) -> dict[str, Any]:
    """The record of a brief that a person approved, by the delegate that runs under it."""
    return {
        **_who("delegate", context),
        "brief": brief.brief,
        "text": _text(brief.text),
        "digest": brief.digest,
        "parent": brief.parent,
        "call": brief.call_id,
    }


def event_record(context: Context, event: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    """The record of any other event; its facts are JSON values, and text in them is redacted and cut."""
    return {**redact_input("", facts), **_who(event, context)}


def guardrail(result: GuardrailResult, **more: Any) -> dict[str, Any]:
    """What the pattern library found: rules, places and fingerprints, and never what was found.

    Args:
        result: What it said. Where it found nothing, nothing is recorded.
        **more: What became of it; what is empty or zero is left out.
    """
    said = {name: _text(value) if isinstance(value, str) else value for name, value in more.items() if value}
    if not result.pattern_matches and not result.expired and not said:
        return {}
    return {
        "guardrail": {
            "decision": result.decision.value,
            "matches": [_match(match) for match in result.pattern_matches[:_EFFECTS]],
            "matches_omitted": max(len(result.pattern_matches) - _EFFECTS, 0),
            "expired": [
                {"group": each.group, "because": _text(each.because), "fallback": each.fallback.value}
                for each in result.expired
            ],
            "elapsed_ms": round(result.elapsed_ms, 3),
            **said,
        }
    }


def _match(match: PatternMatch) -> dict[str, Any]:
    return {
        "rule": match.rule,
        "type": match.type,
        "severity": match.severity.word,
        "path": redact(match.path)[:_PATH],
        "fingerprint": match.fingerprint,
        "encoding": list(match.encoding),
        "validated": match.validated,
        "decision": match.decision.value,
    }


def _who(event: str, context: Context) -> dict[str, Any]:
    return {
        "event": event,
        "client": context.client,
        "session": context.subject.session,
        "agent": context.subject.agent,
        **({"run": context.run} if context.run else {}),
    }


def _of_call(event: str, context: Context, call: ToolCall, digest: str) -> dict[str, Any]:
    return {
        **_who(event, context),
        "cwd": redact(call.cwd or context.cwd),
        "tool": redact(call.tool),
        "call": call.call_id,
        "digest": digest,
    }


def _verdict(decision: PolicyDecision) -> dict[str, Any]:
    return {
        "verdict": decision.verdict.word,
        "column": str(decision.column),
        "profile": decision.profile,
        "reasons": [
            {"rule": reason.effect.rule, "row": reason.row, "because": _text(reason.effect.because)}
            for reason in decision.reasons[:_EFFECTS]
        ],
    }


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "row": effect.row,
        "what": _text(effect.what),
        "rule": effect.rule,
        "because": _text(effect.because),
        "gives": str(effect.gives) if effect.gives else None,
        # Its row says only that code runs.
        **({"kind": str(effect.kind)} if effect.variant is Variant.SCRIPT else {}),
    }


def _provenance(taints: Sequence[Taint]) -> list[dict[str, Any]]:
    if not taints:
        return []
    return [
        {
            "label": str(taint.label),
            "source": _text(taint.source),
            "tool": taint.tool,
            "call": taint.call_id,
            "at": taint.at,
            "state": str(taint.state),
            "origin": taint.origin,
        }
        for label in _LABELS
        for taint in [taint for taint in taints if taint.label is label][:_TAINTS]
    ]


def _text(text: str) -> str:
    return _shorten(redact(text[: _TEXT * 2]), unread=len(text[_TEXT * 2 :]))


def _shorten(text: str, unread: int = 0) -> str:
    more = max(len(text) - _TEXT, 0) + unread
    return f"{text[:_TEXT]} [... {more} more ...]" if more else text
