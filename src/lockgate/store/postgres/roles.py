"""Saying which role of the database a gate has: what the owner of the tables does, and nobody else can."""

from __future__ import annotations

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.postgres.connections import Limits, connected, reason, store_error
from lockgate.store.postgres.settings import address_of, psycopg_here

if TYPE_CHECKING:
    from lockgate.store.postgres.connections import Connection

_SECONDS = 10.0


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
        with connected(address_of(url), Limits(_SECONDS)) as connection:
            if not connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", (role,)).fetchone():
                raise StoreError("the database has no role of this name")
            found = _one(connection, gate)
            connection.execute("UPDATE lockgate.gates SET role = %s WHERE gate = %s", (role, found))
            return found
    except psycopg.OperationalError as error:
        raise StoreError(f"the shared store cannot be reached: {reason(error)}") from error
    except psycopg.Error as error:
        raise store_error(error) from error


def _one(connection: Connection, gate: str) -> str:
    rows = connection.execute(
        "SELECT gate FROM lockgate.gates WHERE gate = %s OR name = %s OR (length(%s) >= 8 AND starts_with(gate, %s))",
        (gate, gate, gate, gate),
    ).fetchall()
    if len(rows) != 1:
        raise StoreError("there is no such gate" if not rows else "several gates have this name: say the id of one")
    return str(rows[0][0])
