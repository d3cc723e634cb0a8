"""How the statements of one transaction are run, and which locks it takes.

**Locks.** What an event changes belongs to one session, seldom to two (a fork and its parent). A transaction that may
write locks a session when it first asks for anything of it. It keeps the lock until it ends (strict two-phase locking).
A new session has no row yet, so what is locked is one of the rows of ``locks``, to which its id is hashed: to lock a
row takes the right to change it. So nobody who may only look can hold up a gate, as an advisory lock would let them.
Each statement has a snapshot of its own (``READ COMMITTED``), taken after the lock was given. So it sees all that the
one before it has committed. The gate's own values are locked alike, and the head of its audit chain by its row. A lock
is waited for only as long as a person's configuration of the store allows; what would close a circle is ended by the
database. Either is a refusal.

**Trips.** What is written is not waited for: it goes to the database together with the next question, or the commit.
What each decision asks is asked early: a session comes with its labels, a call with the head of the gate's chain. So a
decision takes four trips: the begin with the time, the session, the call, and all that is written with the commit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.postgres.schema_roles import SLOTS
from lockgate.store.postgres.text_encoding import decode_text, encode_text
from lockgate.system.digests import blake2b

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.postgres.connections import Connection

    Row = tuple[Any, ...]

_LOCK = b"lockgate lock"  # at most 16 bytes
LOCKING = "SELECT slot FROM lockgate.locks WHERE slot = %s FOR NO KEY UPDATE"
_LOCKING_FREE = "SELECT slot FROM lockgate.locks WHERE slot = ANY(%s) FOR NO KEY UPDATE SKIP LOCKED"
_LAST = 253402300799.0
"""The last second of the year 9999."""


def lock_key(kind: str, name: str = "") -> int:
    """The number of an advisory lock: 64 bits, signed. Anybody who may connect can hold one: no gate waits for it."""
    return int.from_bytes(_hash(kind, name), "big", signed=True)


def slot_of(kind: str, name: str) -> int:
    """The row of ``locks`` that stands for something. Two names with the same one wait in vain."""
    return int.from_bytes(_hash(kind, name), "big") % SLOTS


def _hash(kind: str, name: str) -> bytes:
    text = f"{kind}\0{name}".encode("utf-8", "surrogatepass")
    return blake2b(text, person=_LOCK, digest_size=8).digest()


def replace_statement(table: str, key: str, columns: Sequence[str]) -> str:
    """A statement that adds a row to one of our tables, or replaces the one with the same key."""
    changes = ", ".join(f"{name} = excluded.{name}" for name in columns if name not in key.split(", "))
    places = ", ".join(["%s"] * len(columns))
    return (
        f"INSERT INTO lockgate.{table} ({', '.join(columns)}) VALUES ({places})"  # noqa: S608 - names of ours
        f" ON CONFLICT ({key}) DO UPDATE SET {changes}"
    )


class PostgresStatements:
    """One transaction's connection, what was not sent yet, and which locks are held."""

    def __init__(self, connection: Connection, gate: str, key: bytes, *, writable: bool) -> None:
        self._connection = connection
        self._gate = gate
        self._key = key
        self._writable = writable
        self._unsent: list[tuple[str, Sequence[Any]]] = []
        self._along: list[tuple[str, Sequence[Any], Callable[[Row | None], None]]] = []
        """Questions that will be asked, and who wants to know: they go with the next one."""
        self._held: set[str] = set()
        """The sessions that are locked."""
        self._has_settings = False

    @property
    def gate(self) -> str:
        """The id of the gate whose transaction this is."""
        return self._gate

    def send(self, last: str = "") -> str:
        """Send what is waiting, and a last statement; returns the command tag of that one."""
        if last:
            self._unsent.append((last, ()))
        cursor = self._run() if self._unsent else None
        return cursor.statusmessage or "" if cursor else ""

    def _own(self, session: str) -> None:
        """Lock a session, where this transaction may write; the lock is sent with the statement that follows."""
        if self._writable and session not in self._held:
            self._held.add(session)
            self._unsent.append((LOCKING, (slot_of("session", session),)))

    def _own_settings(self) -> None:
        if self._writable and not self._has_settings:
            self._has_settings = True
            self._unsent.append((LOCKING, (slot_of("settings", self._gate),)))

    def _own_if_free(self, sessions: Collection[str]) -> list[str]:
        """Those of some sessions that are this transaction's, or could be locked without waiting."""
        slots = {session: slot_of("session", session) for session in sessions if session not in self._held}
        rows = self._all(_LOCKING_FREE, (list(slots.values()),)) if slots else []
        taken = {slot for (slot,) in rows}
        free = [session for session in dict.fromkeys(sessions) if session in self._held or slots[session] in taken]
        self._held.update(free)
        return free

    def _all(self, statement: str, values: Sequence[Any] = ()) -> list[Row]:
        rows = self._run((statement, values)).fetchall()
        return [decode_row(row) for row in rows]

    def _one(self, statement: str, values: Sequence[Any] = ()) -> Row | None:
        row = self._run((statement, values)).fetchone()
        return None if row is None else decode_row(row)

    def _write(self, statement: str, values: Sequence[Any]) -> None:
        """Write at the next trip."""
        self._may_write()
        self._unsent.append((statement, values))

    def _count(self, statement: str, values: Sequence[Any]) -> int:
        """Write now; returns how many rows that changed."""
        self._may_write()
        return int(self._run((statement, values)).rowcount)

    def _may_write(self) -> None:
        if not self._writable:
            raise StoreError("this is a look only: it cannot write")

    def _run(self, *last: tuple[str, Sequence[Any]]) -> Any:
        """Send what is waiting, and these behind it; the cursor of the last one. What goes along hears its own row."""
        along, self._along = self._along, []
        waiting, self._unsent = [*self._unsent, *last], []
        execute = self._connection.execute
        if len(waiting) == 1 and not along:
            return execute(waiting[0][0], [_value(value) for value in waiting[0][1]])
        with self._connection.pipeline():
            for statement, values in waiting:
                cursor = execute(statement, [_value(value) for value in values])
            others = [(execute(statement, values), take) for statement, values, take in along]
        for other, take in others:
            row = other.fetchone()
            take(None if row is None else decode_row(row))
        return cursor


def _value(value: Any) -> Any:
    return encode_text(value) if isinstance(value, str) else value


def decode_row(row: Sequence[Any]) -> Row:
    """A row as it was kept, but for times that no gate has kept."""
    return tuple([value if (read := _READ.get(value.__class__)) is None else read(value) for value in row])


def _moment(at: float) -> float:
    """A time that can be told. Another gate's role can keep any number, and no number (NaN): that is the beginning."""
    return min(at, _LAST) if at > 0.0 else 0.0


_READ: dict[type, Callable[[Any], Any]] = {str: decode_text, float: _moment}
