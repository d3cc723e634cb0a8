"""A SQLite store that commits several transactions at once, for a process that decides on many calls at a time.

A commit costs as much as all else that a decision asks of the database, and two at once hardly more than one. So while
a group is open, each transaction is a savepoint of one that is committed at the end: an error in one undoes that one
alone, and nothing is kept before ``end_group`` has returned. Whoever answers before that tells what may not be so.
"""

from __future__ import annotations

from lockgate.errors import StoreError
from lockgate.record import TYPE_CHECKING
from lockgate.store.sqlite import SqliteStore

if TYPE_CHECKING:
    import sqlite3

    from lockgate.store.transaction import SqliteTransaction
else:
    from lockgate.store.sqlite import sqlite3

_LOG_PAGES = 16_000
"""Pages of 4 KB in the log from which on a commit copies back what a thread has not yet."""


class GroupingStore(SqliteStore):
    """A ``Store`` of one thread, with groups."""

    _grouping = False
    """Whether transactions are put together."""
    _holds = False
    """Whether there is something to commit at the end of the group."""
    _lost = False
    """Whether SQLite has undone the whole group, as it does on some errors."""
    _part = False
    """Whether the transaction under way is a part of a group."""

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
        if lost:
            super().roll_back()
            raise StoreError("the database has undone what several calls had written at once: try again")
        if not held:
            return
        try:
            super().commit()
        except sqlite3.Error as error:
            super().roll_back()
            raise self.as_store_error(error) from error

    def abandon_group(self) -> None:
        """Keep nothing of it."""
        self._grouping = self._holds = self._lost = self._part = False
        super().roll_back()

    def begin(self, *, writable: bool) -> SqliteTransaction:
        """Begin a transaction, or a part of a group's."""
        if self._lost:
            raise StoreError("the database has undone what several calls had written at once: try again")
        if not self._holds:
            transaction = super().begin(writable=writable)
            if not (self._grouping and writable):
                return transaction
            self._holds = True
        self._connection.execute("SAVEPOINT part")
        self._part = True
        return self._transaction(writable=writable)

    def commit(self) -> None:
        """End it. A part is kept with its group."""
        if self._part:
            self._connection.execute("RELEASE part")
            self._part = False
        else:
            super().commit()

    def roll_back(self) -> None:
        """End it, and keep nothing of what it wrote."""
        if not self._part:
            super().roll_back()
            return
        self._part = False
        try:
            self._connection.execute("ROLLBACK TO part")
            self._connection.execute("RELEASE part")
        except sqlite3.Error:
            self._lost = True

    def leave_log(self) -> None:
        """Leave the copying back of the log to a thread (:mod:`lockgate.store.tending`), as long as that keeps up."""
        self._connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES:d}")
