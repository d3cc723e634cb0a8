"""Changing a database as somebody would who can write the file: the triggers are no obstacle, and are put back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def unguarded(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """A database without its triggers, which has them again afterwards: else nothing would be decided by it."""
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f'DROP TRIGGER "{name}"')
    yield connection
    for _, sql in triggers:
        connection.execute(sql)
