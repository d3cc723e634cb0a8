"""What is counted, that it stays bounded and never falls, and that Prometheus can read it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from lockgate.gate.session.sessions import TRIAL
from lockgate.service.observability.counters import DISTINCT, METRICS, OTHER, SERIES, Counts, Metric, count
from lockgate.service.observability.gauges import Chain, Gauges, look, verify_chain
from lockgate.service.observability.prometheus import exposition
from lockgate.store.audit import pruning
from lockgate.store.chain_links import canonical
from lockgate.store.rows import ApprovalRow, AuditRow, SessionRow
from lockgate.store.sqlite.store import SqliteStore
from observability.exposed import append, at, samples
from support.prepared import open_new
from support.stress import examples
from support.unguarded import unguarded

DECISION: dict[str, Any] = {
    "event": "decision",
    "client": "codex",
    "verdict": "deny",
    "session": "secret-session-id",
    "tool": "Bash",
    "input": {"command": "secret command"},
    "reasons": [{"row": "egress", "rule": "program:git"}, {"row": "read", "rule": "x"}],
    "cascade": {
        "tier": "judge",
        "ms": 420.0,
        "steps": {"analysis": 0.4, "transaction": 1.5},
        "judge": {"flagged": True, "failed": "", "ms": 400.0, "cached": False, "tokens": [90, 7]},
    },
    "guardrail": {"matches": [{"rule": "aws-key"}, {"rule": "aws-key"}], "expired": [{"group": "secrets"}]},
}
BODIES: list[dict[str, Any]] = [
    DECISION,
    {"event": "outcome", "client": "codex", "outcome": "finished", "gave": ["untrusted", "secret"]},
    {"event": "asked", "approval": "k"},
    {"event": "answered", "approval": "k", "state": "used"},
    {"event": "pruned", "by": "retention", "checkpoint": {"removed": 40}},
]


def row(body: object, seq: int = 1) -> AuditRow:
    return AuditRow(seq, 1.0, body if isinstance(body, str) else canonical(body), "", "")  # type: ignore[arg-type]


def test_everything_is_counted_and_nothing_that_names_a_session_or_a_call() -> None:
    counts = Counts()
    for body in BODIES:
        count(counts, row(body))
    page = exposition(counts, Gauges(), None)
    assert at(page, "decisions_total", client="codex", verdict="deny", tier="judge", row="egress") == 1
    assert at(page, "decision_seconds_sum", tier="judge") == pytest.approx(0.42)
    assert at(page, "decision_seconds_bucket", tier="judge", le="0.25") == 0
    assert at(page, "decision_seconds_bucket", tier="judge", le="0.5") == 1
    assert at(page, "decision_seconds_bucket", tier="judge", le="+Inf") == 1
    assert at(page, "decision_seconds_count", tier="judge") == 1
    assert at(page, "step_seconds_count", step="analysis") == 1
    assert at(page, "outcomes_total", client="codex", outcome="finished") == 1
    assert at(page, "labels_given_total", label="secret") == 1
    assert at(page, "pattern_matches_total", rule="aws-key", where="call") == 2
    assert at(page, "pattern_groups_expired_total", group="secrets") == 1
    assert at(page, "judge_calls_total", answer="flagged", cached="no") == 1
    assert at(page, "judge_seconds_count") == 1
    assert at(page, "judge_tokens_total", direction="read") == 90
    assert at(page, "questions_total", state="used") == 1
    assert at(page, "audit_records_removed_total", by="retention") == 40
    assert at(page, "audit_records_total", event="decision") == 1
    assert b"secret-session-id" not in page
    assert b"secret command" not in page


def test_the_doctors_own_trial_is_no_decision() -> None:
    counts = Counts()
    count(counts, row({**DECISION, "trial": True}))
    page = exposition(counts, Gauges(), None)
    assert b'verdict="deny"' not in page
    assert at(page, "audit_records_total", event="decision") == 1


@pytest.mark.parametrize("session", ["lockgate-doctor", f"{TRIAL}0"])
def test_a_session_that_calls_itself_the_doctor_is_counted(session: str) -> None:
    counts = Counts()
    count(counts, row({**DECISION, "session": session}))
    assert b'verdict="deny"' in exposition(counts, Gauges(), None)


def test_every_metric_is_documented() -> None:
    text = (Path(__file__).parents[2] / "docs" / "observability.md").read_text()
    page = exposition(Counts(), Gauges(True, {"clean": 1}, gate=dict.fromkeys(_GATE, 1)), Chain(holds=True, at=1.0))
    named = {family.name for family in text_string_to_metric_families(page.decode())}
    assert named >= {f"lockgate_{name}" for name in METRICS if not METRICS[name].labels}
    named |= {f"lockgate_{name}" for name in METRICS}
    assert [name for name in sorted(named) if f"`{name}" not in text] == []


_GATE = (
    "memory_mb connections waiting_for_others p50_ms p99_ms started_at answered declined failed".split()  # noqa: SIM905
)


@given(values=st.lists(st.text(max_size=6), max_size=20))
@settings(max_examples=examples(40), deadline=None)
def test_any_label_can_be_read_back(values: list[str]) -> None:
    counts = Counts()
    for value in values:
        count(counts, row({"event": "outcome", "client": value, "outcome": value}))
    page = exposition(counts, Gauges(), None)
    total = sum(value for (name, _), value in samples(page).items() if name == "lockgate_outcomes_total")
    assert total == len(values)


def test_labels_are_bounded_whatever_comes() -> None:
    counts = Counts()
    for number in range(DISTINCT * 3):
        count(counts, row({"event": "outcome", "client": f"c{number}", "outcome": f"o{number}"}))
        count(counts, row({"event": f"e{number}" + "x" * 5000}))
    assert len({client for client, _ in counts.values["outcomes"]}) == DISTINCT + 1
    assert counts.values["outcomes"][(OTHER, OTHER)] == [DISTINCT * 2]
    assert max(len(event) for (event,) in counts.values["audit_records"]) <= 80
    for client in range(100):
        for state in range(100):
            counts.add("outcomes", f"c{client}", f"o{state}")
    assert len(counts.values["outcomes"]) <= SERIES + 1


@pytest.mark.parametrize(
    "body",
    [
        "nonsense",
        "[1]",
        {},
        {"event": 7},
        {"event": "decision"},
        {"event": "decision", "cascade": 7, "reasons": "x", "guardrail": []},
        {"event": "decision", "cascade": {"ms": "x", "steps": {"a": None}, "judge": {"tokens": "x", "ms": -1}}},
        {"event": "decision", "reasons": [7], "guardrail": {"matches": [7], "expired": 7}},
        {"event": "outcome", "gave": 7},
        {"event": "pruned", "checkpoint": {"removed": "x"}},
    ],
    ids=repr,
)
def test_a_record_of_another_shape_is_counted_too(body: object) -> None:
    counts = Counts()
    count(counts, row(body))
    assert sum(numbers[0] for numbers in counts.values["audit_records"].values()) == 1
    samples(exposition(counts, Gauges(), None))


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return open_new(tmp_path / "state")


def test_how_things_are(store: SqliteStore, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    now = store.clock()
    with store.transaction() as tx:
        tx.put_session(SessionRow("open", seen_at=now))
        tx.put_session(SessionRow("ended", seen_at=now, ended_at=now))
        tx.put_session(SessionRow("lost", seen_at=now - 2 * 86400))
        tx.put_approval(ApprovalRow("k", "open", "", "", "", "", "", {}, "pending", now, now + 60))
        tx.put_approval(ApprovalRow("over", "open", "", "", "", "", "", {}, "pending", now - 60, now - 1))
    append(store, 5)
    with store.transaction() as tx:
        pruning.cut(tx, store.key, 2, 77.0, {})
    page = exposition(Counts(), look(store, state), verify_chain(store))
    assert at(page, "sessions", labels="clean") == 1
    assert at(page, "sessions", labels="both") == 0
    assert at(page, "questions_open") == 1
    assert at(page, "audit_first_record") == 3
    assert at(page, "audit_last_record") == 6
    assert at(page, "audit_cut_timestamp_seconds") == 77
    assert (at(page, "store_up"), at(page, "gate_up"), at(page, "audit_chain_holds")) == (1, 0, 1)
    with unguarded(store._connection) as connection:
        connection.execute("UPDATE audit SET body = '{}' WHERE seq = 4")
    assert at(exposition(Counts(), look(store, state), verify_chain(store)), "audit_chain_holds") == 0
    store._connection.execute("DROP TABLE approvals")
    assert at(exposition(Counts(), look(store, state), None), "store_up") == 0
    assert json.loads(json.dumps(Counts().as_json())) == {name: [] for name in METRICS}


def alerts() -> list[str]:
    """The expressions of the documentation's rules."""
    text = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
    block = text.split("## Alerts", 1)[1].split("```yaml\n", 1)[1].split("```", 1)[0]
    return [rule["expr"] for rule in yaml.safe_load(block)["groups"][0]["rules"]]


