"""Transactions of a group: each by itself, all of them kept at once, or none."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate.core.errors import StoreError
from lockgate.store.audit.chain import verify_store
from lockgate.store.sqlite.checkpoint import checkpoint_log
from lockgate.store.sqlite.group_commit import GroupingStore
from lockgate.store.sqlite.store import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Iterator[GroupingStore]:
    made = GroupingStore.open(str(tmp_path / "state"), busy_seconds=0.2)
    yield made
    made.close()


def kept(store: GroupingStore) -> dict[str, str]:
    """What another process sees."""
    other = SqliteStore.open(store._folder)
    try:
        with other.reading() as tx:
            return tx.settings("s")
    finally:
        other.close()


def put(store: GroupingStore, name: str) -> None:
    with store.transaction() as tx:
        tx.put_setting(name, "x")


def test_nothing_is_kept_before_the_group_ends(store: GroupingStore) -> None:
    store.begin_group()
    put(store, "s1")
    put(store, "s2")
    assert kept(store) == {}
    with store.reading() as tx:
        assert tx.settings("s") == {"s1": "x", "s2": "x"}
    store.end_group()
    assert kept(store) == {"s1": "x", "s2": "x"}


def test_an_error_undoes_its_own_transaction_alone(store: GroupingStore) -> None:
    store.begin_group()
    put(store, "s1")
    with pytest.raises(ZeroDivisionError), store.transaction() as tx:
        tx.put_setting("s2", "x")
        1 / 0  # noqa: B018
    put(store, "s3")
    store.end_group()
    assert kept(store) == {"s1": "x", "s3": "x"}


def test_an_abandoned_group_leaves_nothing(store: GroupingStore) -> None:
    store.begin_group()
    put(store, "s1")
    store.abandon_group()
    put(store, "s2")
    assert kept(store) == {"s2": "x"}


def test_one_abandoned_within_a_transaction_leaves_nothing(store: GroupingStore) -> None:
    store.begin_group()
    put(store, "s1")
    transaction = store.transaction()
    transaction.__enter__().put_setting("s2", "x")
    store.abandon_group()
    put(store, "s3")
    assert kept(store) == {"s3": "x"}


def test_a_group_that_the_database_undid_is_said_to_be_lost_and_the_next_one_is_kept(store: GroupingStore) -> None:
    store.begin_group()
    put(store, "s1")
    with pytest.raises(StoreError), store.transaction() as tx:
        tx.put_setting("s2", "x")
        store._connection.execute("ROLLBACK")  # as SQLite does where the disk is full
        raise sqlite3.OperationalError
    with pytest.raises(StoreError):
        put(store, "s3")
    with pytest.raises(StoreError):
        store.end_group()
    assert kept(store) == {}
    store.begin_group()
    put(store, "s4")
    store.end_group()
    assert kept(store) == {"s4": "x"}


@pytest.mark.parametrize("grouped", [False, True])
def test_what_the_database_undid_is_not_kept_though_nobody_noticed(store: GroupingStore, *, grouped: bool) -> None:
    with store.transaction() as tx:
        tx.append_audit(1.0, {"event": "e"})
    if grouped:
        store.begin_group()
        put(store, "s1")
    with pytest.raises(StoreError), store.transaction() as tx:
        tx.append_audit(2.0, {"event": "e"})
        store._connection.execute("ROLLBACK")
    if grouped:
        with pytest.raises(StoreError):
            put(store, "s2")
        with pytest.raises(StoreError):
            store.end_group()
    put(store, "s3")
    assert kept(store) == {"s3": "x"}
    with store.transaction() as tx:
        assert tx.append_audit(3.0, {"event": "e"}).seq == 2
        assert verify_store(tx, store.key).ok


class _Failing:
    """A connection that cannot undo anything, as on a disk with errors."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *values: Any) -> Any:
        if statement == "ROLLBACK":
            raise sqlite3.OperationalError("disk I/O error")
        return self._connection.execute(statement, *values)


@pytest.mark.parametrize("grouped", [False, True])
def test_a_connection_that_cannot_undo_is_replaced(store: GroupingStore, *, grouped: bool) -> None:
    put(store, "s1")
    store._connection = _Failing(store._connection)  # type: ignore[assignment]
    if grouped:
        store.begin_group()
        put(store, "s2")
    with pytest.raises(ValueError, match="broken off"), store.transaction() as tx:
        tx.put_setting("s3", "x")
        raise ValueError("broken off")
    if grouped:
        with pytest.raises(StoreError):
            store.end_group()
    put(store, "s4")
    assert kept(store) == {"s1": "x", "s4": "x"}


def test_a_group_of_looks_alone_takes_no_lock(store: GroupingStore, tmp_path: Path) -> None:
    store.begin_group()
    with store.reading() as tx:
        assert tx.settings("s") == {}
    other = SqliteStore.open(str(tmp_path / "state"), busy_seconds=0.1)
    with other.transaction() as tx:
        tx.put_setting("s1", "x")
    other.close()
    store.end_group()
    assert kept(store) == {"s1": "x"}


def test_one_transaction_without_a_group_is_as_ever(store: GroupingStore) -> None:
    put(store, "s1")
    assert kept(store) == {"s1": "x"}


def test_another_writer_comes_between_two_groups(store: GroupingStore, tmp_path: Path) -> None:
    other = SqliteStore.open(str(tmp_path / "state"), busy_seconds=0.05)
    store.begin_group()
    put(store, "s1")
    with pytest.raises(StoreError), other.transaction():
        pass
    store.end_group()
    with other.transaction() as tx:
        tx.put_setting("s2", "x")
    other.close()
    assert kept(store) == {"s1": "x", "s2": "x"}


def test_the_audit_of_groups_is_one_chain(store: GroupingStore) -> None:
    for number in range(5):
        store.begin_group()
        for part in range(3):
            try:
                with store.transaction() as tx:
                    tx.append_audit(float(number), {"event": "e", "part": part})
                    if part == 1:
                        raise ValueError
            except ValueError:
                pass
        store.end_group()
    with store.reading() as tx:
        found = verify_store(tx, store.key)
        assert found.ok
        assert tx.audit_head().seq == 10


class _Twice:
    """An event that is set when it is waited for the second time."""

    def __init__(self) -> None:
        self.waits = 0

    def wait(self, _: float) -> bool:
        self.waits += 1
        return self.waits > 1


def test_a_long_log_is_copied_back_beside_the_work(store: GroupingStore) -> None:
    store.leave_log()
    with store.transaction() as tx:
        for number in range(6):
            tx.put_setting(f"s{number}", "x" * 1_000_000)
    database = Path(store._folder) / "lockgate.db"
    assert database.stat().st_size < 1_000_000
    checkpoint_log(store._folder, _Twice())  # type: ignore[arg-type]
    assert database.stat().st_size > 6_000_000
    assert len(kept(store)) == 6
