"""A decision asks the shared store four times, and what comes early is what would have been told later."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.gate.session.labels import OLDEST
from lockgate.store.opening import open_store
from lockgate.store.postgres.statements import PostgresStatements
from lockgate.store.postgres.store import PostgresStore
from lockgate.store.postgres.transaction import PostgresTransaction
from lockgate.store.rows import AgentRow, CallRow, SessionRow
from support.postgres import use

S = "s1"
MAIN, SUB = Subject(S), Subject(S, "a1")
ODD = 'a\x00b\x1a"\\\U0001f512\u202e'


@pytest.fixture
def store(tmp_path: Path, postgres_url: str) -> Iterator[PostgresStore]:
    found = open_store(str(use(tmp_path / "state", postgres_url)), busy_seconds=5)
    assert isinstance(found, PostgresStore)
    with found.transaction() as tx:
        tx.put_session(SessionRow(S))
        tx.append_audit(found.clock(), {"event": "begin"})
    yield found
    found.close()


@pytest.fixture
def trips(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many statements went with each trip."""
    seen: list[int] = []
    run, begun = PostgresStatements._run, PostgresStore._begin

    def counted(self: PostgresStatements, *last: Any) -> Any:
        seen.append(len(self._unsent) + len(last) + len(self._along))
        return run(self, *last)

    def counted_begin(self: PostgresStore, *arguments: Any, **named: Any) -> None:
        seen.append(1)
        begun(self, *arguments, **named)

    monkeypatch.setattr(PostgresStatements, "_run", counted)
    monkeypatch.setattr(PostgresStore, "_begin", counted_begin)
    return seen


def before_a_call(store: PostgresStore, tx: PostgresTransaction) -> None:
    """What a decision about a call asks for and writes."""
    now = store.clock()
    tx.session(S)
    tx.taints(MAIN, limit=OLDEST)
    for _ in range(2):
        tx.call(S, "c1")
    tx.put_call(CallRow(S, "c1", "", "Bash", "0" * 64, "running", at=now))
    tx.append_audit(now, {"event": "call"})


def after_a_call(store: PostgresStore, tx: PostgresTransaction) -> None:
    """The same for its result."""
    now = store.clock()
    tx.session(S)
    row = tx.call(S, "c1")
    assert row is not None
    assert tx.call(S, "c1") == row
    tx.put_call(row._replace(state="finished"))
    assert tx.agents(S) == []
    tx.append_audit(now, {"event": "result"})


def test_a_decision_takes_four_trips(store: PostgresStore, trips: list[int]) -> None:
    for step in (before_a_call, after_a_call):
        trips.clear()
        with store.transaction() as tx:
            step(store, tx)
        assert len(trips) == 4
        assert sum(trips) <= 8
    with store.reading() as tx:
        assert [row.seq for row in tx.audit()] == [1, 2, 3]
        assert tx.call(S, "c1") == CallRow(
            S, "c1", "", "Bash", "0" * 64, "finished", at=pytest.approx(store.clock(), abs=60)
        )


def _taints(count: int) -> list[Taint]:
    states = [TaintState.CONFIRMED, TaintState.CONFIRMED, TaintState.PENDING]
    return [
        Taint(list(Label)[n % 2], f"{ODD}{n}", "WebFetch", f"c{n}", 1.0e9 + n / 3, states[n % 3], "agent a1")
        for n in range(count)
    ]


@pytest.mark.parametrize("count", [0, 1, 5, 120])
def test_the_labels_that_come_with_a_session_are_those_that_are_asked_for(store: PostgresStore, count: int) -> None:
    with store.transaction() as tx:
        tx.add_taints(MAIN, _taints(count))
        tx.add_taints(SUB, _taints(3))
    with store.transaction() as tx:
        asked = {subject: tx.taints(subject, limit=OLDEST) for subject in (MAIN, SUB)}
    with store.transaction() as tx:
        assert tx.session(S) is not None
        assert {subject: tx.taints(subject, limit=OLDEST) for subject in (MAIN, SUB)} == asked
        assert len(tx.taints(MAIN, limit=3)) <= len(tx.taints(MAIN)) == count


def test_what_was_written_meanwhile_is_told(store: PostgresStore) -> None:
    agent, call = AgentRow(S, "a1"), CallRow(S, "c1", "", "Bash", "0" * 64, "running")
    with store.transaction() as tx:
        assert tx.session(S) is not None
        assert (tx.agents(S), tx.agent(SUB), tx.taints(MAIN, limit=OLDEST), tx.call(S, "c1")) == ([], None, [], None)
        tx.put_agent(agent)
        tx.put_call(call)
        tx.add_taints(MAIN, _taints(3))
        assert (tx.agents(S), tx.agent(SUB), tx.call(S, "c1")) == ([agent], agent, call)
        assert tx.taints(MAIN, limit=OLDEST) == _taints(3)
        assert tx.settle(S, "c2", confirm=False) == 1
        assert tx.taints(MAIN, limit=OLDEST) == _taints(2)


def test_what_another_gate_wrote_meanwhile_is_told(store: PostgresStore, tmp_path: Path, postgres_url: str) -> None:
    other = open_store(str(use(tmp_path / "other", postgres_url)), busy_seconds=5)
    try:
        for number in range(3):
            with other.transaction() as tx:
                tx.put_call(CallRow(S, "c1", "", "Bash", str(number) * 64, "running"))
                tx.add_taints(MAIN, _taints(number))
            with store.transaction() as tx:
                assert tx.session(S) is not None
                found = tx.call(S, "c1")
                assert (found is not None and found.digest, len(tx.taints(MAIN, limit=OLDEST))) == (
                    str(number) * 64,
                    number,
                )
    finally:
        other.close()


def test_a_chain_that_begins_with_a_call(store: PostgresStore, tmp_path: Path, postgres_url: str) -> None:
    other = open_store(str(use(tmp_path / "other", postgres_url)), busy_seconds=5)
    assert isinstance(other, PostgresStore)
    try:
        with other.transaction() as tx:
            before_a_call(other, tx)
        with other.reading() as tx:
            assert tx.audit_head().seq == 1
    finally:
        other.close()
