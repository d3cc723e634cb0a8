"""A chain that is cut at its beginning: what is left verifies, with the archives as a whole, and nothing else does."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from lockgate.core.errors import AuditError
from lockgate.store.audit.archives import archive_name, open_records, write_archive
from lockgate.store.audit.chain import items, records, verify, verify_parts, verify_store
from lockgate.store.audit.exports import export_lines, read_export
from lockgate.store.audit.pruning import AT_ONCE, chain_beginning, cut, make_checkpoint, retain
from lockgate.store.chain_links import PRUNED, canonical, checkpoint, link_digest, seal
from lockgate.store.rows import AuditCheckpoint, AuditHead, AuditRow
from lockgate.store.sqlite.store import SqliteStore
from support.stress import examples
from support.unguarded import unguarded

DAY = 86400.0
STEP = st.one_of(
    st.tuples(st.just("append"), st.integers(1, 4)),
    st.tuples(st.just("cut"), st.integers(0, 12)),
)


class History:
    """A real store, and all that its chain ever was."""

    def __init__(self, folder: str) -> None:
        self.store = SqliteStore.open(f"{folder}/state")
        self.folder = folder
        self.rows: list[AuditRow] = []
        self.snapshots: list[tuple[AuditCheckpoint, list[AuditRow], AuditHead]] = []
        self.archives: list[str] = []
        self.now = 1.0
        self._see()

    def append(self, count: int) -> None:
        for _ in range(count):
            self.now += 1
            with self.store.transaction() as tx:
                tx.append_audit(self.now, {"event": "test", "n": self.now})
            self._see()

    def cut(self, through: int) -> None:
        self.now += 1
        with self.store.transaction() as tx:
            base, head = tx.audit_checkpoint(), tx.audit_head()
            through = min(through, head.seq)
            if through <= base.seq:
                assert cut(tx, self.store.key, through, self.now, {}) == 0
                return
            end = make_checkpoint(tx, self.store.key, through, self.now)
            path = f"{self.folder}/{archive_name(base.seq + 1, end)}"
            write_archive(path, chain_beginning(tx, through), end)
            self.archives.append(path)
            assert cut(tx, self.store.key, through, self.now, {"by": "test"}) == through - base.seq
        self._see()

    def _see(self) -> None:
        with self.store.reading() as tx:
            rows, base = tx.audit(), tx.audit_checkpoint()
            assert verify_store(tx, self.store.key).ok
            self.snapshots.append((base, rows, tx.audit_head()))
        self.rows += [row for row in rows if row.seq > len(self.rows)]


def replay(folder: str, steps: list[tuple[str, int]]) -> History:
    history = History(folder)
    history.append(1)
    for what, number in steps:
        (history.append if what == "append" else history.cut)(number)
    return history


@given(steps=st.lists(STEP, max_size=7), data=st.data())
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_verify_accepts_what_the_store_was_and_nothing_else(steps: list[tuple[str, int]], data: st.DataObject) -> None:
    """Somebody without the key puts together what they have: every record, checkpoint and head that ever was."""
    with tempfile.TemporaryDirectory() as folder:
        history = replay(folder, steps)
        key = history.store.key
        bases = [base for base, _, _ in history.snapshots]
        real = data.draw(st.sampled_from(bases))
        forged = checkpoint(b"x" * 32, *real[:4])
        moved = real._replace(seq=max(real.seq + data.draw(st.sampled_from([-1, 1])), 0))
        for _ in range(20):
            base = data.draw(st.sampled_from([*bases, forged, moved]))
            first = data.draw(st.sampled_from([base.seq, 0, *range(len(history.rows))]))
            last = data.draw(st.integers(first, len(history.rows)))
            head = data.draw(st.sampled_from([each for _, _, each in history.snapshots]))
            rows = history.rows[first:last]
            if rows and data.draw(st.booleans()):
                rows = history.rows[first : head.seq]
            found = verify(rows, head, key, base)
            assert found.ok == ((base, rows, head) in history.snapshots), (found, base, first, last, head)
        history.store.close()


@given(steps=st.lists(STEP, min_size=2, max_size=8), data=st.data())
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_archives_and_the_rest_are_one_whole_chain(steps: list[tuple[str, int]], data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        history = replay(folder, steps)
        key = history.store.key
        parts = []
        for path in history.archives:
            with open_records(path) as part:
                parts.append(list(part))
        with history.store.reading() as tx:
            rest = export_lines(records(tx), tx.audit_head(), tx.audit_checkpoint())
            parts.append(list(read_export(rest)))
            assert parts[-1] == list(items(tx))
        found = verify_parts(parts, key)
        assert (found.ok, found.records, found.first) == (True, len(history.rows), 1)
        for number, part in enumerate(parts[:-1]):
            assert verify_parts([part], key).ok, "each archive verifies alone"
            without = parts[:number] + parts[number + 1 :]
            assert verify_parts(without, key).ok == (number == 0), "one that is missing is found, but for the first"
        if len(parts) > 1:
            turned = data.draw(st.permutations(parts).filter(lambda some: some != parts))
            assert not verify_parts(turned, key).ok
        place = data.draw(st.integers(0, len(parts) - 1))
        index = data.draw(st.integers(1, len(parts[place]) - 1))
        item = parts[place][index]
        field = data.draw(st.sampled_from(["digest", "seq"]))
        other = {"digest": "0" * 64, "seq": item.seq + 1}[field]
        parts[place][index] = item._replace(**{field: other})  # type: ignore[union-attr]
        assert not verify_parts(parts, key).ok
        history.store.close()


@pytest.fixture
def history(tmp_path: Path) -> History:
    made = replay(str(tmp_path), [("append", 9), ("cut", 4), ("append", 3), ("cut", 8), ("append", 2)])
    assert made.snapshots[-1][0].seq == 8
    return made


def _resealed(history: History, rows: list[AuditRow]) -> tuple[list[AuditRow], AuditHead]:
    """The rows linked anew and sealed, as only somebody with the key can."""
    made: list[AuditRow] = []
    for row in rows:
        previous = made[-1].digest if made else rows[0].previous
        made.append(row._replace(previous=previous, digest=link_digest(previous, row.seq, row.at, row.body)))
    return made, AuditHead(made[-1].seq, made[-1].digest, seal(history.store.key, made[-1].seq, made[-1].digest))


def test_what_is_wrong_is_named(history: History) -> None:
    key = history.store.key
    base, rows, head = history.snapshots[-1]
    older = next(each for each, _, _ in history.snapshots if each.seq == 4)
    whole = history.rows
    told = [row.seq for row in whole if PRUNED in row.body]
    cases = [
        (AuditCheckpoint(), rows, "record 1 is missing"),
        (AuditCheckpoint(), whole, f"record {told[1]} tells that the records up to 8 were removed"),
        (older, whole[4:], f"record {told[1]} tells that the records up to 8 were removed"),
        (older, rows, "record 5 is missing"),
        (base, rows[1:], "record 9 is missing"),
        (base, rows[:-1], "the last record is missing"),
        (base, [], f"the last {len(rows)} records are missing"),
        (base._replace(at=base.at + 1), rows, "the checkpoint's seal does not hold"),
        (checkpoint(key, *base[:3], base.at + 1), rows, f"the checkpoint is another one than record {told[1]} tells"),
    ]
    for start, some, problem in cases:
        found = verify(some, head, key, start)
        assert not found.ok
        assert problem in found.problem
    end = told[1] - 1  # before the cut was recorded
    before = AuditHead(end, whole[end - 1].digest, seal(key, end, whole[end - 1].digest))
    assert "no record tells that the records up to 8" in verify(whole[8:end], before, key, base).problem
    assert verify(rows, head, None, base).ok


@pytest.mark.parametrize(
    "told",
    [
        pytest.param({"checkpoint": None}, id="none"),
        pytest.param({"checkpoint": {"seq": "8"}}, id="no number"),
        pytest.param({}, id="nothing"),
        pytest.param({"checkpoint": checkpoint(b"k" * 32, 99, "0" * 64, 1, 1.0)._asdict()}, id="of what is to come"),
    ],
)
def test_a_record_of_a_cut_that_cannot_have_been_is_found(history: History, told: dict[str, object]) -> None:
    base, rows, _ = history.snapshots[-1]
    body = canonical({"event": PRUNED, **told})
    rows, head = _resealed(history, [*rows[:-1], rows[-1]._replace(body=body)])
    found = verify(rows, head, history.store.key, base)
    assert (found.ok, found.problem) == (False, f"record {rows[-1].seq} tells of a cut that cannot have been")


def test_text_that_looks_like_a_cut_is_none(history: History) -> None:
    with history.store.transaction() as tx:
        tx.append_audit(99.0, {"event": "decision", "input": {"command": '"event":"pruned"'}, "x": {"event": PRUNED}})
        assert verify_store(tx, history.store.key).ok


def test_retention_cuts_what_is_old_in_bounded_steps(tmp_path: Path) -> None:
    store = SqliteStore.open(str(tmp_path / "state"))
    with store.transaction() as tx:
        for number in range(AT_ONCE * 2 + 300):
            tx.append_audit(number / 1000, {})
        tx.append_audit(50 * DAY, {})
        assert retain(tx, store.key, 50, 50 * DAY, 50 * DAY) == 0  # nothing is as old as that
        now = 40 * DAY
        assert [retain(tx, store.key, 30, now, now) for _ in range(4)] == [AT_ONCE, AT_ONCE, 0, 0]
        assert retain(tx, store.key, 30, now + DAY - 1, now + DAY - 1) == 0
        assert retain(tx, store.key, 30, now + DAY, now + DAY) == 300
        assert [row.at for row in tx.audit(limit=2)] == [50 * DAY, now]
        assert verify_store(tx, store.key).ok
        # A clock that went back cuts nothing young, one that was ahead stops nothing.
        assert retain(tx, store.key, 30, 1.0, 1.0) == 0
    store.close()


def test_retention_leaves_a_chain_as_it_is_that_does_not_hold(tmp_path: Path) -> None:
    store = SqliteStore.open(str(tmp_path / "state"))
    with store.transaction() as tx:
        for number in range(10):
            tx.append_audit(float(number), {"n": number})
    with unguarded(store._connection) as connection:
        connection.execute("UPDATE audit SET body = '{}' WHERE seq = 3")
    with store.transaction() as tx:
        assert retain(tx, store.key, 1, 9 * DAY, 9 * DAY) == 0
        assert len(tx.audit()) == 10
    with unguarded(store._connection) as connection:
        connection.execute("DELETE FROM audit WHERE seq > 4")
    with store.transaction() as tx:
        assert retain(tx, store.key, 1, 9 * DAY, 9 * DAY) == 0
        with pytest.raises(AuditError, match="record 9 is missing"):
            make_checkpoint(tx, store.key, 9, 1.0)
    store.close()


_FIELD = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just({}) | st.just("0" * 64)
_LINE = st.one_of(
    st.text(max_size=20),
    st.builds(
        lambda kind, fields: json.dumps({kind: fields} if kind else fields),
        st.sampled_from(["", "head", "checkpoint"]),
        st.dictionaries(st.sampled_from(["seq", "at", "body", "previous", "digest", "seal", "removed"]), _FIELD),
    ),
    st.sampled_from(
        [
            json.dumps({"checkpoint": checkpoint(b"k" * 32, 1, "0" * 64, 1, 1.0)._asdict()}),
            json.dumps({"head": AuditHead(1, "0" * 64, "")._asdict()}),
        ]
    ),
)


@given(lines=st.lists(_LINE, max_size=5), key=st.sampled_from([None, b"k" * 32]))
@settings(max_examples=examples(150), deadline=None)
def test_whatever_a_file_holds_is_refused_in_words(lines: list[str], key: bytes | None) -> None:
    try:
        found = verify_parts([read_export(lines)], key)
    except AuditError as error:
        assert str(error)
    else:
        assert found.ok == (found.problem == "")
        assert not found.ok or found.records == 0
