"""The two ends of a copy: how each store's tables and chain are read and written as a whole."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import ROOT, seal
from lockgate.store.copy.tables import ADDRESSES, SETTINGS, TABLES, TAINTS, TableShape
from lockgate.store.postgres.schema_rows import OWN
from lockgate.store.postgres.subjects import same_taint
from lockgate.store.rows import AuditCheckpoint, AuditHead, AuditRow

if TYPE_CHECKING:
    from typing import Any, Protocol

    from lockgate.store.postgres.transaction import PostgresTransaction
    from lockgate.store.protocol import Transaction
    from lockgate.store.sqlite.transaction import SqliteTransaction

    Row = Sequence[Any]

    class End(Protocol):
        """A transaction of one of the stores."""

        @property
        def tx(self) -> Transaction:
            """The transaction."""

        def lock(self) -> None:
            """Let nobody else write until the transaction ends."""

        def rows(self, table: TableShape) -> Sequence[Row]:
            """All rows of a table, in the order in which they were written; of the settings, this gate's."""

        def put(self, table: TableShape, rows: Sequence[Row]) -> None:
            """Add rows, or replace those with the same key."""

        def drop(self, table: TableShape, sessions: Iterable[str]) -> None:
            """Remove the rows of some sessions."""

        def seal(self) -> None:
            """Seal what was put, where the store has seals."""

        def put_records(self, rows: Sequence[AuditRow]) -> None:
            """Put records behind those that are there, as they are."""

        def put_checkpoint(self, base: AuditCheckpoint) -> None:
            """Put a checkpoint in the place of the records up to it."""

        def put_head(self, head: AuditHead) -> None:
            """Put the head of the records that were put."""


def _insert(table: str, columns: Sequence[str], key: Sequence[str], place: str, *, taints: bool) -> str:
    statement = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join([place] * len(columns))})"  # noqa: S608
    if not key:
        return statement
    changes = ", ".join(f"{column} = excluded.{column}" for column in columns if column not in key)
    if taints:
        changes = "state = 'confirmed' WHERE excluded.state = 'confirmed'"
    return f"{statement} ON CONFLICT ({', '.join(key)}) DO UPDATE SET {changes}"


_VOUCHED = frozenset({"addresses", "settings", "briefs"})
"""Tables of which nothing is copied that has no seal which holds: the other store would believe it."""


class SqliteEnd:
    """A transaction on the database of a state folder."""

    def __init__(self, tx: SqliteTransaction) -> None:
        self.tx = tx

    def lock(self) -> None:
        """Nothing to do: a transaction that writes excludes every other one."""

    def rows(self, table: TableShape) -> Sequence[Row]:
        """All rows of a table."""
        names = ", ".join(table.columns)
        if table.name not in _VOUCHED:
            found: Sequence[Row] = self.tx._all(f"SELECT {names} FROM {table.name} ORDER BY {table.order}", ())  # noqa: S608
            return found
        rows = self.tx._all(f"SELECT {names}, seal FROM {table.name} ORDER BY {table.order}", ())  # noqa: S608
        return [known for row in rows if (known := self.tx._unseal(table.name, row)) is not None]

    def put(self, table: TableShape, rows: Sequence[Row]) -> None:
        """Add or replace rows."""
        statement = _insert(table.name, table.columns, table.key, "?", taints=table is TAINTS)
        for row in rows:
            self.tx._write(statement, row)

    def drop(self, table: TableShape, sessions: Iterable[str]) -> None:
        """Remove the rows of some sessions."""
        for session in sessions:
            self.tx._write(f"DELETE FROM {table.name} WHERE session = ?", (session,))  # noqa: S608

    def seal(self) -> None:
        """Seal the labels and rows that were put."""
        from lockgate.store.sqlite.row_checks import seal_copied

        seal_copied(self.tx)
        self.tx.seal_labels()
        self.tx.list_begun()
        self.tx.list_sets()

    def put_records(self, rows: Sequence[AuditRow]) -> None:
        """Put records behind those that are there."""
        for row in rows:
            self.tx._write("INSERT INTO audit (seq, at, body, previous, digest) VALUES (?, ?, ?, ?, ?)", row)

    def put_checkpoint(self, base: AuditCheckpoint) -> None:
        """Put a checkpoint in the place of the records up to it."""
        self.tx._write("INSERT OR REPLACE INTO audit_checkpoint VALUES (1, ?, ?, ?, ?, ?)", base)
        self.tx._write("DELETE FROM audit WHERE seq <= ?", (base.seq,))

    def put_head(self, head: AuditHead) -> None:
        """Put the head. No seal of a label from before it holds any more."""
        found = self.tx.put_back()
        self.tx._put_head(head.seq, head.digest)
        self.tx.begin_epoch()
        self.tx.seal_labels()
        self.tx.list_begun()
        if found is None or not found.reason:
            self.tx.accept_put_back()


