"""The SQLite store keeps the contract, and its files are the user's alone."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from contract import APPROVAL, NO_OBJECTS, SESSION, StoreContract

from lockgate.core.errors import StoreError
from lockgate.core.model import Subject
from lockgate.store.chain_links import SCHEMA, checkpoint
from lockgate.store.files import VERSION
from lockgate.store.rows import UNSEALED, CallRow, SessionRow
from lockgate.store.sqlite import audit, schema
from lockgate.store.sqlite import create as making
from lockgate.store.sqlite import store as our_sqlite
from lockgate.store.sqlite.questions import call_values
from lockgate.store.sqlite.store import SqliteStore
from lockgate.store.sqlite.transaction import SqliteTransaction


class TestSqlite(StoreContract):
    begins = {SCHEMA: VERSION}  # noqa: RUF012 - nobody changes it

    @pytest.fixture
    def make(self, tmp_path: Path) -> Callable[[], SqliteStore]:
        return lambda: SqliteStore.open(str(tmp_path / "state"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a store that holds one session."""
    folder = tmp_path / "state"
    store = SqliteStore.open(str(folder))
    with store.transaction() as tx:
        tx.put_session(SESSION)
    store.close()
    return folder


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o777], ids=oct)
def test_rights_do_not_depend_on_the_umask(tmp_path: Path, mask: int) -> None:
    folder = tmp_path / "state"
    before = os.umask(mask)
    try:
        store = SqliteStore.open(str(folder))
        with store.transaction() as tx:
            tx.put_session(SESSION)
        rights = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    finally:
        os.umask(before)
    store.close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert rights == dict.fromkeys(("key", "lockgate.db", "lockgate.db-wal", "lockgate.db-shm"), 0o600)


def test_read_rights_of_others_are_taken_away(folder: Path) -> None:
    folder.chmod(0o755)
    (folder / "lockgate.db").chmod(0o644)
    (folder / "key").chmod(0o640)
    SqliteStore.open(str(folder)).close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "lockgate.db").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "key").stat().st_mode) == 0o600


def _link_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to(folder.with_name("elsewhere"))


def _link_file(folder: Path, name: str) -> None:
    (folder / name).rename(folder.with_name("elsewhere"))
    (folder / name).symlink_to(folder.with_name("elsewhere"))


