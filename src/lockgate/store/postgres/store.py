"""The shared store as a gate opens it: who it is there, its atomic steps, the database's time."""

from __future__ import annotations

import time
from collections.abc import Callable

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import gate_of
from lockgate.store.postgres.connections import Pool, Timeouts, leave, store_error, take_pool
from lockgate.store.postgres.schema import VERSION
from lockgate.store.postgres.settings import psycopg_here
from lockgate.store.postgres.transaction import PostgresTransaction

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from types import TracebackType
    from typing import Any

    from lockgate.store.postgres.connections import Connection
    from lockgate.store.postgres.settings import Address

_PAUSE = 0.01
"""Seconds before the next connection is tried after one that was lost."""
_FACTS = "SELECT version, mark, extract(epoch FROM clock_timestamp())::float8 FROM lockgate.meta"
_WRITING = f"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; {_FACTS}"
_READING = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {_FACTS}"


class PostgresStore:
    """A ``Store`` in a shared database. One object belongs to one thread; the connections are the process's."""

    def __init__(self, address: Address, key: bytes, name: str, busy_seconds: float, notes: str = "") -> None:
        """Use a database.

        Args:
            address: What libpq is told.
            key: The key of this machine.
            name: What people call this gate.
            busy_seconds: How long the database, and other gates, are waited for.
            notes: The file in which this machine notes the last anchor that it had made; none where it is empty.
        """
        self._notes = notes
        self._key = key
        self._gate = gate_of(key)
        self._name = name
        self._pool: Pool | None = take_pool(address, Timeouts(busy_seconds))
        self._fleet_key = b""
        self._mark = ""
        """By what the database is known again."""
        self._ahead: float | None = None
        """Seconds by which the database's clock is ahead of ``time.monotonic``, as it was last seen."""
        self._current: PostgresTransaction | None = None

    @property
    def key(self) -> bytes:
        """32 secret bytes of this installation, for seals and for what only this machine keeps."""
        return self._key

    @property
    def fleet_key(self) -> bytes:
        """32 secret bytes that all gates of this store share, for keyed hashes that they compare."""
        if not self._fleet_key and self._current is not None:
            self._fleet_key = self._current.fleet_key()
        elif not self._fleet_key:
            with self.reading() as tx:
                self._fleet_key = tx.fleet_key()
        return self._fleet_key

    @property
    def gate(self) -> str:
        """This gate's id in the store."""
        return self._gate

    def clock(self) -> float:
        """The database's time, in seconds since the epoch."""
        if self._ahead is None:
            with self.reading():
                pass
        assert self._ahead is not None
        return self._ahead + time.monotonic()

    def transaction(self) -> TransactionContext:
        """Begin an atomic step that excludes every other one about the same session."""
        return TransactionContext(self, writable=True)

    def reading(self) -> TransactionContext:
        """Begin a consistent look that writes nothing."""
        return TransactionContext(self, writable=False)

    def listen(self, heard: Callable[[str], None], *, watching: bool = False) -> AbstractContextManager[None]:
        """Hear of questions that anybody puts or answers, on whatever host."""
        from lockgate.store.postgres.notifications import listen_to_questions

        return listen_to_questions(self._open_pool(), heard, watching=watching)

    def is_watched(self) -> bool:
        """Whether somebody on some host watches for questions."""
        if self._current is not None:
            return self._current.is_watched()
        with self.reading() as tx:
            return tx.is_watched()

    def sync_commits(self, wanted: bool) -> None:
        """Nothing is to be done: each connection asks the server to sync every commit."""

    def close(self) -> None:
        """Let go of the connections."""
        pool, self._pool = self._pool, None
        if pool is not None:
            leave(pool)

    # for the steps

    def begin(self, *, writable: bool) -> tuple[Connection, PostgresTransaction]:
        """Begin a transaction on a connection that works.

        One that was lost since it was last used, as in a failover, is replaced: nothing has been asked on it yet.
        """
        if self._current is not None:
            raise StoreError("a transaction has been begun already")
        pool = self._open_pool()
        until = pool.until()
        psycopg = psycopg_here()
        while True:
            connection = pool.take(until)
            try:
                self._begin(connection, writable=writable)
            except psycopg.Error as error:
                lost = connection.closed
                pool.give(connection)
                if lost and time.monotonic() < until:
                    time.sleep(_PAUSE)
                    continue
                raise store_error(error) from error
            except BaseException:
                pool.give(connection)
                raise
            self._current = PostgresTransaction(connection, self._gate, self._name, self._key, writable=writable)
            return connection, self._current

    def end(self, connection: Connection) -> None:
        """Give a connection back."""
        self._current = None
        if self._pool is None:
            connection.close()
        else:
            self._pool.give(connection)

    def error(self, error: BaseException) -> StoreError | None:
        """An error of the database as the gate's; ``None`` where it is no such error."""
        return store_error(error) if isinstance(error, psycopg_here().Error) else None

    def anchor(self) -> None:
        """Anchor this gate's head, as it is now, and note the anchor where the database's owner cannot change it."""
        with self.transaction() as tx:
            made = tx.anchor()
        if made is not None and self._notes:
            from lockgate.store.postgres.anchor_notes import note

            note(self._notes, made)

    def _open_pool(self) -> Pool:
        if self._pool is None:
            raise StoreError("the store was closed")
        return self._pool

    def _begin(self, connection: Connection, *, writable: bool) -> None:
        # Two statements in one trip. Not prepared: the database takes only one at a time for that.
        cursor = connection.execute(_WRITING if writable else _READING, prepare=False)
        cursor.nextset()
        row = cursor.fetchone()
        self._ahead = float(_fact(row, 2)) - time.monotonic()
        version = int(_fact(row, 0))
        if version > VERSION:
            raise StoreError(
                f"the shared store was made by a newer Lockgate (schema {version}): upgrade this one", is_newer=True
            )
        if version < VERSION:
            raise StoreError(
                f"the shared store was made by an older Lockgate (schema {version}): its owner runs"
                " `lockgate store migrate`"
            )
        mark = str(_fact(row, 1))
        if self._mark and mark != self._mark:
            raise StoreError("the shared store is another one than before: restart the gate")
        self._mark = mark


class TransactionContext:
    """The context manager of one transaction. Every error of the database leaves it as a ``StoreError``."""

    def __init__(self, store: PostgresStore, *, writable: bool) -> None:
        self._store = store
        self._writable = writable

    def __enter__(self) -> PostgresTransaction:
        self._connection, self._tx = self._store.begin(writable=self._writable)
        return self._tx

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._commit()
            else:
                self._roll_back()
        finally:
            self._store.end(self._connection)
        if error is not None and (problem := self._store.error(error)) is not None:
            raise problem from error
        if error is None and self._tx.wants_anchor:
            from contextlib import suppress

            with suppress(StoreError):  # the next one tries again
                self._store.anchor()

    def _commit(self) -> None:
        try:
            tag = self._tx.send("COMMIT")
        except Exception as problem:
            self._roll_back()
            error = self._store.error(problem)
            if error is None:
                raise
            # Where the connection was lost, the commit may or may not have happened: nothing may rest on it.
            raise error from problem
        if tag != "COMMIT":
            raise StoreError("the shared store has not kept this: a statement before it had failed")

    def _roll_back(self) -> None:
        if self._connection.closed:
            return
        try:
            self._connection.execute("ROLLBACK", prepare=False)
        except Exception:  # noqa: BLE001 - whatever it is, this connection is of no more use
            self._connection.close()


def _fact(row: Any, number: int) -> Any:
    if row is None:
        raise StoreError("the shared store is damaged: see `lockgate store status`")
    return row[number]
