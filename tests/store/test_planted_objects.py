"""Triggers, views and indexes that somebody has put into the database: named, nothing is decided by it, one command."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from lockgate.core.errors import StoreError
from lockgate.store.administration import mend_schema
from lockgate.store.audit.chain import verify_store
from lockgate.store.files import DATABASE, VERSION
from lockgate.store.rows import BriefRow, CallRow, SessionRow
from lockgate.store.sqlite.schema_objects import make_expected_database
from lockgate.store.sqlite.store import _OBJECTS_DIGEST, SqliteStore, objects_digest

MEND = "lockgate store mend"

PLANTED = {
    "a trigger that takes labels away": (
        "CREATE TRIGGER helper AFTER INSERT ON taints BEGIN DELETE FROM taints; END",
        "the trigger 'helper'",
    ),
    "a view": ("CREATE VIEW helper AS SELECT * FROM taints", "the view 'helper'"),
    "an index that refuses": ("CREATE UNIQUE INDEX helper ON audit (at)", "the index 'helper'"),
    "a name to escape": ('CREATE VIEW "a\x1b[2J""b" AS SELECT 1', r"the view 'a\x1b[2J\"b'"),
    "a trigger that is gone": ("DROP TRIGGER audit_no_delete", "no trigger 'audit_no_delete'"),
    "a trigger that was replaced": (
        "DROP TRIGGER audit_no_delete; CREATE TRIGGER audit_no_delete AFTER INSERT ON taints BEGIN SELECT 1; END",
        "the trigger 'audit_no_delete'",
    ),
}


@pytest.fixture
def state(tmp_path: Path) -> str:
    folder = str(tmp_path / "state")
    SqliteStore.open(folder).close()
    return folder


def _run(state: str, script: str) -> None:
    with closing(sqlite3.connect(os.path.join(state, DATABASE), isolation_level=None)) as connection:
        connection.executescript(script)


def test_the_digest_is_of_what_this_version_makes(state: str) -> None:
    with closing(make_expected_database()) as made:
        assert objects_digest(made) == _OBJECTS_DIGEST


@pytest.mark.parametrize(("script", "named"), PLANTED.values(), ids=PLANTED)
def test_what_is_planted_is_named_and_mended(state: str, script: str, named: str) -> None:
    _run(state, script)
    with pytest.raises(StoreError) as refused, closing(SqliteStore.open(state)) as store, store.reading():
        pass
    assert named.replace('\\"', '"') in str(refused.value)
    assert str(refused.value).endswith(f"Run: {MEND}")
    done = mend_schema(state)
    assert done.removed or done.made
    with closing(SqliteStore.open(state)) as store, store.transaction() as tx:
        tx.put_setting("a", "b")
        assert verify_store(tx, store.key).ok
    assert mend_schema(state) == type(done)()


@pytest.mark.parametrize("writable", [False, True], ids=["reads", "writes"])
def test_an_open_store_sees_what_is_planted_later(state: str, writable: bool) -> None:
    with closing(SqliteStore.open(state)) as store:
        with store.transaction() as tx:
            tx.put_setting("a", "b")
        _run(state, PLANTED["a trigger that takes labels away"][0])
        for _ in range(2):
            with (
                pytest.raises(StoreError, match="the trigger 'helper'"),
                store.transaction() if writable else store.reading(),
            ):
                pass
        mend_schema(state)
        with store.transaction() as tx:
            assert tx.setting("a") == "b"


def test_what_is_planted_while_a_store_is_refused_is_seen_when_it_is_opened_again(state: str) -> None:
    """SQLite's own count of changes of the schema can be set, and is of a connection that is gone."""
    with closing(SqliteStore.open(state)) as store:
        with store.transaction() as tx:
            tx.put_setting("a", "b")
        with sqlite3.connect(os.path.join(state, DATABASE), isolation_level=None) as other:
            [(count,)] = other.execute("PRAGMA schema_version").fetchall()
            other.execute(f"PRAGMA user_version = {VERSION + 1}")
            with pytest.raises(StoreError), store.transaction():
                pass
            other.execute(PLANTED["a trigger that takes labels away"][0])
            other.execute(f"PRAGMA schema_version = {count}")
            other.execute(f"PRAGMA user_version = {VERSION}")
        other.close()
        with pytest.raises(StoreError, match="the trigger 'helper'"), store.transaction():
            pass