def _file_for_folder(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.write_text("")


def _newer(folder: Path) -> None:
    with sqlite3.connect(folder / "lockgate.db") as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()


def _cut(folder: Path, name: str, size: int) -> None:
    with (folder / name).open("r+b") as file:
        file.truncate(size)


REFUSED = [
    pytest.param(_link_folder, "is a symbolic link", id="folder is a link"),
    pytest.param(_file_for_folder, "is not a folder", id="folder is a file"),
    pytest.param(lambda folder: folder.chmod(0o720), "others can write", id="group can write"),
    pytest.param(lambda folder: folder.chmod(0o1777), "others can write", id="all can write, sticky"),
    pytest.param(lambda folder: _link_file(folder, "lockgate.db"), "not a regular file", id="database is a link"),
    pytest.param(lambda folder: _link_file(folder, "key"), "not a regular file", id="key is a link"),
    pytest.param(lambda folder: (folder / "key").unlink(), "key is missing", id="no key"),
    pytest.param(lambda folder: _cut(folder, "key", 31), "key is damaged", id="short key"),
    pytest.param(lambda folder: (folder / "key").write_bytes(b"x" * 33), "key is damaged", id="long key"),
    pytest.param(_newer, "newer Lockgate", id="newer schema"),
    pytest.param(lambda folder: _cut(folder, "lockgate.db", 0), "is empty", id="emptied"),
    pytest.param(lambda folder: (folder / "lockgate.db").write_bytes(b"no" * 4096), "damaged", id="no database"),
]


@pytest.mark.parametrize("opened", [SqliteStore.open, SqliteStore.open_existing], ids=["open", "open_existing"])
@pytest.mark.parametrize(("harm", "message"), REFUSED)
def test_refuses_to_open(folder: Path, harm: Callable[[Path], None], message: str, opened) -> None:
    harm(folder)
    with pytest.raises(StoreError, match=message):
        opened(str(folder))


def test_refuses_what_belongs_to_another_user(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: folder.stat().st_uid + 1)
    with pytest.raises(StoreError, match="belongs to user"):
        SqliteStore.open(str(folder))


def _use(folder: Path) -> None:
    store = SqliteStore.open(str(folder))
    try:
        with store.transaction() as tx:
            tx.session("s1")
            tx.sessions()
            tx.append_audit(1.0, {})
    finally:
        store.close()


@pytest.mark.parametrize("pages", [1, 2, 5])
def test_a_truncated_database_is_an_error_and_not_an_empty_one(folder: Path, pages: int) -> None:
    _cut(folder, "lockgate.db", pages * 4096)
    with pytest.raises(StoreError, match="damaged"):
        _use(folder)


def test_overwritten_pages_are_an_error(folder: Path) -> None:
    path = folder / "lockgate.db"
    content = path.read_bytes()
    path.write_bytes(content[:4096] + b"\xff" * (len(content) - 4096))
    with pytest.raises(StoreError, match="damaged"):
        _use(folder)


@pytest.mark.parametrize("value", ["[", "[" * 100_000])
def test_a_value_that_is_no_json_is_one_of_nobody(folder: Path, value: str) -> None:
    with sqlite3.connect(folder / "lockgate.db") as connection:
        row = "INSERT INTO calls VALUES (1, 's1', 'c', '', '', '', 'running', ?, '{}', 1.0, 'x')"
        connection.execute(row, (value,))
    connection.close()
    store = SqliteStore.open(str(folder))
    with store.reading() as tx:
        assert tx.calls("s1") == [CallRow("s1", "c")]
        assert tx.call("s1", "c") is None
    store.close()


@pytest.mark.parametrize("about", NO_OBJECTS)
def test_a_question_that_shows_nothing_hides_no_other(folder: Path, about: str) -> None:
    store = SqliteStore.open(str(folder))
    with store.transaction() as tx:
        tx.put_approval(APPROVAL)
        tx.put_approval(APPROVAL._replace(approval="odd"))
    with sqlite3.connect(folder / "lockgate.db") as connection:
        connection.execute("UPDATE approvals SET about = ? WHERE approval = 'odd'", (about,))
    connection.close()
    with store.reading() as tx:
        odd = APPROVAL._replace(approval="odd", about={UNSEALED: True})
        assert tx.approvals() == tx.overdue_approvals(APPROVAL.expires_at) == [APPROVAL, odd]
        assert tx.approval("odd") == odd
    store.close()


@pytest.mark.parametrize(
    "statement", ["UPDATE audit SET body = '{}'", "DELETE FROM audit", "DELETE FROM audit WHERE seq = 2"]
)
def test_the_audit_is_append_only(folder: Path, statement: str) -> None:
    store = SqliteStore.open(str(folder))
    with store.transaction() as tx:
        for number in range(3):
            tx.append_audit(1.0, {"n": number})
    store.close()
    connection = sqlite3.connect(folder / "lockgate.db")
    with pytest.raises(sqlite3.IntegrityError, match="append only"):
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "statement",
    [
        pytest.param("DELETE FROM audit", id="all"),
        pytest.param("DELETE FROM audit WHERE seq = 3", id="the first that is left"),
        pytest.param("UPDATE audit SET body = '{}'", id="changed"),
        pytest.param("INSERT OR REPLACE INTO audit SELECT seq, at, '{}', previous, digest FROM audit", id="replaced"),
        pytest.param("INSERT INTO audit VALUES (2, 1.0, '{}', '', '')", id="put back"),
        pytest.param("DELETE FROM audit_checkpoint", id="no checkpoint"),
        pytest.param("UPDATE audit_checkpoint SET seq = 3", id="checkpoint moved"),
        pytest.param(
            "REPLACE INTO audit_checkpoint SELECT 1, 1, digest, 1, 1.0, seal FROM audit_checkpoint", id="back"
        ),
        pytest.param(
            "REPLACE INTO audit_checkpoint SELECT 1, 3, digest, 1, 1.0, hex(zeroblob(32)) FROM audit WHERE seq = 3",
            id="not recorded",
        ),
        pytest.param("REPLACE INTO audit_checkpoint SELECT 1, 3, digest, 1, 1.0, seal FROM audit_checkpoint", id="on"),
    ],
)
def test_an_audit_that_was_cut_is_append_only_too(folder: Path, statement: str) -> None:
    store = SqliteStore.open(str(folder))
    with store.transaction() as tx:
        rows = [tx.append_audit(1.0, {"n": number}) for number in range(4)]
        tx.cut_audit(checkpoint(store.key, 2, rows[1].digest, 2, 2.0), {})
    store.close()
    connection = sqlite3.connect(folder / "lockgate.db")
    with pytest.raises(sqlite3.IntegrityError, match=r"append only|without a record"):
        connection.execute(statement)
    connection.execute("DELETE FROM audit WHERE seq <= 2")
    assert connection.execute("SELECT count(*) FROM audit").fetchone() == (3,)
    connection.close()


