"""State folders of several hosts that share a database, in which the shipped patterns count as compiled already."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import psycopg

from lockgate.store.chain_links import gate_of
from lockgate.store.copy.copying import copy
from lockgate.store.copy.ends import PostgresEnd, SqliteEnd
from lockgate.store.opening import open_store
from lockgate.store.postgres.store import PostgresStore
from lockgate.store.sqlite.store import SqliteStore
from support.postgres import use


def share(states: Sequence[Path], url: str) -> None:
    """Let prepared states (``support.prepared``) name one database, each with a key of its own."""
    own = SqliteStore.open(str(states[0]))
    keys = [own.key, *(os.urandom(32) for _ in states[1:])]
    for state, key in zip(states, keys, strict=True):
        (state / "key").write_bytes(key)
        use(state, url, state.parent.name)
    # What the prepared state says of its compiled patterns, for all: compiling takes longer than a hook has.
    shared = opened(states[0])
    with own.transaction() as source, shared.transaction() as target:
        copy(SqliteEnd(source), PostgresEnd(target), same_addresses=False)
    own.close()
    shared.close()
    with psycopg.connect(url) as connection:
        for key in keys[1:]:
            connection.execute(
                "INSERT INTO lockgate.settings SELECT %s, name, value FROM lockgate.settings WHERE gate = %s",
                (gate_of(key), gate_of(keys[0])),
            )


def opened(state: Path) -> PostgresStore:
    """The shared store of a state folder."""
    store = open_store(str(state), busy_seconds=10)
    assert isinstance(store, PostgresStore)
    return store