def test_an_alert_about_one_event_hears_of_the_first_one() -> None:
    """To Prometheus, a series that begins at 1 has not increased: it begins at 0, or the rule looks for new ones."""
    asked = set()
    for expression in alerts():
        for name, counted in re.findall(r"increase\((lockgate_(\w+?)_total)\S*\[\w+\]\)+ > 0", expression):
            metric = METRICS.get(counted, Metric(""))  # what is no metric of ours is the gate's, and has no labels
            assert metric.values or not metric.labels or f"unless last_over_time({name}" in expression
            asked.add(counted)
    assert asked == {
        *("errors", "gate_failed", "pattern_matches", "audit_records_missed", "export_records_passed_over"),
    }


def test_metrics_begin_at_nothing() -> None:
    page = exposition(Counts(), Gauges(True, {}), None).decode()
    for name, metric in METRICS.items():
        for value in metric.values:
            assert f'lockgate_{name}_total{{{metric.labels[0]}="{value}"}} 0.0' in page


def test_alerts_and_dashboard_are_about_metrics_that_there_are() -> None:
    root = Path(__file__).parents[2]
    panels = json.loads((root / "examples" / "grafana-dashboard.json").read_text())["panels"]
    said = alerts()
    said += [target["expr"] for panel in panels for target in panel["targets"]]
    gauges = Gauges(True, {"clean": 1}, gate=dict.fromkeys(_GATE, 1))
    counts = Counts()
    for body in BODIES:
        count(counts, row(body))
    for name in ("errors", "export_failures", "export_records_passed_over"):
        counts.add(name, "x")
    known = {name for name, _ in samples(exposition(counts, gauges, Chain(holds=True, at=1.0)))}
    for expression in said:
        named = set(re.findall(r"lockgate_\w+", expression))
        assert named
        assert named <= known
