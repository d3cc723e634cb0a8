"""What the owner of the shared store does, and no gate: making its tables, and saying which role has a gate."""

from __future__ import annotations

import os

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.postgres.connections import (
    OWN_NAMES,
    REACHED_SECONDS,
    Timeouts,
    open_connection,
    reason,
    store_error,
)
from lockgate.store.postgres.schema import GATE_RIGHTS, MIGRATIONS, READER_RIGHTS, SCHEMA, VERSION
from lockgate.store.postgres.schema_roles import GATE_ROLES, READER_ROLES
from lockgate.store.postgres.schema_rows import OWNED
from lockgate.store.postgres.settings import address_of, no_service, psycopg_here
from lockgate.store.postgres.statements import lock_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.store.postgres.connections import Connection

OLDEST = 130000
"""PostgreSQL 13, the oldest that is supported."""
_CONNECT_SECONDS = 10
_LOCK_SECONDS = 30
KEY_BYTES = 32


class Migrated(Record):
    """What was done."""

    before: int
    """The version of the schema that was found; 0 where there was none."""
    after: int
    unbound: tuple[str, ...] = ()
    """Gates of which nobody knows which role they have: only the owner acts for them, until they are bound to one."""


def migrate(
    url: str, *, fleet_key: bytes = b"", gate_roles: Sequence[str] = (), reader_roles: Sequence[str] = ()
) -> Migrated:
    """Make the tables, or make them newer, in one transaction. Two at once wait for each other.

    Args:
        url: The address of the database, for its owner.
        fleet_key: 32 secret bytes that all gates are to share; empty for new ones. Kept where there are some already.
        gate_roles: Roles of the database that get the rights of a gate, and no more.
        reader_roles: Roles that may only look.

    Raises:
        StoreError: The database cannot be reached, is too old, or was made by a newer Lockgate; nothing was changed.
    """
    psycopg = psycopg_here()
    try:
        with no_service():
            opened = psycopg.connect(**{**address_of(url), "connect_timeout": _CONNECT_SECONDS})
        with opened as connection:
            if connection.info.server_version < OLDEST:
                raise StoreError("the shared store takes PostgreSQL 13 or newer")
            return _migrate(connection, fleet_key or os.urandom(KEY_BYTES), gate_roles, reader_roles)
    except psycopg.Error as error:
        raise StoreError(f"the shared store cannot be made: {reason(error)}") from error


def _migrate(
    connection: Connection, fleet_key: bytes, gate_roles: Sequence[str], reader_roles: Sequence[str]
) -> Migrated:
    from psycopg import sql

    connection.execute(f"SET LOCAL {OWN_NAMES}")
    # A gate looks at the version in each of its transactions: what the migration changes waits for these to end.
    connection.execute(f"SET LOCAL lock_timeout = '{_LOCK_SECONDS}s'")
    _take_turn(connection)
    before = _version(connection)
    if before > VERSION:
        raise StoreError(f"the shared store was made by a newer Lockgate (schema {before}): upgrade this one")
    if before and before < VERSION:
        connection.execute(f"LOCK TABLE {SCHEMA}.meta IN ACCESS EXCLUSIVE MODE")
    for number in range(before, VERSION):
        for statement in MIGRATIONS[number]:
            connection.execute(statement)
    if before:
        connection.execute("UPDATE lockgate.meta SET version = %s", (VERSION,))
    else:
        connection.execute(
            "INSERT INTO lockgate.meta (id, version, fleet_key) VALUES (1, %s, %s)", (VERSION, fleet_key)
        )
    # Who had the rights of an older version gets those of this one.
    for known, roles, rights in ((GATE_ROLES, gate_roles, GATE_RIGHTS), (READER_ROLES, reader_roles, READER_RIGHTS)):
        had = [role for (role,) in connection.execute(known).fetchall()]
        for role in dict.fromkeys((*had, *roles)):
            for right in rights:
                connection.execute(sql.SQL(right).format(role=sql.Identifier(role)))
    return Migrated(before, VERSION, _unbound(connection))


def _unbound(connection: Connection) -> tuple[str, ...]:
    rows = connection.execute("SELECT gate FROM lockgate.gates WHERE role = '' ORDER BY gate").fetchall()
    return tuple(gate for (gate,) in rows)


def _take_turn(connection: Connection) -> None:
    """Wait for another migration. Only where there are no tables yet does that take a lock that anybody can hold."""
    if not _is_made(connection):
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (lock_key("migration"),))
    if _is_made(connection):
        connection.execute(f"LOCK TABLE {SCHEMA}.meta IN SHARE ROW EXCLUSIVE MODE")


def _is_made(connection: Connection) -> bool:
    found = connection.execute("SELECT to_regclass('lockgate.meta') IS NOT NULL").fetchone()
    return bool(found and found[0])


def _version(connection: Connection) -> int:
    if not _is_made(connection):
        return 0
    row = connection.execute("SELECT version FROM lockgate.meta").fetchone()
    return int(row[0]) if row else 0


def bind(url: str, gate: str, role: str) -> str:
    """Give a gate to a role: from now on only that one, and its members, record for the gate.

    Args:
        url: The address of the database, for its owner.
        gate: The gate's id, the beginning of it, or its name.
        role: The role.

    Returns:
        The gate's id.

    Raises:
        StoreError: There is no such gate or role, or more than one gate is meant, or the address is not the owner's.
    """
    psycopg = psycopg_here()
    try:
        with open_connection(address_of(url), Timeouts(REACHED_SECONDS)) as connection:
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
                raise StoreError("the database has no role of this name")
            found = _one(connection, gate)
            before = connection.execute("SELECT role FROM lockgate.gates WHERE gate = %s", (found,)).fetchone()
            connection.execute("UPDATE lockgate.gates SET role = %s WHERE gate = %s", (role, found))
            if before and before[0] not in ("", role):
                _take_rows_along(connection, before[0], role)
            return found
    except psycopg.OperationalError as error:
        raise StoreError(f"the shared store cannot be reached: {reason(error)}") from error
    except psycopg.Error as error:
        raise store_error(error) from error


def _take_rows_along(connection: Connection, before: str, role: str) -> None:
    """Give all rows of a role to another one, where no gate has the former any more."""
    if connection.execute("SELECT 1 FROM lockgate.gates WHERE role = %s", (before,)).fetchone():
        return
    connection.execute(
        "DELETE FROM lockgate.addresses a USING lockgate.addresses b WHERE a.role = %s AND b.role = %s"
        " AND (a.session, a.key) = (b.session, b.key) AND a.human <= b.human",
        (before, role),
    )
    connection.execute(
        "DELETE FROM lockgate.addresses b USING lockgate.addresses a WHERE a.role = %s AND b.role = %s"
        " AND (a.session, a.key) = (b.session, b.key)",
        (before, role),
    )
    for table in OWNED:
        connection.execute(f"UPDATE lockgate.{table} SET role = %s WHERE role = %s", (role, before))  # noqa: S608


def _one(connection: Connection, gate: str) -> str:
    rows = connection.execute(
        "SELECT gate FROM lockgate.gates WHERE gate = %s OR name = %s OR (length(%s) >= 8 AND starts_with(gate, %s))",
        (gate, gate, gate, gate),
    ).fetchall()
    if len(rows) != 1:
        raise StoreError("there is no such gate" if not rows else "several gates have this name: say the id of one")
    return str(rows[0][0])
