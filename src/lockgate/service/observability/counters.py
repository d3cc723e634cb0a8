"""Counts audit records. Pure, and bounded for any number of sessions and calls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lockgate.core.display_text import visible
from lockgate.core.record import Record
from lockgate.store.audit.bodies import body_of, items, number, part
from lockgate.store.rows import AuditRow

DISTINCT = 300
"""Values that one label of one metric may have; each further one is counted as ``other``."""
SERIES = 2000
"""Combinations of labels that one metric may have."""
OTHER = "other"
_LONGEST = 80
"""Characters of a label's value."""

_SIGNALS = ("traces", "logs")
_QUICK = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 60.0, 300.0)


class Metric(Record):
    """A counter."""

    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    """Upper bounds in seconds; empty for a plain count."""
    values: tuple[str, ...] = ()
    """All values of the only label, where they are few: each is told from the start, as 0.

    To Prometheus, a count that is 1 when it is seen first has not increased.
    """


METRICS: Mapping[str, Metric] = {
    "decisions": Metric(
        "Decisions on tool calls, by the row of the first reason.", ("client", "verdict", "tier", "row")
    ),
    "decision_seconds": Metric("Time of a decision, with that of a judge or a person.", ("tier",), _QUICK),
    "step_seconds": Metric("Time of one step of a decision.", ("step",), _QUICK),
    "outcomes": Metric("What came of calls.", ("client", "outcome")),
    "labels_given": Metric("Labels that results gave to a session.", ("label",)),
    "pattern_matches": Metric("Matches of the pattern library.", ("rule", "where")),
    "pattern_groups_expired": Metric("Groups of patterns whose time was over.", ("group",)),
    "judge_calls": Metric("Questions to the model that judges.", ("answer", "cached")),
    "judge_seconds": Metric("Time until the judge answered.", (), _QUICK),
    "judge_tokens": Metric("Tokens that the judge read and wrote.", ("direction",)),
    "questions": Metric(
        "Questions to a person elsewhere, and what became of them.",
        ("state",),
        values=("asked", "used", "denied", "expired", "changed", "unproven"),
    ),
    "audit_records": Metric("Records of the audit.", ("event",)),
    "audit_records_removed": Metric("Records that retention or a person removed.", ("by",)),
    "audit_records_missed": Metric("Records that were removed before they were counted."),
    "errors": Metric("Lines of the log of what failed, by the kind of error.", ("kind",)),
    "export_failures": Metric("Sendings of traces or logs that failed.", ("to",), values=_SIGNALS),
    "export_records_passed_over": Metric(
        "Records that the collector refused for good: never sent.", ("to",), values=_SIGNALS
    ),
}


