"""What is copied into the shared store stays, whoever works with it meanwhile."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from contract import SESSION

from lockgate.core.errors import StoreError
from lockgate.store.copy.copying import copy as copy_all
from lockgate.store.copy.ends import PostgresEnd, SqliteEnd
from lockgate.store.copy.tables import TABLES, TableShape
from lockgate.store.opening import open_store
from lockgate.store.postgres.store import PostgresStore
from lockgate.store.sqlite.store import SqliteStore
from support.postgres import use

_MOST = 20.0
"""Less than a gate waits for a lock here, and more than a loaded machine takes."""


def _opened(state: Path, busy_seconds: float = 60.0) -> PostgresStore:
    store = open_store(str(state), busy_seconds=busy_seconds)
    assert isinstance(store, PostgresStore)
    return store


def _waits(looker: PostgresStore) -> bool:
    """Whether anybody waits for a lock."""
    with looker.reading() as tx:
        return bool(tx._all("SELECT 1 FROM pg_locks WHERE NOT granted"))


def test_a_gate_that_has_read_a_session_does_not_overwrite_the_copied_one(tmp_path: Path, postgres_url: str) -> None:
    gate, copier, looker = (_opened(use(tmp_path / name, postgres_url)) for name in ("gate", "copier", "looker"))
    copied = SESSION._replace(cwd="/copied")

    def copy() -> None:
        with copier.transaction() as tx:
            end = PostgresEnd(tx)
            end.lock()
            end.put(TABLES[0], [copied])

    with gate.transaction() as tx:
        tx.put_session(SESSION)
    thread = threading.Thread(target=copy)
    with gate.transaction() as tx:
        read = tx.session(SESSION.session)
        assert read is not None
        thread.start()
        until = time.monotonic() + _MOST
        while thread.is_alive() and not _waits(looker) and time.monotonic() < until:
            time.sleep(0.01)
        # Another session, too: who is waited for must not have to wait.
        assert tx.session("another") is None
        tx.put_session(read._replace(seen_at=read.seen_at + 1))
    thread.join(_MOST)
    assert not thread.is_alive()
    with looker.reading() as tx:
        assert tx.session(SESSION.session) == copied
    for store in (gate, copier, looker):
        store.close()


def test_what_is_copied_back_does_not_change_while_it_is_read(tmp_path: Path, postgres_url: str) -> None:
    shared, gate = _opened(use(tmp_path / "shared", postgres_url)), _opened(use(tmp_path / "gate", postgres_url), 0.2)
    own = SqliteStore.open(str(tmp_path / "own"))
    with gate.transaction() as tx:
        tx.put_session(SESSION)
    refused: list[str] = []

    class Target(SqliteEnd):
        def put(self, table: TableShape, rows: Sequence[Any]) -> None:
            super().put(table, rows)
            with pytest.raises(StoreError) as caught, gate.transaction() as tx:
                tx.block(SESSION.session, "", "Bash: git push", 1.0)
            refused.append(str(caught.value))

    with own.transaction() as local, shared.transaction() as there:
        copied = copy_all(PostgresEnd(there), Target(local), same_addresses=False)
    assert refused
    assert (copied.rows["sessions"], copied.rows["blocked"]) == (1, 0)
    for store in (shared, gate, own):
        store.close()
