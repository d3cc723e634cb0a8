"""Hearing at once of questions that somebody on another host puts or answers: ``LISTEN`` and ``NOTIFY``.

One thread and one connection for a process, however many wait in it. The database tells what was committed, and only
that. What is told is an id and no more: whoever is woken reads the store. A connection that is lost is replaced, and
then everybody is woken, as something may have been missed; until then they look now and then, as they do anyhow.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.postgres.connections import Pool, open_connection
from lockgate.store.postgres.settings import psycopg_here
from lockgate.store.postgres.statements import lock_key

if TYPE_CHECKING:
    from lockgate.store.postgres.connections import Connection

_CHANNEL = "lockgate_approvals"
_START_SECONDS = 1.0
"""How long whoever waits lets the connection be made before the first look."""
_AGAIN_SECONDS = 0.5
_ALIVE_SECONDS = 15.0
"""After so much silence the connection is tried."""
_CONNECT_SECONDS = 2


class _NotificationThread:
    """A thread that listens as long as somebody wants to hear."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._hearers: dict[object, tuple[Callable[[str], None], bool]] = {}
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._changed, self._change = os.pipe()
        self._holders = 1
        """Who still has the pipe: who ends this, and the thread."""
        self._thread: threading.Thread | None = None

    def add(self, heard: Callable[[str], None], *, watching: bool) -> object:
        token = object()
        with self._lock:
            self._hearers[token] = (heard, watching)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="lockgate-listen", daemon=True)
                self._holders += 1
                self._thread.start()
            elif watching:
                self._ready.clear()
                os.write(self._change, b"w")
        return token

    def wait(self) -> None:
        """Wait until it listens, but not for long."""
        self._ready.wait(_START_SECONDS)

    def remove(self, token: object) -> bool:
        """Returns whether nobody is left; then it is to be ended."""
        with self._lock:
            self._hearers.pop(token, None)
            if self._hearers:
                os.write(self._change, b"w")
            return not self._hearers

    def end(self) -> None:
        """End the thread and its connection."""
        os.write(self._change, b"e")
        if self._thread is not None:
            self._thread.join(_CONNECT_SECONDS + 1)
        self._let_go()

    def _let_go(self) -> None:
        """Close the pipe with the last who has it: a thread that waits for a lost database can be later than its end.

        It would read from whatever other file had the same number by then.
        """
        with self._lock:
            self._holders -= 1
            if self._holders:
                return
        os.close(self._changed)
        os.close(self._change)

    def _run(self) -> None:
        try:
            self._go_on()
        finally:
            self._let_go()

    def _go_on(self) -> None:
        while self._hearers:
            try:
                connection = self._connect()
                try:
                    self._listen(connection)
                finally:
                    connection.close()
            except (psycopg_here().Error, OSError):
                self._ready.set()  # nobody waits longer for what cannot be had; they look now and then
                self._pause(_AGAIN_SECONDS)

    def _pause(self, seconds: float) -> None:
        """Wait so long at most, and forget who came and went meanwhile: else the next wait would be none."""
        if select.select([self._changed], [], [], seconds)[0]:
            os.read(self._changed, 4096)

    def _connect(self) -> Connection:
        connection = open_connection({**self._pool.address, "application_name": "lockgate listens"}, self._pool.limits)
        # So that the database soon forgets a watcher whose machine has gone without a word.
        connection.execute("SET tcp_keepalives_idle = 15; SET tcp_keepalives_interval = 5", prepare=False)
        connection.execute(f"LISTEN {_CHANNEL}")
        return connection

    def _listen(self, connection: Connection) -> None:
        watching = False
        self._tell("")
        while self._hearers:
            with self._lock:
                wanted = any(watches for _, watches in self._hearers.values())
            if wanted != watching:
                act = "pg_advisory_lock_shared" if wanted else "pg_advisory_unlock_shared"
                connection.execute(f"SELECT {act}(%s)", (lock_key("watching"),))
                watching = wanted
            self._ready.set()
            ready, _, _ = select.select([connection.fileno(), self._changed], [], [], _ALIVE_SECONDS)
            if self._changed in ready:
                os.read(self._changed, 100)
            if not ready:
                connection.execute("SELECT 1")
            for told in connection.notifies(timeout=0.0):
                self._tell(told.payload)
        if watching:  # the lock goes with the connection as well, but only as soon as the database gets round to it
            connection.execute("SELECT pg_advisory_unlock_shared(%s)", (lock_key("watching"),))

    def _tell(self, approval: str) -> None:
        with self._lock:
            hearers = [heard for heard, _ in self._hearers.values()]
        for heard in hearers:
            heard(approval)


_LISTENERS: dict[tuple[int, int], _NotificationThread] = {}
_LOCK = threading.Lock()


@contextmanager
def listen_to_questions(pool: Pool, heard: Callable[[str], None], *, watching: bool) -> Iterator[None]:
    """Call a function with the id of every question that changes, as long as the context lasts."""
    key = (os.getpid(), id(pool))
    with _LOCK:
        listener = _LISTENERS.get(key) or _LISTENERS.setdefault(key, _NotificationThread(pool))
        token = listener.add(heard, watching=watching)
    try:
        listener.wait()
        yield
    finally:
        with _LOCK:
            last = listener.remove(token)
            if last:
                del _LISTENERS[key]
        if last:
            listener.end()


WATCHED = (
    "SELECT EXISTS (SELECT FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid"
    " WHERE l.locktype = 'advisory' AND l.granted AND l.mode = 'ShareLock'"
    " AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND (l.classid::bigint << 32) | l.objid::bigint = %s"
    " AND has_table_privilege(a.usesysid, 'lockgate.approvals', 'UPDATE'))"
)
"""Whether somebody watches: the lock of a watcher goes with its connection. ``objsubid`` is 1 for such a lock.

Anybody can take it; who has no right to answer is not waited for.
"""
