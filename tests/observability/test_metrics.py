"""What is counted, that it stays bounded and never falls, and that Prometheus can read it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from lockgate.audit import pruning
from lockgate.errors import StoreError
from lockgate.logs import NAME, note
from lockgate.observability import tailing
from lockgate.observability.counting import DISTINCT, METRICS, OTHER, SERIES, Counts, count
from lockgate.observability.gauges import Chain, Gauges, look, verified
from lockgate.observability.prometheus import exposition
from lockgate.observability.running import Exporter
from lockgate.observability.settings import Settings
from lockgate.observability.tailing import Kept, Place
from lockgate.session.sessions import SELF_TEST
from lockgate.store.links import canonical
from lockgate.store.protocol import Store
from lockgate.store.rows import ApprovalRow, AuditRow, SessionRow
from lockgate.store.sqlite import SqliteStore

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


def samples(page: bytes) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What Prometheus' own parser reads, each series once."""
    found: dict[tuple[str, frozenset[tuple[str, str]]], float] = {}
    for family in text_string_to_metric_families(page.decode()):
        assert family.documentation
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in found
            found[key] = sample.value
    return found


def at(page: bytes, name: str, **labels: str) -> float:
    return samples(page)[(f"lockgate_{name}", frozenset(labels.items()))]


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
    count(counts, row({**DECISION, "session": SELF_TEST}))
    page = exposition(counts, Gauges(), None)
    assert b'verdict="deny"' not in page
    assert at(page, "audit_records_total", event="decision") == 1


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
@settings(max_examples=40, deadline=None)
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
    return SqliteStore.open(str(tmp_path / "state"))


def append(store: SqliteStore, count: int) -> None:
    with store.transaction() as tx:
        for _ in range(count):
            tx.append_audit(1.0, {"event": "prompt"})


def total(kept: Kept, name: str = "audit_records") -> float:
    return sum(numbers[0] for numbers in kept.counts.values[name].values())


