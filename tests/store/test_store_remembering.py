"""What a store remembers is what stands in its database, whoever wrote it and whatever was undone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from contract import SESSION, StoreContract
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.store.audit.chain import verify_store
from lockgate.store.chain_links import SCHEMA
from lockgate.store.files import VERSION
from lockgate.store.rows import AgentRow, CallRow
from lockgate.store.sqlite import row_cache as remembering
from lockgate.store.sqlite.group_commit import GroupingStore
from lockgate.store.sqlite.store import SqliteStore
from lockgate.store.sqlite.transaction import SqliteTransaction
from support.stress import examples

NAMES = ("s1", "s2", "s3")


class TestGrouping(StoreContract):
    begins = {SCHEMA: VERSION}  # noqa: RUF012 - nobody changes it

    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[], GroupingStore]:
        return lambda: GroupingStore.open(str(tmp_path / "state"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GroupingStore]:
    made = GroupingStore.open(str(tmp_path / "state"), busy_seconds=0.2)
    yield made
    made.close()


@pytest.fixture
def other(store: GroupingStore) -> Iterator[SqliteStore]:
    """Another process."""
    made = SqliteStore.open(store._folder, busy_seconds=0.2)
    yield made
    made.close()


def taint(number: int, state: TaintState = TaintState.PENDING) -> Taint:
    return Taint(Label.UNTRUSTED, f"source {number}", "Bash", f"c{number % 3}", float(number), state)


def do(tx: SqliteTransaction, what: str, number: int) -> None:
    """Write something."""
    name = NAMES[number % 3]
    match what:
        case "session":
            tx.put_session(SESSION._replace(session=name, seen_at=float(number)))
        case "agent":
            tx.put_agent(AgentRow(name, f"a{number % 2}", started_at=float(number)))
        case "taint":
            tx.add_taints(Subject(name, ("", "a0")[number % 2]), [taint(number)])
        case "settle":
            tx.settle(name, f"c{number % 3}", confirm=number % 2 == 0)
        case "call":
            state = ("running", "asked", "finished", "refused")[number % 4]
            tx.put_call(CallRow(name, f"c{number % 2}", facts={"n": number // 8}, state=state, at=1.0))
        case "audit":
            tx.append_audit(float(number), {"event": "e", "n": number})
        case "prune":
            tx.prune(float(number))
        case _:
            raise AssertionError(what)


def seen(tx: SqliteTransaction) -> list[Any]:
    """All that is remembered."""
    found: list[Any] = []
    for name in NAMES:
        found += [tx.session(name), tx.agents(name)]
        found += [tx.taints(Subject(name, agent), limit=limit) for agent in ("", "a0") for limit in (0, 1, 16)]
        found += [tx.call(name, f"c{number}") for number in range(2)]
    return found


def check(store: GroupingStore) -> None:
    """What is remembered is what a transaction reads that remembers nothing."""
    with store.transaction() as tx:
        assert isinstance(tx, remembering.RememberingTransaction)
        tx.keep_head()
        assert seen(tx) == seen(SqliteTransaction(store._connection, store._key, writable=False))


_WHAT = st.sampled_from(("session", "agent", "taint", "settle", "call", "audit", "prune"))
_WRITES = st.lists(st.tuples(_WHAT, st.integers(0, 40)), max_size=4)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(("keep", "fail", "other")), _WRITES),
        st.tuples(st.sampled_from(("begin", "end", "abandon")), st.just([])),
    ),
    max_size=14,
)


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS)
def test_what_is_remembered_is_what_is_kept(tmp_path_factory: pytest.TempPathFactory, steps: list[Any]) -> None:
    folder = str(tmp_path_factory.mktemp("store") / "state")
    store, other = GroupingStore.open(folder, busy_seconds=0.2), SqliteStore.open(folder, busy_seconds=0.0)
    grouping = False
    for step, writes in steps:
        if step == "begin":
            store.begin_group()
            grouping = True
        elif step in ("end", "abandon") and grouping:
            store.end_group() if step == "end" else store.abandon_group()
            grouping = False
        elif step in ("keep", "fail"):
            write(store, writes, fails=step == "fail")
            check(store)
        elif step == "other" and not grouping:
            write(other, writes, fails=False)
            check(store)
    if grouping:
        store.end_group()
    check(store)
    with other.reading() as tx:
        assert verify_store(tx, other.key).ok
    store.close()
    other.close()


def write(store: SqliteStore, writes: list[tuple[str, int]], *, fails: bool) -> None:
    try:
        with store.transaction() as tx:
            for what, number in writes:
                do(tx, what, number)
                seen(tx)
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        pass


# ---------------------------------------------------------------- what is read, and what is not
@pytest.fixture
def read(store: GroupingStore) -> Iterator[list[str]]:
    """The statements that reach the database."""
    statements: list[str] = []
    store._connection.set_trace_callback(statements.append)
    yield statements
    store._connection.set_trace_callback(None)


def test_what_was_written_or_read_is_not_read_again(store: GroupingStore, read: list[str]) -> None:
    with store.transaction() as tx:
        for what in ("session", "call", "audit"):
            do(tx, what, 0)
        seen(tx)
    read.clear()
    with store.transaction() as tx:
        assert tx.session("s1") is not None
        assert tx.call("s1", "c0") is not None
        assert tx.taints(Subject("s1"), limit=16) == []
        assert tx.agents("s1") == []
        tx.append_audit(1.0, {"event": "e"})
    assert [line for line in read if "SELECT" in line] == []


def test_a_group_writes_the_head_once(store: GroupingStore, other: SqliteStore, read: list[str]) -> None:
    store.begin_group()
    for number in range(5):
        with store.transaction() as tx:
            do(tx, "audit", number)
            assert tx.audit_head().seq == number + 1
    store.end_group()
    assert sum("INTO audit_head" in line for line in read) == 1
    with other.reading() as tx:
        assert verify_store(tx, other.key).ok
        assert tx.audit_head().seq == 5


def test_what_another_process_wrote_is_read(store: GroupingStore, other: SqliteStore) -> None:
    with store.transaction() as tx:
        do(tx, "session", 0)
        do(tx, "audit", 0)
        seen(tx)
    with other.transaction() as tx:
        tx.add_taints(Subject("s1"), [taint(1, TaintState.CONFIRMED)])
        tx.put_session(SESSION._replace(cwd="/elsewhere"))
        do(tx, "audit", 1)
    with store.transaction() as tx:
        assert [found.source for found in tx.taints(Subject("s1"), limit=16)] == ["source 1"]
        found = tx.session("s1")
        assert found is not None
        assert found.cwd == "/elsewhere"
        assert tx.append_audit(2.0, {"event": "e"}).seq == 3
    with other.reading() as tx:
        assert verify_store(tx, other.key).ok


def test_a_head_that_another_process_changed_is_not_gone_on_from(store: GroupingStore, other: SqliteStore) -> None:
    with store.transaction() as tx:
        do(tx, "audit", 0)
    other._connection.execute("UPDATE audit_head SET seal = 'x'")
    with pytest.raises(StoreError, match="audit chain"), store.transaction() as tx:
        do(tx, "audit", 1)


def test_a_part_that_fails_after_a_long_group_is_undone_alone(store: GroupingStore, other: SqliteStore) -> None:
    store.begin_group()
    for number in range(0, 40, 2):
        write(store, [("audit", number), ("call", number), ("session", number)], fails=False)
        write(store, [("audit", number + 1), ("call", number + 1), ("session", number + 1)], fails=True)
    store.end_group()
    with other.reading() as tx:
        assert [row.at for row in tx.audit()] == [float(number) for number in range(0, 40, 2)]
        assert verify_store(tx, other.key).ok


def test_where_another_process_writes_while_a_part_is_undone_the_group_is_lost(
    store: GroupingStore, other: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    undo = store._undo

    def undo_and_let_the_other_write() -> None:
        undo()
        monkeypatch.undo()
        write(other, [("audit", 7)], fails=False)

    store.begin_group()
    write(store, [("audit", 1)], fails=False)
    monkeypatch.setattr(store, "_undo", undo_and_let_the_other_write)
    write(store, [("audit", 2)], fails=True)
    with pytest.raises(StoreError):
        write(store, [("audit", 3)], fails=False)
    with pytest.raises(StoreError):
        store.end_group()
    write(store, [("audit", 4)], fails=False)
    with other.reading() as tx:
        assert [row.at for row in tx.audit()] == [7.0, 4.0]
        assert verify_store(tx, other.key).ok


def test_so_many_sessions_are_remembered_and_no_long_list_of_taints(store: GroupingStore) -> None:
    with store.transaction() as tx:
        for number in range(3 * remembering._MOST):
            tx.put_session(SESSION._replace(session=f"s{number}"))
            assert len(store._memory.sessions) <= remembering._MOST
        tx.add_taints(Subject("s1"), [taint(number) for number in range(remembering._MOST_TAINTS + 1)])
        assert len(tx.taints(Subject("s1"))) == remembering._MOST_TAINTS + 1
        assert store._memory.sessions["s1"].taints == {}


def test_only_calls_that_are_out_are_remembered(store: GroupingStore) -> None:
    with store.transaction() as tx:
        for state in ("running", "asked", "finished"):
            tx.put_call(CallRow("s1", "c1", state=state))
            assert set(store._memory.sessions["s1"].calls) == (set() if state == "finished" else {"c1"})
            assert tx.call("s1", "c1") == CallRow("s1", "c1", state=state)
        assert store._memory.sessions["s1"].calls == {}


def test_a_call_that_cannot_be_there_is_not_read(store: GroupingStore, read: list[str]) -> None:
    with store.transaction() as tx:
        assert tx.session("s1") is None
        tx.put_session(SESSION._replace(session="s1"))
        read.clear()
        for number in range(remembering._MOST_ROWS):
            assert tx.call("s1", f"c{number}") is None
            tx.put_call(CallRow("s1", f"c{number}", state="finished"))
        assert not any(line.startswith("SELECT") for line in read)
        assert tx.call("s1", "c0") == CallRow("s1", "c0", state="finished")
        assert tx.call("s1", "another") is None
        assert len([line for line in read if line.startswith("SELECT")]) == 2


def test_calls_that_never_come_back_are_not_all_remembered(store: GroupingStore) -> None:
    with store.transaction() as tx:
        for number in range(3 * remembering._MOST_ROWS):
            tx.put_call(CallRow("s1", f"c{number}"))
            tx.taints(Subject("s1", f"a{number}"))
            known = store._memory.sessions["s1"]
            assert len(known.calls) + len(known.taints) <= remembering._MOST_ROWS
        assert tx.call("s1", "c0") == CallRow("s1", "c0")


@pytest.mark.parametrize("state", ["running", "asked"])
def test_calls_that_are_out_are_found_by_their_own_index(store: GroupingStore, read: list[str], state: str) -> None:
    with store.transaction() as tx:
        for number in range(20):
            tx.put_call(CallRow("s1", f"c{number}", state="finished" if number % 5 else state, at=float(number)))
        assert [row.call_id for row in tx.calls("s1", state=state)] == ["c0", "c5", "c10", "c15"]
        assert len(tx.calls("s1", state="finished")) == 16
        (asked,) = (line for line in read if line.endswith("ORDER BY at, id") and f"'{state}'" in line)
        plan = store._connection.execute(f"EXPLAIN QUERY PLAN {asked}").fetchall()
        assert "USING INDEX calls_out (session=? AND state=?)" in plan[0][3]


def test_a_transaction_inside_a_transaction_of_a_group_is_an_error(store: GroupingStore, other: SqliteStore) -> None:
    store.begin_group()
    with store.transaction() as tx:
        do(tx, "audit", 1)
        with pytest.raises(StoreError), store.transaction():
            pass
    with other.reading() as tx:
        assert tx.audit() == []
    store.end_group()
    with other.reading() as tx:
        assert len(tx.audit()) == 1
