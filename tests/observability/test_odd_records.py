"""Records of which somebody has changed a value are counted, sent and exported as well as they can be."""

from __future__ import annotations

import copy
import json
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lockgate.service.observability.counters import Counts, count
from lockgate.service.observability.gauges import Gauges
from lockgate.service.observability.prometheus import exposition
from lockgate.service.observability.siem.formats import cef, ocsf
from lockgate.service.observability.spans import log, spans
from lockgate.store.rows import AuditRow

DECISION = {
    "event": "decision",
    "client": "claude-code",
    "session": "s1",
    "agent": "",
    "tool": "Bash",
    "call": "c1",
    "input": {"command": "ls"},
    "verdict": "deny",
    "labels": ["secret"],
    "profile": "autonomous",
    "column": "both",
    "reasons": [{"row": "egress", "rule": "program:curl", "because": "it sends"}],
    "guardrail": {"matches": [{"rule": "key", "severity": "high"}], "expired": [{"group": "pii"}]},
    "cascade": {
        "tier": "judge",
        "ms": 3.2,
        "steps": {"analysis": 1.0, "person": 2, "transaction": 0.5},
        "trace": f"00-{'a' * 32}-{'b' * 16}-01",
        "approval": "q1",
        "judge": {"failed": "", "flagged": True, "cached": False, "ms": 4, "model": "m", "tokens": [700, 30]},
    },
}
RECORDS: dict[str, dict[str, Any]] = {
    "decision": DECISION,
    "outcome": {"event": "outcome", "client": "c", "outcome": "finished", "gave": ["secret"], "session": "s1"},
    "pruned": {"event": "pruned", "by": "retention", "checkpoint": {"removed": 3}},
    "answered": {"event": "answered", "state": "used"},
}
NUMBERS = [-5, 0, 1e308, 1e999, -1e999, float("nan"), 10**400, -(10**400)]
ODD = [None, True, *NUMBERS, "", "x", "\ud800", [], [None], [[1]], [{}], {}, {"a": []}]
READERS: dict[str, Callable[[AuditRow], object]] = {
    "cef": cef,
    "ocsf": ocsf,
    "spans": lambda row: spans(row, calls=True),
    "log": lambda row: log(row, calls=True),
}


def _places(value: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The way to every value in a record."""
    below = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in below:
        yield (*above, key)
        yield from _places(each, (*above, key))


def _changed(record: dict[str, Any]) -> Iterator[AuditRow]:
    for *above, last in _places(record):
        for odd in ODD:
            body = copy.deepcopy(record)
            at: Any = body
            for key in above:
                at = at[key]
            at[last] = odd
            yield AuditRow(seq=1, at=1.7e9, body=json.dumps(body), previous="e" * 64, digest="d" * 64)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", RECORDS)
def test_any_value_may_stand_in_any_place(name: str, reader: str) -> None:
    for row in _changed(RECORDS[name]):
        READERS[reader](row)


@pytest.mark.parametrize("name", RECORDS)
def test_all_of_it_has_a_page(name: str) -> None:
    counts = Counts()
    for row in [*_changed(RECORDS[name]), *_changed({"event": "\x1b[31m", "client": "\x1b[31m"})]:
        count(counts, row)
    page = exposition(counts, Gauges(), None).decode()
    assert "\x1b" not in page
    assert exposition(Counts(json.loads(json.dumps(counts.as_json()))), Gauges(), None).decode() == page


def test_counts_that_were_kept_with_what_has_no_place_have_a_page() -> None:
    kept = {"audit_records": [[["\ud800"], [2.0]]]}
    assert b'lockgate_audit_records_total{event="\\\\u{d800}"} 2.0' in exposition(Counts(kept), Gauges(), None)


@pytest.mark.parametrize("name", RECORDS)
def test_a_count_stays_a_number_and_never_falls(name: str) -> None:
    counts = Counts()
    before: dict[tuple[str, tuple[str, ...]], list[float]] = {}
    for row in _changed(RECORDS[name]):
        count(counts, row)
        after = {(metric, labels): list(n) for metric, each in counts.values.items() for labels, n in each.items()}
        for series, numbers in after.items():
            assert all(math.isfinite(number) for number in numbers), (series, row.body)
            assert all(map(lambda new, old: new >= old, numbers, before.get(series, [0.0] * 99))), (series, row.body)
        before = after