def test_counts_go_on_over_restarts_and_cuts(store: SqliteStore, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    kept = tailing.counted(store, state, tailing.load(state))
    append(store, 1200)
    kept = tailing.counted(store, state, kept)
    assert total(kept) == 1200
    tailing.save(state, kept)
    assert os.stat(os.path.join(state, tailing.FILE)).st_mode & 0o777 == 0o600
    append(store, 5)
    kept = tailing.counted(store, state, tailing.load(state))
    assert total(kept) == 1205
    with store.transaction() as tx:
        pruning.cut(tx, store.key, 1203, 1.0, {"by": "test"})
    kept = tailing.counted(store, state, kept)
    assert (total(kept), total(kept, "audit_records_missed")) == (1206, 0)
    append(store, 10)
    with store.transaction() as tx:
        pruning.cut(tx, store.key, 1210, 1.0, {"by": "test"})
    kept = tailing.counted(store, state, kept)
    assert (total(kept), total(kept, "audit_records_missed")) == (1213, 4)


def test_another_chain_is_counted_from_its_beginning(store: SqliteStore, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    append(store, 10)
    kept = tailing.counted(store, state, tailing.load(state))
    other = SqliteStore.open(str(tmp_path / "other"))
    append(other, 3)
    assert total(tailing.counted(other, state, kept)) == 13
    again = SqliteStore.open(str(tmp_path / "again"))
    with again.transaction() as tx:
        tx.append_audit(9.0, {"event": "prompt"})
    append(again, 11)
    assert total(tailing.counted(again, state, kept._replace(counts=Counts()))) == 12


@pytest.mark.parametrize(
    ("seq", "same", "goes_on_at", "missed"),
    [
        (0, True, 4, 0),
        (2, True, 4, 2),
        (3, False, 4, 1),
        (4, True, 4, 0),
        (4, False, 4, 0),
        (5, True, 5, 0),
        (5, False, 4, 0),
        (7, True, 7, 0),
        (7, False, 4, 0),
        (10, True, 10, 0),
        (10, False, 4, 0),
        (11, False, 4, 0),
    ],
)
def test_a_look_goes_on_where_the_last_one_ended_or_at_the_chains_beginning(
    store: SqliteStore, seq: int, same: bool, goes_on_at: int, missed: int
) -> None:
    """A chain of which records 5 to 10 are kept."""
    append(store, 9)
    with store.reading() as tx:
        digests = {row.seq: row.digest for row in tx.audit()}
    with store.transaction() as tx:
        pruning.cut(tx, store.key, 4, 1.0, {"by": "test"})
        digests[10] = tx.audit_head().digest
    place = Place(seq, (digests.get(seq, "") if same else "another") if seq else "")
    assert tailing.settled(store, place) == (Place(goes_on_at, digests[goes_on_at]), missed)


def test_a_look_that_fails_half_way_counts_nothing_twice(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(store, 5)
    monkeypatch.setattr(tailing, "PAGE", 2)
    pages, kept = tailing.pages, Kept(Counts())

    def broken(store: Store, place: Place) -> Iterator[Sequence[AuditRow]]:
        yield next(pages(store, place))
        raise StoreError("the disk is gone")

    monkeypatch.setattr(tailing, "pages", broken)
    with pytest.raises(StoreError):
        tailing.counted(store, str(tmp_path), kept)
    assert total(kept) == 0
    monkeypatch.setattr(tailing, "pages", pages)
    assert total(tailing.counted(store, str(tmp_path), kept)) == 5


def test_an_exporter_follows_the_state_where_it_is(tmp_path: Path) -> None:
    state, told = tmp_path / "state", list[str]()

    def recorded(count: int) -> None:
        store = SqliteStore.open(str(state))
        append(store, count)
        store.close()

    recorded(3)
    exporter = Exporter(str(state), Settings(), told.append)
    exporter.look()
    state.rename(tmp_path / "aside")
    recorded(5)
    exporter.look()
    assert at(exporter.page, "audit_last_record") == 5
    (state / "key").unlink()
    exporter.look()
    exporter.look()
    assert (at(exporter.page, "store_up"), len(told)) == (0, 1)


@pytest.mark.parametrize("spoilt", ["", "[]", "{}", "nonsense", '{"format":1,"counts":{"decisions":[[["a"],[1]]]}}'])
def test_what_cannot_be_read_is_begun_anew(store: SqliteStore, tmp_path: Path, spoilt: str) -> None:
    state = tmp_path / "state"
    append(store, 2)
    (state / tailing.FILE).write_text(spoilt)
    assert total(tailing.counted(store, str(state), tailing.load(str(state)))) == 2


def test_errors_are_counted_once_also_when_their_log_is_rotated(store: SqliteStore, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    kept = Kept(Counts())
    for number in range(3):
        note(state, "PreToolUse", "StoreError", "sqlite.py:1")
        kept = tailing.counted(store, state, kept)
        assert kept.counts.values["errors"] == {("StoreError",): [number + 1]}
    note(state, "plugin a b", "DeadlineError", "x.py:2")
    os.replace(os.path.join(state, NAME), os.path.join(state, f"{NAME}.1"))
    note(state, "gate", "StoreError", "x.py:2")
    with open(os.path.join(state, NAME), "a") as file:
        file.write("2026 half")
    kept = tailing.counted(store, state, kept)
    assert kept.counts.values["errors"] == {("StoreError",): [4], ("DeadlineError",): [1]}
    with open(os.path.join(state, NAME), "a") as file:
        file.write(" a line\nx\n")
    kept = tailing.counted(store, state, tailing.counted(store, state, kept))
    assert kept.counts.values["errors"][("unreadable",)] == [1]


def test_how_things_are(store: SqliteStore, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    now = store.clock()
    with store.transaction() as tx:
        tx.put_session(SessionRow("open", seen_at=now))
        tx.put_session(SessionRow("ended", seen_at=now, ended_at=now))
        tx.put_session(SessionRow("lost", seen_at=now - 2 * 86400))
        tx.put_session(SessionRow(SELF_TEST, seen_at=now))
        tx.put_approval(ApprovalRow("k", "open", "", "", "", "", "", {}, "pending", now, now + 60))
        tx.put_approval(ApprovalRow("over", "open", "", "", "", "", "", {}, "pending", now - 60, now - 1))
    append(store, 5)
    with store.transaction() as tx:
        pruning.cut(tx, store.key, 2, 77.0, {})
    page = exposition(Counts(), look(store, state), verified(store))
    assert at(page, "sessions", labels="clean") == 1
    assert at(page, "sessions", labels="both") == 0
    assert at(page, "questions_open") == 1
    assert at(page, "audit_first_record") == 3
    assert at(page, "audit_last_record") == 6
    assert at(page, "audit_cut_timestamp_seconds") == 77
    assert (at(page, "store_up"), at(page, "gate_up"), at(page, "audit_chain_holds")) == (1, 0, 1)
    store._connection.execute("DROP TRIGGER audit_no_update")
    store._connection.execute("UPDATE audit SET body = '{}' WHERE seq = 4")
    assert at(exposition(Counts(), look(store, state), verified(store)), "audit_chain_holds") == 0
    store._connection.execute("DROP TABLE approvals")
    assert at(exposition(Counts(), look(store, state), None), "store_up") == 0
    assert json.loads(json.dumps(Counts().kept())) == {name: [] for name in METRICS}


def test_alerts_and_dashboard_are_about_metrics_that_there_are() -> None:
    root = Path(__file__).parents[2]
    text = (root / "docs" / "operations.md").read_text()
    block = text.split("## Alerts", 1)[1].split("```yaml\n", 1)[1].split("```", 1)[0]
    panels = json.loads((root / "examples" / "grafana-dashboard.json").read_text())["panels"]
    said = [rule["expr"] for rule in yaml.safe_load(block)["groups"][0]["rules"]]
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
