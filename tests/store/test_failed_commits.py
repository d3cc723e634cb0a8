"""A commit that fails in a process that lives: who asked is refused, so only what was read already labels."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.store.rows import SessionRow
from lockgate.store.sqlite.group_commit import GroupingStore
from lockgate.store.sqlite.put_back import EVENT
from lockgate.store.sqlite.store import SqliteStore
from support.prepared import open_new

ANN, BOB = Subject("ann"), Subject("bob")
RECORD = {"event": "outcome", "client": "", "session": "", "agent": ""}


class Full:
    """A connection whose commits fail, as where the disk is full: SQLite undoes the transaction by itself."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement == "COMMIT":
            self._connection.execute("ROLLBACK")
            raise sqlite3.OperationalError("database or disk is full")
        return self._connection.execute(statement, *values)


def _taint(state: TaintState) -> Taint:
    return Taint(Label.UNTRUSTED, "a page", "WebFetch", "t1", 1.0, state)


def _fill(store: SqliteStore) -> None:
    store._connection = Full(store._connection)  # type: ignore[assignment]


def _labels_after(state: Path) -> tuple[list[Label], list[Label], bool]:
    """The labels of both, once the disk has room again, and whether the audit tells of a loss."""
    store = SqliteStore.open(str(state))
    with store.reading() as tx:
        told = any(EVENT in row.body for row in tx.audit())
        found = sorted(tx.labels(ANN)), sorted(tx.labels(BOB)), told
    store.close()
    return found


@pytest.mark.parametrize(
    ("taints", "labels"),
    [
        pytest.param({ANN: TaintState.PENDING}, ([], []), id="a call that is refused"),
        pytest.param({ANN: TaintState.CONFIRMED}, ([Label.UNTRUSTED], []), id="a result that was read"),
        pytest.param(
            {ANN: TaintState.PENDING, BOB: TaintState.CONFIRMED},
            ([], [Label.UNTRUSTED]),
            id="one's call, another's result",
        ),
    ],
)
@pytest.mark.parametrize("kind", [SqliteStore, GroupingStore])
def test_what_a_failed_commit_announced(
    tmp_path: Path, kind: type[SqliteStore], taints: dict[Subject, TaintState], labels: tuple[list[Label], list[Label]]
) -> None:
    state = tmp_path / "state"
    open_new(state).close()
    store = kind.open(str(state))
    with store.transaction() as tx:
        for each in (ANN, BOB):
            tx.put_session(SessionRow(each.session))
    _fill(store)
    with pytest.raises(StoreError), store.transaction() as tx:
        for subject, taint in taints.items():
            tx.add_taints(subject, [_taint(taint)])
        tx.append_audit(2.0, RECORD)
    store.close()
    *found, told = _labels_after(state)
    assert (tuple(found), told) == (labels, labels != ([], []))


def test_what_was_read_while_it_was_expected(tmp_path: Path) -> None:
    """The call was noted, its result comes, and that cannot be kept: the label is there as before."""
    state = tmp_path / "state"
    store = open_new(state)
    with store.transaction() as tx:
        tx.put_session(SessionRow(ANN.session))
        tx.add_taints(ANN, [_taint(TaintState.PENDING)])
    _fill(store)
    with pytest.raises(StoreError), store.transaction() as tx:
        tx.add_taints(ANN, [_taint(TaintState.CONFIRMED)])
        tx.append_audit(2.0, RECORD)
    store.close()
    assert _labels_after(state)[0] == [Label.UNTRUSTED]


def test_the_lock_that_cannot_be_had_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is as if the process had been killed."""
    from lockgate.store.sqlite import store as module

    state = tmp_path / "state"
    store = open_new(state)
    with store.transaction() as tx:
        tx.put_session(SessionRow(ANN.session))
    _fill(store)
    begin = module.begin_writing

    def busy(connection: Any, seconds: float) -> None:
        if not seconds:
            raise sqlite3.OperationalError("database is locked")
        begin(connection, seconds)

    with monkeypatch.context() as patch:
        patch.setattr(module, "begin_writing", busy)
        with pytest.raises(StoreError), store.transaction() as tx:
            tx.add_taints(ANN, [_taint(TaintState.PENDING)])
            tx.append_audit(2.0, RECORD)
    store.close()
    assert _labels_after(state) == ([Label.UNTRUSTED], [], True)