def test_a_row_is_found_under_its_own_name_alone(state: str) -> None:
    """Tables that are made anew may take other names for the same."""
    with closing(SqliteStore.open(state)) as store:
        with store.transaction() as tx:
            tx.put_setting("trust:/project", "a")
            tx.put_session(SessionRow("s"))
            tx.put_call(CallRow("s", "c"))
            tx.put_brief(BriefRow("b", "s", "", "", "", "", "approved"))
            tx.add_addresses("s", [b"k"], human=True)
        for table in ("settings", "sessions", "calls", "briefs", "addresses"):
            [(sql,)] = store._connection.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchall()
            anew = sql.replace(" TEXT", " TEXT COLLATE NOCASE").replace(f"TABLE {table}", "TABLE anew")
            _run(state, f"{anew}; INSERT INTO anew SELECT * FROM {table}")
            indexes = [
                each
                for (each,) in store._connection.execute(
                    "SELECT sql FROM sqlite_master WHERE type = 'index' AND tbl_name = ? AND sql IS NOT NULL", (table,)
                )
            ]
            _run(state, f"DROP TABLE {table}; ALTER TABLE anew RENAME TO {table}; {'; '.join(indexes)}")
        with store.reading() as tx:
            assert (tx.setting("trust:/project"), tx.setting("trust:/PROJECT")) == ("a", None)
            assert (tx.call("s", "c") is None, tx.call("s", "C")) == (False, None)
            assert (tx.brief("b") is None, tx.brief("B")) == (False, None)
            assert (tx.knows_address("s", b"k"), tx.knows_address("S", b"k")) == (True, False)
            found = tx.session("S")
            assert found is None or found.how == "resume", "as one that did not begin here"


@pytest.mark.parametrize("version", range(-1, VERSION))
def test_a_number_of_the_version_that_is_wrong_has_a_next_step(state: str, version: int) -> None:
    with closing(SqliteStore.open(state)) as store, store.transaction() as tx:
        tx.put_setting("a", "b")
    _run(state, f"PRAGMA user_version = {version}")
    copy = Path(state, f"lockgate.db.{version}")
    copy.write_bytes(b"a copy that an upgrade has kept")
    with pytest.raises(StoreError) as refused, closing(SqliteStore.open(state)):
        pass
    assert MEND in str(refused.value)
    assert copy.read_bytes() == b"a copy that an upgrade has kept"
    assert sorted(path.name for path in Path(state).glob("lockgate.db.*[!lm]")) == [copy.name], "no draft is left"
    assert mend_schema(state).version == version
    with closing(SqliteStore.open(state)) as store, store.reading() as tx:
        assert tx.setting("a") == "b"


@pytest.mark.parametrize("script", [f"PRAGMA user_version = {VERSION + 1}", "ALTER TABLE taints ADD COLUMN x TEXT"])
def test_tables_that_are_not_of_this_version_are_left_alone(state: str, script: str) -> None:
    _run(state, script)
    with pytest.raises(StoreError, match="lockgate store restore"):
        mend_schema(state)


def test_of_a_greater_number_it_is_said_what_it_may_mean(state: str) -> None:
    _run(state, f"PRAGMA user_version = {VERSION + 1}")
    with pytest.raises(StoreError) as refused:
        mend_schema(state)
    said = str(refused.value)
    assert f"is of version {VERSION + 1}, and this Lockgate makes {VERSION}: nothing was changed" in said
    assert "A newer one has written it: upgrade this one" in said
    assert "If none ever ran here, somebody has changed the number" in said
