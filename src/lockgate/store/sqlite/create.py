"""Making the database of the default store, and bringing one of an older version to this one's form."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import ROOT, seal
from lockgate.store.sqlite.schema import MIGRATIONS, VERSION

if TYPE_CHECKING:
    from sqlite3 import Connection


def fill(connection: Connection, key: bytes) -> None:
    """Make all that there is in a new database, whose file is empty. Raises an error of SQLite."""
    connection.execute("PRAGMA synchronous = OFF")  # the file is synced before it gets its name
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN")
    for number in range(VERSION):
        _apply(connection, number)
    # An empty chain is sealed too, so that a chain without a head is known to have lost it.
    connection.execute("INSERT INTO audit_head VALUES (1, 0, ?, ?)", (ROOT, seal(key, 0, ROOT)))
    connection.execute("COMMIT")


def migrate(connection: Connection) -> None:
    """Bring a database to this version. Raises an error of SQLite."""
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have done it meanwhile.
    for number in range(connection.execute("PRAGMA user_version").fetchone()[0], VERSION):
        _apply(connection, number)
    connection.execute("COMMIT")


def _apply(connection: Connection, number: int) -> None:
    for statement in MIGRATIONS[number]:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {number + 1:d}")
