"""What audit records and questions say of a call, as the API tells it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from lockgate.core.model import ToolCall
from lockgate.gate.approvals import notification_text as telling
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
from lockgate.service.http.views import record_values as said
from lockgate.store.rows import AuditRow, GateRow

_LINE = 200
"""Most characters of a call in one line."""


def one_line(tool: str, given: object) -> str:
    """A call in one line, without credentials."""
    return call_text(ToolCall(tool, said.part(given)), _LINE)


def effects(about: Mapping[str, Any]) -> list[EffectShown]:
    """The effects that a record tells."""
    return [
        EffectShown(**said.texts(each, "row", "what", "rule", "because"), gives=said.label(each.get("gives")))
        for each in said.rows(about.get("effects"))
    ]


def reaches(about: Mapping[str, Any]) -> list[str]:
    """Whom a call can reach, each once."""
    found = [each for each in said.rows(about.get("effects")) if telling.reaches(each)]
    return list(dict.fromkeys(said.text(each.get("what")) for each in found))


def reasons(about: Mapping[str, Any]) -> list[ReasonShown]:
    """The reasons of a verdict."""
    return [ReasonShown(**said.texts(each, "rule", "row", "because")) for each in said.rows(about.get("reasons"))]


def provenance(about: Mapping[str, Any]) -> list[SourceInfo]:
    """Where the labels came from that a decision was made with."""
    return [source for each in said.rows(about.get("provenance")) if (source := _source(each)) is not None]


def _source(each: Mapping[str, Any]) -> SourceInfo | None:
    label = said.label(each.get("label"))
    if label is None:
        return None
    state: Literal["pending", "confirmed"] = "pending" if each.get("state") == "pending" else "confirmed"
    return SourceInfo(
        label=label,
        **said.texts(each, "source", "tool", "call"),
        at=said.moment(each.get("at")),
        state=state,
        origin=said.text(each.get("origin")) or None,
    )


def guardrail(about: Mapping[str, Any]) -> Guardrail | None:
    """What the pattern library found, ``None`` where that was nothing."""
    found = said.part(about.get("guardrail"))
    if not found:
        return None
    return Guardrail(
        decision=said.text(found.get("decision")),
        matches=[
            MatchShown(
                **said.texts(each, "rule", "type", "severity", "path", "decision"),
                encoding=said.words(each.get("encoding")),
            )
            for each in said.rows(found.get("matches"))
        ],
        matches_omitted=int(said.number(found.get("matches_omitted"))),
        elapsed_ms=said.number(found.get("elapsed_ms")),
    )


def judge(about: Mapping[str, Any]) -> JudgeOpinion | None:
    """What the judge said, ``None`` where it was not asked."""
    found = said.part(said.part(about.get("cascade")).get("judge"))
    if not found:
        return None
    return JudgeOpinion(
        flagged=said.truth(found.get("flagged")),
        **said.texts(found, "reason", "failed", "model"),
        ms=said.number(found.get("ms")),
        cached=said.truth(found.get("cached")),
    )


def summary(row: AuditRow) -> DecisionSummary:
    """A record of a decision, in short."""
    return DecisionSummary(**_summary(row, said.body_of(row.body)))


def decision(row: AuditRow, related: Sequence[AuditRow]) -> DecisionDetail:
    """A record of a decision, with its evidence and the records about the same call."""
    about = said.body_of(row.body)
    return DecisionDetail(
        **_summary(row, about),
        cwd=said.text(about.get("cwd")),
        digest=said.text(about.get("digest")),
        record=row.digest,
        previous=row.previous,
        input=about.get("input"),
        labels=said.labels(about.get("labels")),
        provenance=provenance(about),
        effects=effects(about),
        effects_omitted=int(said.number(about.get("effects_omitted"))),
        reasons=reasons(about),
        judge=judge(about),
        guardrail=guardrail(about),
        approval=said.text(said.part(about.get("cascade")).get("approval")) or None,
        related=[_related(each) for each in related],
    )


def _summary(row: AuditRow, about: Mapping[str, Any]) -> dict[str, Any]:
    cascade = said.part(about.get("cascade"))
    return {
        "seq": row.seq,
        "at": said.instant(row.at),
        **said.texts(about, "session", "agent", "client", "tool", "call", "profile"),
        "summary": one_line(said.text(about.get("tool")), about.get("input")),
        "verdict": said.verdict(about.get("verdict")),
        "would_have": said.verdict(said.part(about.get("would_have")).get("verdict")),
        "state": said.state(about.get("column")),
        "tier": said.text(cascade.get("tier")),
        "ms": said.number(cascade["ms"]) if "ms" in cascade else None,
        "rules": list(dict.fromkeys(said.text(each.get("rule")) for each in said.rows(about.get("reasons")))),
        "matches": len(said.rows(said.part(about.get("guardrail")).get("matches"))),
    }


def gate(row: GateRow) -> GateShown:
    """One gate of a store."""
    return GateShown(
        gate=row.gate,
        name=row.name,
        own=row.own,
        records=row.seq,
        anchored=row.anchored_seq,
        anchored_at=said.moment(row.anchored_at),
    )


def _related(row: AuditRow) -> Related:
    about = said.body_of(row.body)
    told = [said.text(about.get(name)) for name in ("outcome", "state", "by", "reason")]
    gave = said.words(about.get("gave"))
    if gave:
        told.append(f"gave {', '.join(gave)}")
    return Related(
        seq=row.seq,
        at=said.instant(row.at),
        event=said.text(about.get("event")),
        text=", ".join(part for part in told if part),
    )
