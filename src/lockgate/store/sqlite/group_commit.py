"""A SQLite store that commits several transactions at once, for a process that decides on many calls at a time.

A commit costs as much as all else that a decision asks of the database, and two at once hardly more than one. So while
a group is open, each transaction is a part of one that is committed at the end: an error in one undoes that one alone,
and nothing is kept before ``end_group`` has returned. Whoever answers before that tells what may not be so.

Errors are rare, and a savepoint for each part makes all that is written dearer. So there is none: where a part fails,
all is undone, and what the parts before it wrote is written again.
"""

from __future__ import annotations

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.sqlite.row_cache import Memory, RememberingTransaction
from lockgate.store.sqlite.store import SqliteStore, begin_writing

if TYPE_CHECKING:
    import sqlite3

    from lockgate.store.sqlite.statements import Written
    from lockgate.store.sqlite.transaction import SqliteTransaction
else:
    from lockgate.store.sqlite.store import sqlite3

_UNDONE = "the database has undone what several calls had written at once: try again"
_LOG_PAGES = 16_000
"""Pages of 4 KB in the log from which on a commit copies back what a thread has not yet."""


class GroupingStore(SqliteStore):
    """A ``Store`` of one thread, with groups."""

    def __init__(self, connection: sqlite3.Connection, folder: str, key: bytes, busy_seconds: float) -> None:
        super().__init__(connection, folder, key, busy_seconds)
        self._memory = Memory()
        self._to_sync = True  # until the configuration is known
        self._grouping = False
        """Whether transactions are put together."""
        self._holds = False
        """Whether there is something to commit at the end of the group."""
        self._lost = False
        """Whether the whole group has been undone, as SQLite itself does on some errors."""
        self._current: RememberingTransaction | None = None
        """The transaction under the lock for writing that is under way."""
        self._part: RememberingTransaction | None = None
        """That of the group's last part: the next one is made of it."""
        self._written: list[Written] = []
        """What the parts of the group wrote that have ended."""

    def begin_group(self) -> None:
        """Put the transactions that follow together. The first one that writes takes the lock."""
        self._grouping = True

    def end_group(self) -> None:
        """Keep all that was written since ``begin_group``.

        Raises:
            StoreError: It could not be kept, and none of it is.
        """
        self._grouping = False
        held, lost = self._holds, self._lost
        self._holds = self._lost = False
        self._written = []
        if lost:
            self._undo()
            raise StoreError(_UNDONE)
        if not held:
            return
        try:
            self._make_remembering(writable=True).keep_head()
            super().commit()
        except sqlite3.Error as error:
            self._undo()
            raise self.as_store_error(error) from error

    def abandon_group(self) -> None:
        """Keep nothing of it."""
        self._grouping = self._holds = self._lost = False
        self._written = []
        self._current = None
        self._undo()

    def begin(self, *, writable: bool) -> SqliteTransaction:
        """Begin a transaction, or a part of a group's."""
        if self._lost:
            raise StoreError(_UNDONE)
        if self._holds and self._current is not None:
            raise StoreError("a transaction cannot begin inside of another one")
        if not self._holds:
            transaction = super().begin(writable=writable)
            if not writable:
                return transaction
            try:
                self._memory.refresh(self._connection)
            except sqlite3.Error:
                self._undo()
                raise
            self._holds = self._grouping
            self._part = None
        if self._part is None:
            self._part = self._make_remembering(writable=writable)
        else:
            self._part.begin_part(writable=writable)
        self._current = self._latest = self._part
        return self._current

    def _is_as_compared(self, *, writable: bool) -> bool:
        """Whether nobody else wrote since the last look. A process that stays compares before it reads, too."""
        return not self._has_changed()

    def commit(self) -> None:
        """End it. A part is kept with its group.

        Raises:
            StoreError: SQLite has undone it already, and whoever wrote took no notice of that error.
        """
        current, self._current = self._current, None
        if not self._connection.in_transaction:
            self._lost = self._holds
            self._undo()
            raise StoreError(_UNDONE)
        if self._holds and current is not None:
            self._written += current.written
            return
        if current is not None:
            current.keep_head()
        super().commit()

    def roll_back(self) -> None:
        """End it, and keep nothing of what it wrote."""
        current, self._current = self._current, None
        if not self._holds or current is None:
            self._undo()
        elif not self._connection.in_transaction:
            self._lost = True
        elif current.written:
            self._undo_part(current)

    def _undo_part(self, part: RememberingTransaction) -> None:
        """Undo all, and write again what the parts before this one wrote."""
        self._undo()
        try:
            begin_writing(self._connection, 0.0)
            if self._memory.refresh(self._connection):  # another process wrote meanwhile: they might decide otherwise
                self._lost = True
                return
            self._make_remembering(writable=True).write_again(self._written)
            self._memory.head, self._memory.owes_head, self._memory.facts = part.head_before
        except sqlite3.Error:
            self._lost = True

    def _undo(self) -> None:
        self._memory.forget()
        super().roll_back()

    def _make_remembering(self, *, writable: bool) -> RememberingTransaction:
        return RememberingTransaction(self._connection, self._key, self._memory, writable=writable)

    def leave_log(self) -> None:
        """Leave the log to the thread of :mod:`lockgate.store.sqlite.checkpoint`, while it keeps up."""
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES:d}")
