"""Takes records out of the audit for a moment, as a process of the user's could that has not read the key."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path


@contextmanager
def hide_records(state: Path, event: str, about: str = "") -> Iterator[int]:
    """Let a state have no record of an event meanwhile; gives how many there were.

    Args:
        state: The state folder.
        event: The event.
        about: A text that the records hold.
    """
    with closing(sqlite3.connect(state / "lockgate.db", timeout=20)) as connection:
        where = "instr(body, ?) AND instr(body, ?)"
        rows = connection.execute(f"SELECT * FROM audit WHERE {where}", (f'"event":"{event}"', about)).fetchall()
        _change(connection, "DELETE FROM audit WHERE seq = ?", [row[:1] for row in rows])
        yield len(rows)
        _change(connection, "INSERT INTO audit VALUES (?, ?, ?, ?, ?)", rows)


def _change(connection: sqlite3.Connection, statement: str, rows: list[tuple[object, ...]]) -> None:
    triggers = connection.execute(
        "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit'"
    ).fetchall()
    with connection:
        for name, _ in triggers:
            connection.execute(f"DROP TRIGGER {name}")
        connection.executemany(statement, rows)
        for _, text in triggers:
            connection.execute(text)