# What another role has added to a session counts only for that one.
_OWN_ADDRESSES = (
    f"SELECT session, key, max(human) FROM lockgate.addresses a WHERE {OWN}"  # noqa: S608 - a text of ours
    " GROUP BY session, key ORDER BY session, key"
)


class PostgresEnd:
    """A transaction on the shared database."""

    def __init__(self, tx: PostgresTransaction) -> None:
        self.tx = tx
        # The chain of the other end is verified meanwhile, which takes longer than a gate may keep others waiting.
        tx._write("SET LOCAL idle_in_transaction_session_timeout = 0", ())
        tx.send()

    def lock(self) -> None:
        """No other gate writes until the transaction ends, nor goes on with what it has read before."""
        # A gate locks a row of `locks` before it reads what it will write. A lock of that whole table waits for all who
        # have one, and they may take more meanwhile: row by row, two could wait for each other. The head comes last,
        # as it does in a gate.
        names = ", ".join(f"lockgate.{name}" for name in ("locks", *(t.name for t in (*TABLES, ADDRESSES, SETTINGS))))
        self.tx._write(f"LOCK TABLE {names} IN EXCLUSIVE MODE", ())
        self.tx._write("SELECT FROM lockgate.gates WHERE gate = %s FOR NO KEY UPDATE", (self.tx.gate,))
        self.tx.send()

    def rows(self, table: TableShape) -> Sequence[Row]:
        """All rows of a table; of the settings, this gate's."""
        if table is ADDRESSES:
            return self.tx._all(_OWN_ADDRESSES)
        own = table is SETTINGS
        return self.tx._all(
            f"SELECT {', '.join(table.columns)} FROM lockgate.{table.name}"  # noqa: S608
            f"{' WHERE gate = %s' if own else ''} ORDER BY {table.order}",
            (self.tx.gate,) if own else (),
        )

    def put(self, table: TableShape, rows: Sequence[Row]) -> None:
        """Add or replace rows."""
        columns, key = table.columns, table.key
        if table is SETTINGS:
            columns, key = ("gate", *columns), ("gate", *key)
            rows = [(self.tx.gate, *row) for row in rows]
        elif table is ADDRESSES:
            key = (*key, "role")
        elif table is TAINTS:
            columns, key = (*columns, "same"), ("session", "agent", "same")
            rows = [(*row, self._same(row)) for row in rows]
        statement = _insert(f"lockgate.{table.name}", columns, key, "%s", taints=table is TAINTS)
        for row in rows:
            self.tx._write(statement, row)
        self.tx.send()

    def drop(self, table: TableShape, sessions: Iterable[str]) -> None:
        """Remove the rows of some sessions."""
        for session in sessions:
            self.tx._write(f"DELETE FROM lockgate.{table.name} WHERE session = %s", (session,))  # noqa: S608

    def seal(self) -> None:
        """Nothing: there are no seals."""

    def put_records(self, rows: Sequence[AuditRow]) -> None:
        """Put records behind those that are there."""
        self._make_known(rows[0].at)
        for row in rows:
            self.tx._write(
                "INSERT INTO lockgate.audit (gate, seq, at, body, previous, digest) VALUES (%s, %s, %s, %s, %s, %s)",
                (self.tx.gate, *row),
            )
        self.tx.send()

    def put_checkpoint(self, base: AuditCheckpoint) -> None:
        """Put a checkpoint in the place of the records up to it."""
        self._make_known(base.at)
        self.tx.put_checkpoint(base)

    def put_head(self, head: AuditHead) -> None:
        """Put the head."""
        self.tx.put_head(head._replace(seal=seal(self.tx._key, head.seq, head.digest)))

    def _make_known(self, at: float) -> None:
        self.tx._write(
            "INSERT INTO lockgate.gates (gate, name, made_at, seq, digest, seal) VALUES (%s, %s, %s, 0, %s, %s)"
            " ON CONFLICT (gate) DO NOTHING",
            (self.tx.gate, self.tx.name, at, ROOT, seal(self.tx._key, 0, ROOT)),
        )

    @staticmethod
    def _same(row: Row) -> bytes:
        found = dict(zip(TAINTS.columns, row, strict=True))
        return same_taint(found["label"], found["source"], found["call_id"], found["origin"])