@pytest.mark.parametrize(
    "harm",
    [
        pytest.param("UPDATE audit_head SET seq = 1", id="number"),
        pytest.param(
            "UPDATE audit_head SET digest = (SELECT digest FROM audit WHERE seq = 1), seq = 1", id="moved back"
        ),
        pytest.param("UPDATE audit_head SET seal = replace(seal, substr(seal, 1, 1), 'x')", id="seal"),
        pytest.param("DELETE FROM audit_head", id="removed"),
    ],
)
def test_nothing_is_appended_behind_a_head_that_was_changed(folder: Path, harm: str) -> None:
    store = SqliteStore.open(str(folder))
    with store.transaction() as tx:
        for number in range(3):
            tx.append_audit(1.0, {"n": number})
    with sqlite3.connect(folder / "lockgate.db") as connection:
        connection.execute(harm)
    connection.close()
    with pytest.raises(StoreError, match="audit verify"), store.transaction() as tx:
        tx.append_audit(2.0, {})
    store.close()


def _upgrade(monkeypatch: pytest.MonkeyPatch, migrations: tuple[Any, ...]) -> None:
    """Stand for a version with these migrations."""
    monkeypatch.setattr(making, "MIGRATIONS", migrations)
    for module in (making, our_sqlite, audit):
        monkeypatch.setattr(module, "VERSION", len(migrations))


@contextmanager
def _older(folder: str) -> Iterator[SqliteTransaction]:
    """A database of the version that is stood for, which that version writes."""
    path, key, _ = our_sqlite._make_missing(folder)
    connection = sqlite3.connect(path)
    with connection:
        yield SqliteTransaction(connection, key, writable=True)
    connection.close()


def test_the_version_counts_the_migrations() -> None:
    assert len(schema.MIGRATIONS) == VERSION


def test_an_older_schema_is_migrated_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    later = (
        *schema.MIGRATIONS,
        ("CREATE TABLE later (x)", "INSERT INTO later VALUES (1)"),
        ("UPDATE later SET x = x + 1",),
    )
    _upgrade(monkeypatch, later)
    for _ in range(2):
        store = SqliteStore.open(str(folder))
        with store.reading() as tx:
            assert tx.session("s1") == SESSION
        store.close()
    with sqlite3.connect(folder / "lockgate.db") as connection:
        assert connection.execute("SELECT x FROM later").fetchall() == [(2,)]
    connection.close()


def _before_or() -> tuple[Any, ...]:
    """The migrations of the fourth version, which checked a call's state with ``IN``."""
    states = ("running", "asked", "finished", "failed", "refused")
    either = " OR ".join(f"state = '{state}'" for state in states)
    older = [statement.replace(f"\n            {either}\n", f"state IN {states}") for statement in schema.MIGRATIONS[0]]
    return (tuple(older), *schema.MIGRATIONS[1:4])


def _calls_table(tx: SqliteTransaction) -> tuple[int, str]:
    """Where the table of calls begins in the file, and how it was made."""
    row = tx._one("SELECT rootpage, sql FROM sqlite_master WHERE name = 'calls'", ())
    return int(row[0]), str(row[1])


def test_calls_of_an_older_schema_stay_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [CallRow("s1", f"c{n}", "a1", "Bash", "d" * 64, "asked", ("ok",), {"n": n}, float(9 - n)) for n in range(3)]
    with monkeypatch.context() as patch:
        _upgrade(patch, _before_or())
        with _older(str(tmp_path / "older")) as tx:
            for row in rows:
                tx._write(f"INSERT INTO calls VALUES ({'?, ' * 9}?)", (None, *call_values(row)))  # as that version did
            place, made = _calls_table(tx)
        assert "state IN ('running'" in made
    store = SqliteStore.open(str(tmp_path / "older"))
    with store.transaction() as tx:
        told = [row._replace(quiet=(), facts={}, at=0.0) for row in rows]  # nobody vouches for more
        assert tx.calls("s1") == told[::-1]
        assert tx.calls("s1", state="asked") == told[::-1]
        tx.put_call(rows[0]._replace(state="finished"))
        assert tx.calls("s1", state="asked") == told[:0:-1]
        assert tx.calls("s1", state="finished") == [rows[0]._replace(state="finished")]
    with pytest.raises(StoreError), store.transaction() as tx:
        tx.put_call(rows[0]._replace(state="unheard of"))
    # Not copied either: with a million calls that would take longer than a hook may.
    with store.reading() as tx:
        found = _calls_table(tx)
        # A column more stands in how it was made, and in no row.
        assert (found[0], found[1].replace(", seal TEXT NOT NULL DEFAULT ''", "")) == (place, made)
    store.close()


