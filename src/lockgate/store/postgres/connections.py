"""Connections to the shared database: one pool for a process, limits on every wait, and errors in a person's words."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.postgres.settings import LIBRARIES, no_service, psycopg_here

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import psycopg
    import psycopg_pool

    from lockgate.store.postgres.settings import Address

    Connection = psycopg.Connection[tuple[Any, ...]]

MOST = 8
"""Connections of one process; more of its threads wait their turn."""
IDLE_SECONDS = 10.0
"""How long a transaction may stand still before the database ends it: its gate was stopped, and others wait for it."""
_SLICE = 0.2
"""Seconds after which a failed attempt to connect is followed by another one, as long as there is time."""
_LOST_SECONDS = 2.0
"""How long nobody waits much for a database that somebody has waited for in vain."""
REACHED_SECONDS = 10.0
"""How long a database is tried that cannot be reached, however long a statement may take."""
_CONNECT_SECONDS = 2
"""For each host of the address; libpq takes no less."""
_IDLE = 0
"""``PQTRANS_IDLE``: connected, and in no transaction."""
OWN_NAMES = "search_path = pg_catalog, pg_temp"
"""Where names are looked up that say no schema: not in ``public``. Many databases let everybody make functions and
operators there that fit better than PostgreSQL's own. They would be run with the rights of whoever asks."""
_EXTRA = 0.5
"""Seconds beyond the database's own limit after which it is not waited for any more."""


_FAILURES: ContextVar[dict[frozenset[tuple[str, str]], str] | None] = ContextVar("failures", default=None)
"""What was found of databases that cannot be reached, where this thread asks each of them once."""


@contextmanager
def ask_once() -> Iterator[None]:
    """Have this thread ask a database that cannot be reached only once, as long as this lasts."""
    known = _FAILURES.get()
    token = _FAILURES.set({} if known is None else known)
    try:
        yield
    finally:
        _FAILURES.reset(token)


class Timeouts(Record):
    """For how long something is waited for."""

    busy: float
    """Seconds that a statement may take, and that a connection or a lock is waited for."""


class Pool:
    """A process's connections to one database. Shared by its stores; closed with the last of them."""

    def __init__(self, address: Address, limits: Timeouts) -> None:
        self.address = address
        self.limits = limits
        self.users = 0
        self.problem = "it does not answer"
        """Why the last attempt to connect failed."""
        self._lost_at = -_LOST_SECONDS
        self._pool = self._make()

    def until(self) -> float:
        """Until when a connection is waited for that works, by ``time.monotonic``.

        Whoever has just found that there is none spares the others of the process most of the waiting: while a database
        is lost, a gate would else answer one after the other, each as late as it can.
        """
        now = time.monotonic()
        return now + (min(self.limits.busy, REACHED_SECONDS) if now - self._lost_at > _LOST_SECONDS else _SLICE)

    def take(self, until: float) -> Connection:
        """A connection, which may turn out to be broken.

        Args:
            until: When to give up, as told by :meth:`until`.

        Raises:
            StoreError: None can be had in time.
        """
        from psycopg_pool import PoolTimeout, TooManyRequests

        failures, where = _FAILURES.get(), frozenset(self.address.items())
        if failures and where in failures:
            raise StoreError(failures[where])
        while True:
            left = until - time.monotonic()
            try:
                return self._pool.getconn(timeout=max(min(left, _SLICE), 0.001))
            except (PoolTimeout, TooManyRequests):
                if left <= _SLICE:
                    self._lost_at = time.monotonic()
                    says = f"the shared store cannot be reached: {self.problem}. See: lockgate store status"
                    if failures is not None:
                        failures[where] = says
                    raise StoreError(says) from None

    def give(self, connection: Connection) -> None:
        """Give a connection back. One that is broken, or in the middle of something, is not used again."""
        if connection.pgconn.transaction_status != _IDLE:
            connection.close()
        self._pool.putconn(connection)

    def close(self) -> None:
        """Close all connections."""
        self._pool.close(timeout=_CONNECT_SECONDS)

    def _make(self) -> psycopg_pool.ConnectionPool[Connection]:
        psycopg_here()
        try:
            from psycopg_pool import ConnectionPool
        except ImportError as error:
            raise StoreError(LIBRARIES) from error
        import logging

        # What fails is told by the error that ends in a refusal, and not on the standard error of a hook.
        logging.getLogger("psycopg").addHandler(logging.NullHandler())
        return ConnectionPool(
            "",
            kwargs={**self.address, "autocommit": True, "connect_timeout": _CONNECT_SECONDS},
            connection_class=make_bounded_class(self.limits, self),
            configure=lambda connection: configure(connection, self.limits),
            min_size=0,
            max_size=MOST,
            max_idle=60.0,
            reconnect_timeout=0.0,  # whoever asks tries again at once, as long as there is time
            num_workers=1,
            open=True,
        )


