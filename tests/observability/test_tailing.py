"""The audit is followed from where the last look ended, over cuts, restarts and another store in its place."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from lockgate.core.errors import StoreError
from lockgate.service.observability import tail as tailing
from lockgate.service.observability.counters import Counts
from lockgate.service.observability.process import Exporter
from lockgate.service.observability.settings import TelemetrySettings
from lockgate.service.observability.tail import ChainPosition, Followed, TailState
from lockgate.store.audit import pruning
from lockgate.store.postgres.transaction import PostgresTransaction
from lockgate.store.protocol import Store
from lockgate.store.rows import AuditRow
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.error_log import NAME, note
from observability.exposed import append, at
from support.postgres import use
from support.prepared import open_new


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return open_new(tmp_path / "state")


def total(kept: TailState, name: str = "audit_records") -> float:
    return sum(numbers[0] for numbers in kept.counts.values[name].values())


@pytest.mark.parametrize("sent", [None, ChainPosition(7, "b" * 64)], ids=["nothing sent", "sent"])
def test_the_next_look_finds_what_the_last_one_left(tmp_path: Path, sent: ChainPosition | None) -> None:
    state, counts = str(tmp_path), Counts()
    counts.add("errors", "StoreError", by=3)
    counts.observe("judge_seconds", 12.5)
    left = TailState(counts, ChainPosition(9, "a" * 64), sent, 4711, 88)
    tailing.save(state, left)
    found = tailing.load(state)
    assert found.counts.values == counts.values
    assert found._replace(counts=counts) == left


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"format": None},
        {"counted": 5},
        {"log": []},
        {"counts": {"errors": 5}},
        {"sent": 1},
    ],
    ids=str,
)
def test_what_is_left_by_another_version_or_damaged_is_begun_anew(tmp_path: Path, change: dict[str, object]) -> None:
    state, counts = str(tmp_path), Counts()
    counts.add("errors", "StoreError")
    tailing.save(state, TailState(counts, ChainPosition(9, "a" * 64)))
    file = tmp_path / tailing.FILE
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    found = tailing.load(state)
    assert (total(found, "errors"), found.counted) == (0, ChainPosition())


def test_counts_of_another_shape_are_left_behind() -> None:
    kept = Counts({"errors": [[["a", "b"], [1.0]], [["c"], [1.0, 2.0]], [["d"], [5]]], "gone": [[["x"], [1.0]]]})
    assert kept.values["errors"] == {("d",): [5.0]}
    assert "gone" not in kept.values


def test_a_store_that_is_let_go_of_is_closed(store: SqliteStore, tmp_path: Path) -> None:
    followed = Followed(str(tmp_path / "state"))
    opened = followed.open()
    assert opened is not None
    followed.close()
    with pytest.raises(StoreError), opened.reading():
        pass


def test_counts_go_on_over_restarts_and_cuts(store: SqliteStore, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    kept = tailing.count_new(store, state, tailing.load(state))
    append(store, 1200)
    kept = tailing.count_new(store, state, kept)
    assert total(kept) == 1200
    tailing.save(state, kept)
    assert os.stat(os.path.join(state, tailing.FILE)).st_mode & 0o777 == 0o600
    append(store, 5)
    kept = tailing.count_new(store, state, tailing.load(state))
    assert total(kept) == 1205
    with store.transaction() as tx:
        pruning.cut(tx, store.key, 1203, 1.0, {"by": "test"})
    kept = tailing.count_new(store, state, kept)
    assert (total(kept), total(kept, "audit_records_missed")) == (1206, 0)
    append(store, 10)
    with store.transaction() as tx:
        pruning.cut(tx, store.key, 1210, 1.0, {"by": "test"})
    kept = tailing.count_new(store, state, kept)
    assert (total(kept), total(kept, "audit_records_missed")) == (1213, 4)


def test_another_chain_is_counted_from_its_beginning(store: SqliteStore, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    append(store, 10)
    kept = tailing.count_new(store, state, tailing.load(state))
    other = SqliteStore.open(str(tmp_path / "other"))
    append(other, 3)
    assert total(tailing.count_new(other, state, kept)) == 13
    again = SqliteStore.open(str(tmp_path / "again"))
    with again.transaction() as tx:
        tx.append_audit(9.0, {"event": "prompt"})
    append(again, 11)
    assert total(tailing.count_new(again, state, kept._replace(counts=Counts()))) == 12


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
    place = ChainPosition(seq, (digests.get(seq, "") if same else "another") if seq else "")
    assert tailing.settle_position(store, place) == (ChainPosition(goes_on_at, digests[goes_on_at]), missed)


def test_a_look_that_fails_half_way_counts_nothing_twice(
    store: SqliteStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append(store, 5)
    monkeypatch.setattr(tailing, "PAGE", 2)
    pages, kept = tailing.pages, TailState(Counts())

    def broken(store: Store, place: ChainPosition) -> Iterator[Sequence[AuditRow]]:
        yield next(pages(store, place))
        raise StoreError("the disk is gone")

    monkeypatch.setattr(tailing, "pages", broken)
    with pytest.raises(StoreError):
        tailing.count_new(store, str(tmp_path), kept)
    assert total(kept) == 0
    monkeypatch.setattr(tailing, "pages", pages)
    assert total(tailing.count_new(store, str(tmp_path), kept)) == 5


def test_an_exporter_follows_the_state_where_it_is(tmp_path: Path) -> None:
    state, told = tmp_path / "state", list[str]()

    def recorded(count: int) -> None:
        store = SqliteStore.open(str(state))
        append(store, count)
        store.close()

    recorded(3)
    exporter = Exporter(str(state), TelemetrySettings(), told.append)
    exporter.look()
    state.rename(tmp_path / "aside")
    recorded(5)
    exporter.look()
    assert at(exporter.page, "audit_last_record") == 6, "one says that another state was in this folder"
    (state / "key").unlink()
    exporter.look()
    exporter.look()
    assert (at(exporter.page, "store_up"), len(told)) == (0, 1)


def test_all_looks_at_a_shared_store_take_one_connection(tmp_path: Path, postgres_url: str) -> None:
    followed = Followed(str(use(tmp_path / "state", postgres_url)))
    processes = set()
    for number in range(3):
        store = followed.open()
        assert store is not None
        with store.transaction() as tx:
            assert tx.append_audit(store.clock(), {"event": "prompt"}).seq == number + 1
            assert isinstance(tx, PostgresTransaction)
            processes.add(tx._one("SELECT pg_backend_pid()"))
    followed.close()
    assert len(processes) == 1


@pytest.mark.parametrize("spoilt", ["", "[]", "{}", "nonsense", '{"format":1,"counts":{"decisions":[[["a"],[1]]]}}'])
def test_what_cannot_be_read_is_begun_anew(store: SqliteStore, tmp_path: Path, spoilt: str) -> None:
    state = tmp_path / "state"
    append(store, 2)
    (state / tailing.FILE).write_text(spoilt)
    assert total(tailing.count_new(store, str(state), tailing.load(str(state)))) == 2


def test_errors_are_counted_once_also_when_their_log_is_rotated(store: SqliteStore, tmp_path: Path) -> None:
    state = str(tmp_path / "state")
    kept = TailState(Counts())
    for number in range(3):
        note(state, "PreToolUse", "StoreError", "sqlite.py:1")
        kept = tailing.count_new(store, state, kept)
        assert kept.counts.values["errors"] == {("StoreError",): [number + 1]}
    note(state, "plugin a b", "DeadlineError", "x.py:2")
    os.replace(os.path.join(state, NAME), os.path.join(state, f"{NAME}.1"))
    note(state, "gate", "StoreError", "x.py:2")
    with open(os.path.join(state, NAME), "a") as file:
        file.write("2026 half")
    kept = tailing.count_new(store, state, kept)
    assert kept.counts.values["errors"] == {("StoreError",): [4], ("DeadlineError",): [1]}
    with open(os.path.join(state, NAME), "a") as file:
        file.write(" a line\nx\n")
    kept = tailing.count_new(store, state, tailing.count_new(store, state, kept))
    assert kept.counts.values["errors"][("unreadable",)] == [1]