class Counts:
    """Counts so far. They only grow."""

    def __init__(self, kept: Mapping[str, Any] | None = None) -> None:
        """Go on with counts that :meth:`kept` gave, or begin with none."""
        self.values: dict[str, dict[tuple[str, ...], list[float]]] = {name: {} for name in METRICS}
        """By metric and values of its labels: the count; for a metric with buckets their counts, the rest, the sum."""
        for name, values in (kept or {}).items():
            if name in METRICS:
                self._restore(name, values)

    def _restore(self, name: str, values: Iterable[Any]) -> None:
        size = len(METRICS[name].buckets) + 2 if METRICS[name].buckets else 1
        for labels, numbers in values:
            if len(labels) == len(METRICS[name].labels) and len(numbers) == size:
                self.values[name][tuple(map(_label, labels))] = [float(number) for number in numbers]

    def copy(self) -> Counts:
        """The same counts, to go on from without changing these."""
        found = Counts()
        for name, values in self.values.items():
            found.values[name] = {labels: list(numbers) for labels, numbers in values.items()}
        return found

    def as_json(self) -> dict[str, Any]:
        """All of it as a JSON value."""
        return {
            name: [[list(labels), numbers] for labels, numbers in each.items()] for name, each in self.values.items()
        }

    def add(self, name: str, *labels: object, by: float = 1.0) -> None:
        """Count something."""
        self._numbers(name, labels, 1)[0] += by

    def observe(self, name: str, ms: object, *labels: object) -> None:
        """Count how many milliseconds something took; what is no such number is passed over."""
        found = number(ms)
        if found is None or found < 0:
            return
        seconds = found / 1000
        buckets = METRICS[name].buckets
        numbers = self._numbers(name, labels, len(buckets) + 2)
        place = next((place for place, bound in enumerate(buckets) if seconds <= bound), len(buckets))
        numbers[place] += 1
        numbers[-1] += seconds

    def _numbers(self, name: str, labels: tuple[object, ...], size: int) -> list[float]:
        known = self.values[name]
        key = tuple(_label(label) for label in labels)
        if key not in known:
            full = len(known) >= SERIES
            key = tuple(OTHER if full else self._limit_label(known, place, label) for place, label in enumerate(key))
        return known.setdefault(key, [0.0] * size)

    def _limit_label(self, known: Mapping[tuple[str, ...], Any], place: int, label: str) -> str:
        values = {each[place] for each in known}
        return label if label in values or len(values) < DISTINCT else OTHER


def _label(value: object) -> str:
    # Half a surrogate pair, which JSON can hold, has no place in a page of UTF-8; nor has an escape in a terminal.
    return visible(str(value)[:_LONGEST], _LONGEST) if value not in (None, "") else "none"


def count(counts: Counts, row: AuditRow) -> None:
    """Count one record."""
    body = body_of(row.body)
    event = body.get("event")
    counts.add("audit_records", event)
    match event:
        case "decision":
            _decision(counts, body)
        case "outcome":
            counts.add("outcomes", body.get("client"), body.get("outcome"))
            for label in items(body.get("gave")):
                counts.add("labels_given", label)
            _patterns(counts, body, "result")
        case "asked":
            counts.add("questions", "asked")
        case "answered":
            counts.add("questions", body.get("state"))
        case "pruned":
            removed = part(body.get("checkpoint")).get("removed")
            counts.add("audit_records_removed", body.get("by"), by=_amount(removed))


def _judge_answer(judge: Mapping[str, Any]) -> str:
    if judge.get("failed"):
        return "failed"
    return "flagged" if judge.get("flagged") else "not flagged"


def _decision(counts: Counts, body: Mapping[str, Any]) -> None:
    if body.get("trial") is True:  # `lockgate doctor` tries whether it is refused
        return
    cascade = part(body.get("cascade"))
    reasons = items(body.get("reasons"))
    row = part(reasons[0]).get("row") if reasons else None
    counts.add("decisions", body.get("client"), body.get("verdict"), cascade.get("tier"), row)
    counts.observe("decision_seconds", cascade.get("ms"), cascade.get("tier"))
    for step, taken in part(cascade.get("steps")).items():
        counts.observe("step_seconds", taken, step)
    judge = cascade.get("judge")
    if isinstance(judge, dict):
        counts.add("judge_calls", _judge_answer(judge), "yes" if judge.get("cached") else "no")
        if not judge.get("cached"):
            counts.observe("judge_seconds", judge.get("ms"))
            for direction, tokens in zip(("read", "written"), items(judge.get("tokens")), strict=False):
                counts.add("judge_tokens", direction, by=_amount(tokens))
    _patterns(counts, body, "call")


def _patterns(counts: Counts, body: Mapping[str, Any], where: str) -> None:
    found = part(body.get("guardrail"))
    for each in items(found.get("matches")):
        counts.add("pattern_matches", part(each).get("rule"), where)
    for each in items(found.get("expired")):
        counts.add("pattern_groups_expired", part(each).get("group"))


def _amount(value: object) -> float:
    """How many there are of something: counts only grow."""
    return max(number(value) or 0.0, 0.0)