def test_no_call_is_written_by_way_of_a_table_of_all_states(folder: Path) -> None:
    store = SqliteStore.open(str(folder))
    written: list[str] = []
    store._connection.set_trace_callback(written.append)
    with store.transaction() as tx:
        tx.put_call(CallRow("s1", "c1"))
    store._connection.set_trace_callback(None)
    (statement,) = (line for line in written if line.startswith("INSERT INTO calls"))
    steps = store._connection.execute(f"EXPLAIN {statement}").fetchall()
    assert "OpenEphemeral" not in {step[1] for step in steps}
    store.close()


def test_a_migration_that_fails_changes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _upgrade(monkeypatch, (*schema.MIGRATIONS, ("CREATE TABLE later (x)", "NONSENSE")))
    with pytest.raises(StoreError):
        SqliteStore.open(str(folder))
    monkeypatch.undo()
    store = SqliteStore.open(str(folder))
    with store.reading() as tx:
        assert tx.session("s1") == SESSION
    store.close()


def test_looking_never_makes_anything(tmp_path: Path) -> None:
    assert SqliteStore.open_existing(str(tmp_path / "state")) is None
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "state").mkdir(mode=0o700)
    assert SqliteStore.open_existing(str(tmp_path / "state")) is None
    assert list((tmp_path / "state").iterdir()) == []


def test_a_path_with_characters_that_a_uri_knows(tmp_path: Path) -> None:
    folder = tmp_path / "a?b#c%20d é"
    SqliteStore.open(str(folder)).close()
    # From Python 3.12 on the log stays when the last connection closes.
    log = {"lockgate.db-wal", "lockgate.db-shm"}
    assert {path.name for path in folder.iterdir()} - log == {"key", "lockgate.db"}


def test_waiting_for_another_process_ends(folder: Path) -> None:
    holder, waiter = SqliteStore.open(str(folder)), SqliteStore.open(str(folder), busy_seconds=0.05)
    with holder.transaction(), pytest.raises(StoreError, match="another process holds"), waiter.transaction():
        pass
    with waiter.transaction() as tx:
        tx.put_session(SESSION)
    holder.close()
    waiter.close()


def test_a_transaction_inside_a_transaction_is_an_error(folder: Path) -> None:
    store = SqliteStore.open(str(folder))
    with store.transaction() as tx:
        tx.put_session(SESSION._replace(session="s2"))
        with pytest.raises(StoreError), store.transaction():
            pass
    with store.reading() as tx:
        assert tx.session("s2") is not None
    store.close()


SEALED = '{"again":false,"agent":"","client":"","event":"sealed","session":"","subjects":1}'
SETTINGS_SEALED = '{"agent":"","client":"","event":"settings-sealed","session":""}'


def test_a_database_of_the_first_version_keeps_its_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(tmp_path / "state")
    _upgrade(monkeypatch, schema.MIGRATIONS[:1])
    with _older(folder) as tx:
        tx._write(f"INSERT INTO sessions VALUES ({', '.join('?' * len(SESSION))})", SESSION)  # as that version did
        tx._write("INSERT INTO settings VALUES ('x', 'y')", ())
        record = tx.append_audit(1.0, {"event": "old"})
        with pytest.raises(sqlite3.OperationalError, match="no such table"):
            tx.approvals()
    monkeypatch.undo()
    for _ in range(2):  # what was migrated is opened like any other
        new = SqliteStore.open(folder)
        with new.transaction() as tx:
            told = SessionRow(*SESSION[:4], how="resume", started_at=SESSION.started_at, seen_at=SESSION.seen_at)
            assert (tx.session("s1"), tx.setting("x"), tx.audit(limit=1)) == (told, "y", [record])
            assert [row.body for row in tx.audit(after=1)] == [SEALED, SETTINGS_SEALED]
            tx.put_approval(APPROVAL)
            assert tx.approvals() == [APPROVAL]
        new.close()


def test_a_session_whose_name_is_no_text_stops_no_check(tmp_path: Path) -> None:
    """A client's input can name half of a character, and the audit keeps what was said."""
    store = SqliteStore.open(str(tmp_path / "state"))
    with store.transaction() as tx:
        tx.append_audit(1.0, {"event": "decision", "session": "\ud800"})
        assert tx.label_contradictions() == []
        tx.put_session(SessionRow("\ud800", started_at=1.0))
        assert tx.label_contradictions() == []
        for table in ("sessions", "label_seals"):
            tx._write(f"DELETE FROM {table}", ())
        assert [subject for subject, _ in tx.label_contradictions()] == [Subject("\ud800")]
    store.close()
