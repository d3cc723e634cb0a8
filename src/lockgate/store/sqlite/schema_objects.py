"""Triggers, views and indexes of the database that this version does not make: named, and taken out by a person.

A trigger runs inside of each statement that writes, and a view stands in the place of a table. Whoever may write the
database could by these change what is kept while a decision is recorded.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.files import DATABASE, VERSION
from lockgate.store.sqlite.copies import way_back
from lockgate.store.sqlite.schema import MIGRATIONS
from lockgate.store.sqlite.statements import MEND, OBJECTS, in_one_line

if TYPE_CHECKING:
    from sqlite3 import Connection

    Objects = dict[str, tuple[str, str]]

_NAMED = 5
"""Objects that a message names."""
_OTHERWISE = "run: lockgate store restore, which lists the copies that there are"


class MendedSchema(Record):
    """What was mended."""

    removed: tuple[str, ...] = ()
    """Kind and name of each."""
    made: tuple[str, ...] = ()
    version: int = 0
    """The version that the tables were said to be of, where it was another; else 0."""


def objects_of(connection: Connection) -> Objects:
    """Kind and text of each trigger, view and index, by its name."""
    return {name: (kind, in_one_line(sql)) for name, kind, sql in connection.execute(OBJECTS)}


def make_expected_database() -> Connection:
    """An empty database in memory with all that this version makes."""
    made = sqlite3.connect(":memory:", isolation_level=None)
    for statement in (each for step in MIGRATIONS for each in step):
        made.execute(statement)
    return made


def refuse_foreign(connection: Connection, path: str) -> None:
    """Say what is in a database that this version does not make, or what it lacks.

    Raises:
        StoreError: Always.
    """
    with closing(make_expected_database()) as made:
        expected = objects_of(made)
    found = objects_of(connection)
    says = [f"the {kind} {name!a}" for name, (kind, _) in sorted(found.items() - expected.items())]
    says += [f"no {kind} {name!a}" for name, (kind, _) in sorted(expected.items() - found.items()) if name not in found]
    more = f" and {len(says) - _NAMED} more" if len(says) > _NAMED else ""
    differs = f"{', '.join(says[:_NAMED])}{more}"
    raise StoreError(f"{path} has {differs}, unlike what Lockgate makes: nothing is decided by it. Run: {MEND}")


def mend_schema(state: str) -> MendedSchema:
    """Take out what this version does not make, and make what is missing.

    Where the tables are those of this version and only their number is another one, that is put right too.

    Raises:
        StoreError: There is no database, or its tables are others.
    """
    path = os.path.join(state, DATABASE)
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=rw", isolation_level=None, uri=True)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            done = _mend(connection, path)
            connection.execute("COMMIT")
    except sqlite3.Error as error:
        raise StoreError(f"{path} cannot be mended ({error}): {_OTHERWISE}") from error
    return done


def _mend(connection: Connection, path: str) -> MendedSchema:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    with closing(make_expected_database()) as made:
        expected, tables = objects_of(made), _tables(made)
    if version > VERSION:
        raise StoreError(
            f"{path} is of version {version}, and this Lockgate makes {VERSION}: nothing was changed. "
            f"A newer one has written it: {way_back(path)}. If none ever ran here, somebody has changed the number: "
            f"{_OTHERWISE}"
        )
    if _tables(connection) != tables:
        raise StoreError(f"the tables in {path} are not those of this version, {VERSION}: {_OTHERWISE}")
    found = objects_of(connection)
    removed = sorted(found.items() - expected.items())
    for name, (kind, _) in removed:
        quoted = name.replace('"', '""')
        connection.execute(f'DROP {kind.upper()} "{quoted}"')
    missing = sorted(expected.items() - found.items())
    for _, (_, sql) in missing:
        connection.execute(sql)
    if version != VERSION:
        connection.execute(f"PRAGMA user_version = {VERSION:d}")
    return MendedSchema(
        tuple(f"{kind} {name}" for name, (kind, _) in removed),
        tuple(f"{kind} {name}" for name, (kind, _) in missing),
        version if version != VERSION else 0,
    )


def _tables(connection: Connection) -> dict[str, tuple[tuple[object, ...], ...]]:
    """The columns of each table, by name: an older database has them in the same order, and another text."""
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite~_%' ESCAPE '~'"
    )
    return {
        name: tuple(connection.execute('SELECT name, type, "notnull", pk FROM pragma_table_info(?)', (name,)))
        for (name,) in names.fetchall()
    }
