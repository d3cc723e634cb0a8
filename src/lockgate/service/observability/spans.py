"""Turns audit records into spans and log records. It decides which values are sent.

Identifiers come from the record's digest, so that what is sent twice is the same twice.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lockgate.core.lazy import lazy_re
from lockgate.core.record import Record
from lockgate.service.observability.siem.mapping import fields
from lockgate.store.audit.bodies import items, part
from lockgate.store.rows import AuditRow
from lockgate.system.digests import sha256

_DIGEST = lazy_re("[0-9a-f]{64}")
_NS = 1_000_000_000
_TEXT = 200
_BEFORE = ("configuration", "analysis", "patterns", "rules")
"""Steps that come one after another, and before anybody is asked."""
_MOST = 32
"""Entries of a list, as an attribute."""

Value = str | bool | int | float | tuple[str, ...]


class Span(Record):
    """One span. Times are nanoseconds since the epoch."""

    name: str
    trace_id: int
    span_id: int
    parent_id: int
    """0 for none."""
    remote: bool
    """Whether the parent is of another process."""
    start: int
    end: int
    attributes: Mapping[str, Value]


class Log(Record):
    """One log record."""

    at: int
    trace_id: int
    span_id: int
    severity: str
    """informational, low, medium or high."""
    event: str
    text: str
    attributes: Mapping[str, Value]


def spans(row: AuditRow, *, calls: bool) -> list[Span]:
    """A decision as a span, and its steps as children; nothing for any other record.

    Args:
        row: The record.
        calls: Whether what was called is told too.
    """
    record = fields(row)
    body = record["body"]
    if body.get("event") != "decision":
        return []
    cascade = part(body.get("cascade"))
    trace_id, parent = _trace(row, cascade)
    steps = {name: _ns(ms) for name, ms in part(cascade.get("steps")).items()}
    decided = int(record["at"] * _NS)  # the clock of the transaction that decided
    end = decided + steps.get("transaction", 0)
    start = max(end - _ns(cascade.get("ms")), 0)
    own = _id(row, 0)
    root = Span(
        "lockgate.decision", trace_id, own, parent, parent != 0, start, end, _attributes(row, body, calls=calls)
    )
    children = [
        Span(f"lockgate.{name}", trace_id, _id(row, number), own, False, begun, ended, more)
        for number, (name, begun, ended, more) in enumerate(_steps(steps, cascade, start, decided, end), 1)
    ]
    return [root, *children]


def _steps(
    steps: Mapping[str, int], cascade: Mapping[str, Any], start: int, decided: int, end: int
) -> list[tuple[str, int, int, Mapping[str, Value]]]:
    found: list[tuple[str, int, int, Mapping[str, Value]]] = []
    at = start
    for name in _BEFORE:
        if name in steps:
            found.append((name, at, at + steps[name], {}))
            at += steps[name]
    judge = part(cascade.get("judge"))
    if judge and not judge.get("cached"):
        told: dict[str, Value] = {
            "gen_ai.request.model": _text(judge.get("model")),
            "lockgate.judge.flagged": bool(judge.get("flagged")),
            "lockgate.judge.failed": bool(judge.get("failed")),
        }
        found.append(("judge", at, at + _ns(judge.get("ms")), told))
        at += _ns(judge.get("ms"))
    if "person" in steps:
        found.append(("person", at, at + steps["person"], {"lockgate.approval": _text(cascade.get("approval"))}))
    if "transaction" in steps:
        found.append(("transaction", decided, end, {}))
    return found


def log(row: AuditRow, *, calls: bool) -> Log:
    """Any record as a log record.

    Args:
        row: The record.
        calls: Whether what was called is told too.
    """
    record = fields(row)
    body = record["body"]
    decision = body.get("event") == "decision"
    trace_id, _ = _trace(row, part(body.get("cascade")))
    return Log(
        int(record["at"] * _NS),
        trace_id if decision else 0,
        _id(row, 0) if decision else 0,
        next(word for word, said in _severities().items() if said == record["severity"]),
        f"lockgate.{_text(body.get('event'))}",
        record["name"],
        _attributes(row, body, calls=calls),
    )


def _severities() -> Mapping[str, Any]:
    from lockgate.service.observability.siem.mapping import read_mapping

    found: Mapping[str, Any] = read_mapping()["severities"]
    return found


def _attributes(row: AuditRow, body: Mapping[str, Any], *, calls: bool) -> dict[str, Value]:
    """What is told of a record. By default nothing of what was called but the tool's name."""
    cascade = part(body.get("cascade"))
    reasons = [part(reason) for reason in items(body.get("reasons"))]
    matches = [part(match) for match in items(part(body.get("guardrail")).get("matches"))]
    told: dict[str, Value] = {
        "lockgate.event": _text(body.get("event")),
        "lockgate.audit.seq": row.seq,
        "lockgate.audit.digest": _text(row.digest),
        "lockgate.client": _text(body.get("client")),
        "session.id": _text(body.get("session")),
        "gen_ai.agent.id": _text(body.get("agent")),
        "gen_ai.tool.name": _text(body.get("tool")),
        "gen_ai.tool.call.id": _text(body.get("call")),
        "lockgate.verdict": _text(body.get("verdict")),
        "lockgate.outcome": _text(body.get("outcome")),
        "lockgate.tier": _text(cascade.get("tier")),
        "lockgate.profile": _text(body.get("profile")),
        "lockgate.column": _text(body.get("column")),
        "lockgate.labels": _texts(items(body.get("labels"))),
        "lockgate.labels.given": _texts(items(body.get("gave"))),
        "lockgate.rows": _texts([reason.get("row") for reason in reasons]),
        "lockgate.rules": _texts([reason.get("rule") for reason in reasons]),
        "lockgate.patterns": _texts([match.get("rule") for match in matches]),
    }
    if calls:
        told["lockgate.call"] = json.dumps(body["input"], sort_keys=True) if "input" in body else ""
        told["lockgate.because"] = _texts([reason.get("because") for reason in reasons], 2000)
    return {name: value for name, value in told.items() if value not in ("", ())}


def _trace(row: AuditRow, cascade: Mapping[str, Any]) -> tuple[int, int]:
    """The trace that a record belongs to, and the span of the client's that it hangs from (0 for none)."""
    parts = _text(cascade.get("trace")).split("-")
    try:
        _, trace, parent, _ = parts
        return int(trace, 16) % (1 << 128), int(parent, 16) % (1 << 64)
    except ValueError:
        return int(_digest(row)[:32], 16), 0


def _id(row: AuditRow, number: int) -> int:
    """A span's identifier, 64 bits and not 0."""
    return ((int(_digest(row)[32:48], 16) + number) % (1 << 64)) or 1


def _digest(row: AuditRow) -> str:
    """A record's digest; where somebody has put something else in its place, a digest of that."""
    told = str(row.digest)
    return told if _DIGEST.fullmatch(told) else sha256(told.encode("utf-8", "backslashreplace")).hexdigest()


def _ns(ms: object) -> int:
    return int(ms * 1_000_000) if isinstance(ms, int | float) and 0 <= ms < 1e12 else 0


def _text(value: object) -> str:
    return _to_utf8(value, _TEXT) if value is not None else ""


def _texts(values: list[Any], most: int = _TEXT) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_to_utf8(value, most) for value in values[:_MOST] if value))


def _to_utf8(value: object, most: int) -> str:
    """A text as UTF-8 has it: JSON can hold half a surrogate pair, and OTLP cannot."""
    return str(value)[:most].encode("utf-8", "backslashreplace").decode()
