"""How the statements of one transaction on the SQLite database are run."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import PURPOSE_ROW, canonical, hash_with_key
from lockgate.store.rows import parse_column

if TYPE_CHECKING:
    from sqlite3 import Connection, Cursor
    from typing import Any

Value = str | bytes | int | float
Written = tuple[str, Sequence[Value]]
"""A statement that writes, and its values."""
SESSIONS, AGENTS, CALLS, BRIEFS = "sessions", "agents", "calls", "briefs"
ADDRESSES, SETTINGS, TAINTS, APPROVALS = "addresses", "settings", "taints", "approvals"
"""Tables whose rows are sealed each by itself."""
_NAMES = 1000
"""About how many names one statement asks: SQLite takes 32,766 values (https://www.sqlite.org/limits.html)."""


class SqliteStatements:
    """One transaction's connection, and whether it may write."""

    written: list[Written] | None = None
    """What it wrote, where somebody may have to write it again."""

    def __init__(self, connection: Connection, key: bytes, *, writable: bool) -> None:
        self._cursor = connection.cursor()
        """Of all statements: to make one for each takes as long as a small query. So what one gives is read at once."""
        self._key = key
        self._writable = writable

    def _run(self, statement: str, values: Sequence[Value]) -> Cursor:
        try:
            return self._cursor.execute(statement, values)
        except UnicodeEncodeError:
            # A client's JSON may hold half a surrogate pair, which is no text to SQLite: it is kept as its escape.
            return self._cursor.execute(statement, [_encodable(value) for value in values])

    def _one(self, statement: str, values: Sequence[Value]) -> Any:
        """The row that a statement gives which gives one at most; ``None`` where it gives none."""
        found = self._run(statement, values).fetchall()
        return found[0] if found else None

    def _all(self, statement: str, values: Sequence[Value]) -> list[Any]:
        return self._run(statement, values).fetchall()

    def _of_each(self, names: Collection[Sequence[Value]], columns: Sequence[str], what: str) -> list[Any]:
        """What some expressions are for each of many names, in their order.

        Args:
            names: The values of each.
            columns: What these are called, as columns of ``asked``.
            what: The expressions.
        """
        rows, rest = [], list(names)
        while rest:
            some, rest = rest[:_NAMES], rest[_NAMES:]
            asked = ", ".join(f"({place}{', ?' * len(columns)})" for place in range(len(some)))
            rows += self._all(
                f"WITH asked (place, {', '.join(columns)}) AS (VALUES {asked})"  # noqa: S608 - names of ours
                f" SELECT {what} FROM asked ORDER BY place",
                [value for name in some for value in name],
            )
        return rows

    def _may_write(self) -> None:
        """Refuse to go on where this is a look only."""
        if not self._writable:
            raise StoreError("this is a look only: it cannot write")

    def _row_seal(self, table: str, values: Sequence[Value]) -> str:
        """The seal of a row: a keyed hash of its table and all its values, in the order in which they are read."""
        return hash_with_key(self._key, PURPOSE_ROW, canonical({table: [_to_json_value(value) for value in values]}))

    def _unseal(self, table: str, row: Sequence[Any] | None, key: Sequence[Value] = ()) -> Sequence[Any] | None:
        """The values of a row that ends with a seal; ``None`` where there is none, or something else has written it.

        Args:
            table: The table.
            row: What was read of it.
            key: The values that were asked for, where they are the row's first. The table may have been made anew, so
                that it takes others for the same.
        """
        if row is None:
            return None
        *values, seal = row
        if any(is_there not in (asked, _encodable(asked)) for is_there, asked in zip(values, key, strict=False)):
            return None
        try:
            return values if seal and seal == self._row_seal(table, values) else None
        except ValueError:  # a number that is none, which Lockgate never writes
            return None

    def _write(self, statement: str, values: Sequence[Value]) -> Cursor:
        self._may_write()
        if self.written is not None:
            self.written.append((statement, values))
        return self._run(statement, values)


def _to_json_value(value: Value) -> Value:
    """A value as SQLite gives it back, in a form that JSON has."""
    if isinstance(value, str):
        return value if value.isascii() else str(_encodable(value))
    return value.hex() if isinstance(value, bytes) else float(value)


def _encodable(value: Value) -> Value:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def parse_json(text: str) -> Any:
    """A value that was kept as JSON.

    Raises:
        StoreError: It is none.
    """
    return parse_column(text, "the state is damaged; go back to a copy of it: lockgate store restore")


OBJECTS = "SELECT name, type, sql FROM sqlite_master WHERE type != 'table' AND sql IS NOT NULL ORDER BY name"
"""What else than tables a database has, and was not made by SQLite itself."""
MEND = "lockgate store mend"
"""What helps where a database has other objects."""


def in_one_line(statement: str) -> str:
    """A statement with a space between its words."""
    return " ".join(statement.split())