def configure(connection: Connection, limits: Timeouts) -> None:
    """Set the database's own limits on what a connection may wait for, and whose names count."""
    busy = int(limits.busy * 1000)
    connection.execute(
        f"SET {OWN_NAMES}; SET statement_timeout = {busy}; SET lock_timeout = {busy};"
        f" SET idle_in_transaction_session_timeout = {int(IDLE_SECONDS * 1000)};"
        # What was answered must be there after a crash of the database, whatever its owner has set for others.
        " SET synchronous_commit = on",
        prepare=False,
    )


def make_bounded_class(limits: Timeouts, pool: Pool | None = None) -> type[Connection]:
    """The class of a connection that is given up when the database does not answer in time.

    Its own limits do not help where it was stopped, or where its machine has gone without a word.
    """
    import psycopg
    from psycopg import OperationalError

    longest = limits.busy + _EXTRA

    class Bounded(psycopg.Connection[tuple[object, ...]]):
        """A connection whose waits end."""

        @classmethod
        def connect(cls, *args: Any, **kwargs: Any) -> Any:
            try:
                with no_service():
                    connection = super().connect(*args, **kwargs)
            except psycopg.Error as error:
                if pool is not None:
                    pool.problem = reason(error)
                raise
            connection.prepare_threshold = 2
            if pool is not None:
                pool.problem = "all connections are in use"
            return connection

        def wait(self, gen: Any, interval: float = 0.1, timeout: float | None = None) -> Any:
            before = time.monotonic()
            try:
                return super().wait(gen, interval, timeout=longest if timeout is None else timeout)
            except OperationalError:
                if timeout is None and time.monotonic() - before >= longest:
                    self.pgconn.finish()  # it is in the middle of an answer: of no more use
                raise

    return Bounded


def open_connection(address: Address, limits: Timeouts) -> Connection:
    """A connection outside of any pool, which takes each statement as a transaction of its own."""
    told: dict[str, Any] = {**address, "connect_timeout": _CONNECT_SECONDS, "autocommit": True}
    connection = make_bounded_class(limits).connect(**told)
    configure(connection, limits)
    return connection


_POOLS: dict[tuple[int, frozenset[tuple[str, str]], Timeouts], Pool] = {}
_LOCK = Lock()


def take_pool(address: Address, limits: Timeouts) -> Pool:
    """The process's pool for an address; a process that was forked has its own. To be given back by :func:`leave`."""
    key = (os.getpid(), frozenset(address.items()), limits)
    with _LOCK:
        pool = _POOLS.get(key) or _POOLS.setdefault(key, Pool(address, limits))
        pool.users += 1
        return pool


def leave(pool: Pool) -> None:
    """Say that a pool is not used any more by one of its users."""
    with _LOCK:
        pool.users -= 1
        if pool.users:
            return
        for key in [key for key, other in _POOLS.items() if other is pool]:
            del _POOLS[key]
    pool.close()


_ADVICE = {
    "3F000": "the shared store was not made yet: its owner runs `lockgate store migrate`",
    "42P01": "the shared store was not made yet: its owner runs `lockgate store migrate`",
    "42703": "the shared store was made by an older Lockgate: its owner runs `lockgate store migrate`",
    "42883": "the shared store was made by an older Lockgate: its owner runs `lockgate store migrate`",
    "42501": "the shared store gives this gate no right to that: its owner runs `lockgate store migrate --gate-role`",
    "55P03": "another gate holds this session in the shared store for too long: try again",
    "57014": "the shared store takes too long: try again",
    "40P01": "two gates wait for each other in the shared store: try again",
    "25006": "the shared store takes no changes now (it is a standby): try again",
    "53100": "no room for the shared store: free some space on its disk",
    "53200": "the shared store has no memory left",
    "53300": "the shared store takes no more connections: raise max_connections, or ask its owner",
    "LG001": "this gate belongs to another role of the shared store: its owner runs `lockgate store bind`",
    "23001": "the shared store refuses a change of the audit",
}


def reason(error: psycopg.Error) -> str:
    """What an error of the database says, in one line."""
    text = error.diag.message_primary or str(error)
    return " ".join(text.split())[:400]


def store_error(error: psycopg.Error) -> StoreError:
    """An error of the database as the gate's: it ends in a refusal."""
    advice = _ADVICE.get(error.sqlstate or "", "the shared store cannot be used")
    return StoreError(f"{advice} ({reason(error)})")
