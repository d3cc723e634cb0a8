"""Calls in audit records and questions, for the API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lockgate.core.model import ToolCall
from lockgate.gate.approvals import notification_text
from lockgate.gate.messages.calls import call_text
from lockgate.service.http.schemas import SourceInfo
from lockgate.service.http.schemas.calls import (
    DecisionDetail,
    DecisionSummary,
    EffectShown,
    GateShown,
    Guardrail,
    JudgeOpinion,
    MatchShown,
    ReasonShown,
    Related,
)
from lockgate.service.http.views import record_values
from lockgate.store.rows import AuditRow, GateRow

_LINE = 200
"""Most characters of a call in one line."""


def one_line(tool: str, given: object) -> str:
    """A call in one line, without credentials."""
    return call_text(ToolCall(tool, record_values.part(given)), _LINE)


def effects(about: Mapping[str, Any]) -> list[EffectShown]:
    """The effects that a record tells."""
    return [
        EffectShown(
            **record_values.texts(each, "row", "what", "rule", "because"), gives=record_values.label(each.get("gives"))
        )
        for each in record_values.rows(about.get("effects"))
    ]


def reaches(about: Mapping[str, Any]) -> list[str]:
    """Everyone whom a call can reach, each once."""
    found = [each for each in record_values.rows(about.get("effects")) if notification_text.reaches(each)]
    return list(dict.fromkeys(record_values.text(each.get("what")) for each in found))


def reasons(about: Mapping[str, Any]) -> list[ReasonShown]:
    """The reasons of a verdict."""
    return [
        ReasonShown(**record_values.texts(each, "rule", "row", "because"))
        for each in record_values.rows(about.get("reasons"))
    ]


def provenance(about: Mapping[str, Any]) -> list[SourceInfo]:
    """Where the labels came from that a decision was made with."""
    return [source for each in record_values.rows(about.get("provenance")) if (source := _source(each)) is not None]


def _source(each: Mapping[str, Any]) -> SourceInfo | None:
    label = record_values.label(each.get("label"))
    if label is None:
        return None
    state: Literal["pending", "confirmed"] = "pending" if each.get("state") == "pending" else "confirmed"
    return SourceInfo(
        label=label,
        **record_values.texts(each, "source", "tool", "call"),
        at=record_values.moment(each.get("at")),
        state=state,
        origin=record_values.text(each.get("origin")) or None,
    )


def guardrail(about: Mapping[str, Any]) -> Guardrail | None:
    """What the pattern library found, ``None`` where that was nothing."""
    found = record_values.part(about.get("guardrail"))
    if not found:
        return None
    return Guardrail(
        decision=record_values.text(found.get("decision")),
        matches=[
            MatchShown(
                **record_values.texts(each, "rule", "type", "severity", "path", "decision"),
                encoding=record_values.words(each.get("encoding")),
            )
            for each in record_values.rows(found.get("matches"))
        ],
        matches_omitted=int(record_values.number(found.get("matches_omitted"))),
        elapsed_ms=record_values.number(found.get("elapsed_ms")),
    )


def judge(about: Mapping[str, Any]) -> JudgeOpinion | None:
    """What the judge said, ``None`` where it was not asked."""
    found = record_values.part(record_values.part(about.get("cascade")).get("judge"))
    if not found:
        return None
    return JudgeOpinion(
        flagged=record_values.is_true(found.get("flagged")),
        **record_values.texts(found, "reason", "failed", "model"),
        ms=record_values.number(found.get("ms")),
        cached=record_values.is_true(found.get("cached")),
    )


def summary(row: AuditRow) -> DecisionSummary:
    """A record of a decision, in short."""
    return DecisionSummary(**_summary(row, record_values.body_of(row.body)))


def decision(row: AuditRow, related: Sequence[AuditRow]) -> DecisionDetail:
    """A record of a decision, with its evidence and the records about the same call."""
    about = record_values.body_of(row.body)
    return DecisionDetail(
        **_summary(row, about),
        cwd=record_values.text(about.get("cwd")),
        digest=record_values.text(about.get("digest")),
        record=row.digest,
        previous=row.previous,
        input=about.get("input"),
        labels=record_values.labels(about.get("labels")),
        provenance=provenance(about),
        effects=effects(about),
        effects_omitted=int(record_values.number(about.get("effects_omitted"))),
        reasons=reasons(about),
        judge=judge(about),
        guardrail=guardrail(about),
        approval=record_values.text(record_values.part(about.get("cascade")).get("approval")) or None,
        related=[_find_related(each) for each in related],
    )


def _summary(row: AuditRow, about: Mapping[str, Any]) -> dict[str, Any]:
    cascade = record_values.part(about.get("cascade"))
    return {
        "seq": row.seq,
        "at": record_values.instant(row.at),
        **record_values.texts(about, "session", "agent", "client", "tool", "call", "profile"),
        "summary": one_line(record_values.text(about.get("tool")), about.get("input")),
        "verdict": record_values.verdict(about.get("verdict")),
        "would_have": record_values.verdict(record_values.part(about.get("would_have")).get("verdict")),
        "state": record_values.state(about.get("column")),
        "tier": record_values.text(cascade.get("tier")),
        "ms": record_values.number(cascade["ms"]) if "ms" in cascade else None,
        "rules": list(
            dict.fromkeys(record_values.text(each.get("rule")) for each in record_values.rows(about.get("reasons")))
        ),
        "matches": len(record_values.rows(record_values.part(about.get("guardrail")).get("matches"))),
    }


def gate(row: GateRow) -> GateShown:
    """One gate of a store."""
    return GateShown(
        gate=row.gate,
        name=row.name,
        own=row.own,
        records=row.seq,
        anchored=row.anchored_seq,
        anchored_at=record_values.moment(row.anchored_at),
    )


def _find_related(row: AuditRow) -> Related:
    about = record_values.body_of(row.body)
    told = [record_values.text(about.get(name)) for name in ("outcome", "state", "by", "reason")]
    gave = record_values.words(about.get("gave"))
    if gave:
        told.append(f"gave {', '.join(gave)}")
    return Related(
        seq=row.seq,
        at=record_values.instant(row.at),
        event=record_values.text(about.get("event")),
        text=", ".join(part for part in told if part),
    )
