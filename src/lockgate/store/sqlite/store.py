"""The default store: one SQLite database in the user's state folder.

What it promises: a transaction is kept whole or not at all. Killing a process (``kill -9``) at any moment loses nothing
that was committed, because a commit is in the kernel's hands. A power cut may lose the last transactions, never the
rest: the log is synced at checkpoints and not at each commit (``synchronous=NORMAL`` with a write-ahead log), which is
what keeps a hook fast. ``sync_commits`` makes it survive that too.
"""

from __future__ import annotations

import os
import sys
import time
from types import TracebackType

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import fleet_key_of, gate_of
from lockgate.store.files import DATABASE, VERSION, begin_anew, own_file, own_folder, publish, read_key
from lockgate.store.sqlite.rollback import OutsideHead
from lockgate.store.sqlite.statements import MEND, OBJECTS, in_one_line
from lockgate.store.sqlite.transaction import SqliteTransaction
from lockgate.system.digests import blake2b

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable, Collection
    from contextlib import AbstractContextManager
    from typing import Self

    from lockgate.store.sqlite.rollback import Gain, Kept, Step

    Migrating = Callable[[sqlite3.Connection, str], None]
else:
    # The package around SQLite's module adds conversions of dates, which are not used here, and imports datetime for
    # these: that costs a hook as much as opening the database does.
    try:
        import _sqlite3 as sqlite3
    except ImportError:  # another interpreter than CPython
        import sqlite3

BUSY_SECONDS = 2.0
"""How long a process waits for another's transaction; below the deadline of a hook."""
_LOG_BYTES = 2_000_000
"""From which size on the log is cut at an open; it takes about a hundred events to get there."""
_THIS = (VERSION,)
"""What ``PRAGMA user_version`` gives where the tables are of this version."""
_OBJECTS_DIGEST = "e5c6f60865e4a4e76377624518bad0dd"
"""Digest of the triggers, views and indexes of this version. It stands here so that no hook loads the schema."""
_NO_CHECKPOINT_ON_CLOSE = 1006  # SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, which Python 3.11 has no name for


class SqliteStore:
    """A ``Store`` in one folder. One object belongs to one thread."""

    def __init__(self, connection: sqlite3.Connection, folder: str, key: bytes, busy_seconds: float) -> None:
        self._connection = connection
        self._folder = folder
        self._key = key
        self._fleet_key = fleet_key_of(key)
        self._busy_seconds = busy_seconds
        self._patient = True
        self._is_lost = False  # whether the next step has to begin with another connection
        self._to_sync = self._syncs = False
        """Whether the log is to be synced at each commit, and whether the connection does that."""
        self._latest: SqliteTransaction | None = None
        self._schema: object = None
        """SQLite's count of changes of the schema, as of the last look at what is in it."""
        self._changes: object = None
        """SQLite's count of changes by others, as of the last look whether the state is the one that was kept."""
        self._told: list[Kept] = []
        """What was kept outside then, all of which the chain has."""
        self._outside: OutsideHead | None = OutsideHead(folder, key)
        """What is kept of the database outside of its folder; of a copy nothing is."""

    @classmethod
    def open(cls, folder: str, *, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Open the store of a folder; folder, key and database are made where they are missing.

        Args:
            folder: Absolute path of the state folder. It must be the user's own.
            busy_seconds: How long to wait for other processes before giving up.

        Raises:
            StoreError: It cannot be made, opened or trusted; the message tells what to do.
        """
        path, key, _ = _make_missing(folder)
        return cls._open_checked(path, folder, key, busy_seconds)

    @classmethod
    def open_to_fill(cls, folder: str, *, busy_seconds: float = BUSY_SECONDS) -> Self:
        """Do what ``open`` does, for a person who copies another store into it.

        A database that was moved aside for that is missed by nobody.
        """
        path, key, is_new = _make_missing(folder)
        if is_new:
            from lockgate.store.sqlite.put_back import begin_anew

            connection = _connect(path, folder, busy_seconds)
            try:
                begin_anew(OutsideHead(folder, key), connection, key, lambda: begin_writing(connection, busy_seconds))
            finally:
                connection.close()
        return cls._open_checked(path, folder, key, busy_seconds)

    @classmethod
    def open_existing(cls, folder: str, *, busy_seconds: float = BUSY_SECONDS) -> Self | None:
        """Open the store of a folder, or ``None`` where nothing was recorded yet; never makes anything."""
        path = os.path.join(folder, DATABASE)
        if not own_folder(folder, create=False) or not own_file(path):
            return None
        return cls._open_checked(path, folder, read_key(folder), busy_seconds)

    @classmethod
    def _open_checked(cls, path: str, folder: str, key: bytes, busy_seconds: float) -> Self:
        connection, changes, told = _connect_checked(path, OutsideHead(folder, key), key, busy_seconds)
        store = cls(connection, folder, key, busy_seconds)
        store._changes, store._told = changes, told
        return store

    @classmethod
    def open_file(cls, path: str, folder: str, migrating: Migrating) -> Self:
        """Open a database of a folder by its own name.

        Args:
            path: The database, which may be a copy.
            folder: The state folder, with its key.
            migrating: Brings one of an older version to this one.

        Raises:
            StoreError: As for ``open``.
        """
        if not own_folder(folder, create=False) or not own_file(path):
            raise StoreError(f"there is no {path}")
        found = cls(_connect(path, folder, BUSY_SECONDS, migrating), folder, read_key(folder), BUSY_SECONDS)
        found._outside = None
        return found

    @property
    def key(self) -> bytes:
        """32 secret bytes of this installation, for seals and for what only this machine keeps."""
        return self._key

    @property
    def fleet_key(self) -> bytes:
        """32 secret bytes for keyed hashes that would be shared, if this store were."""
        return self._fleet_key

    @property
    def gate(self) -> str:
        """The id of this gate."""
        return gate_of(self._key)

    def clock(self) -> float:
        """The time of this machine, which nobody else uses the store from."""
        return time.time()

    def transaction(self) -> _Step:
        """Begin an atomic step that excludes every other writer."""
        return _Step(self, writable=True)

    def reading(self) -> _Step:
        """Begin a consistent look that writes nothing."""
        return _Step(self, writable=False)

    def listen(self, heard: Callable[[str], None], *, watching: bool = False) -> AbstractContextManager[None]:
        """Nobody on another machine uses this store: nothing will be heard."""
        from contextlib import nullcontext

        return nullcontext()

    def is_watched(self) -> bool:
        """Nobody on another machine uses this store."""
        return False

    def sync_commits(self, wanted: bool) -> None:
        """Say whether what is committed from the next transaction on must survive a power cut."""
        self._to_sync = wanted

    def close(self) -> None:
        """Let go of the database. What was committed is kept also without this."""
        self._connection.close()

    def begin(self, *, writable: bool) -> SqliteTransaction:
        """Begin a transaction, which is to be ended."""
        if self._is_lost:
            self._connect_again()
        self._begin(writable=writable)
        if self._connection.execute("PRAGMA user_version").fetchone() != _THIS:
            # Another version has changed the tables since this process opened them: then that is refused, or done here.
            self.roll_back()
            self._connection.close()
            self._connect_again()
            self._begin(writable=writable)
        self._look_at_schema()
        if not self._is_as_compared(writable=writable) and self._is_put_back():
            # Somebody has put an older state in the place of this one since, or while this process waited for the lock.
            self._begin_anew()
            self._connect_again()
            self._begin(writable=writable)
        self._latest = SqliteTransaction(self._connection, self._key, writable=writable)
        return self._latest

    def _is_as_compared(self, *, writable: bool) -> bool:
        """Whether the state is still the one that was compared. To be called in a transaction.

        A look is made right after that. Whoever writes may have waited for the lock since.
        """
        if not writable or self._outside is None or not self._has_changed():
            return True
        return self._outside.is_in(self._connection, self._told)

    def _has_changed(self) -> bool:
        """Whether somebody else wrote since the last look, by SQLite's own count."""
        before, self._changes = self._changes, self._connection.execute("PRAGMA data_version").fetchone()
        return before != self._changes

    def _look_at_schema(self) -> None:
        """Make sure that nobody has put a trigger or a view there since the last step: it would run in this one."""
        count = self._connection.execute("PRAGMA schema_version").fetchone()
        if count == self._schema:
            return
        try:
            _refuse_foreign(self._connection, os.path.join(self._folder, DATABASE))
        except StoreError:
            self.roll_back()
            raise
        self._schema = count

    def _connect_again(self) -> None:
        self._is_lost = True
        path = os.path.join(self._folder, DATABASE)
        outside = self._outside or OutsideHead(self._folder, self._key)
        found = _connect_checked(path, outside, self._key, self._busy_seconds)
        self._connection, self._changes, self._told = found
        self._patient, self._is_lost, self._syncs = True, False, False
        self._schema = None  # a count of the connection that was there

    def _begin(self, *, writable: bool) -> None:
        self._be_patient(not writable)
        if self._syncs is not self._to_sync:
            set_durability(self._connection, power=self._to_sync)
            self._syncs = self._to_sync
        if writable:
            begin_writing(self._connection, self._busy_seconds)
        else:
            self._connection.execute("BEGIN")

    def commit(self) -> None:
        """End it, and keep what it wrote.

        Raises:
            StoreError: Something else has put an older state in the place of this one.
        """
        latest, outside = self._latest, self._outside
        if latest is None or outside is None or not latest.moved:
            self._connection.execute("COMMIT")
            return
        step = outside.announce(self._connection, latest.gains)
        try:
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            self._take_back(outside, step, [gain for gain, is_read in latest.gains.items() if is_read])
            raise
        latest.moved, latest.gains = False, {}
        # Before anybody is answered.
        if not outside.advance(self._connection):
            self._begin_anew()
            raise StoreError(f"the state in {self._folder} was put back while it was in use: `lockgate audit verify`")

    def _take_back(self, outside: OutsideHead, step: Step, read: Collection[Gain]) -> None:
        """Take back what was announced and is not kept, as where the disk is full: who asked for it is refused.

        What was read already stays announced. On most errors SQLite has ended the transaction, and let go of the lock.
        """
        try:
            if not self._connection.in_transaction:
                begin_writing(self._connection, 0.0)
            outside.take_back(step, read)
        except sqlite3.Error:
            return  # then it stays, as of a process that was killed

    def _is_put_back(self) -> bool:
        """Whether the database is not the one that was kept any more, or somebody was killed writing it."""
        outside = self._outside
        return outside is not None and not outside.is_in(self._connection, outside.read_places())

    def _begin_anew(self) -> None:
        """Let go of a database that is not the one that was there: the next step opens what is."""
        self.roll_back()
        self._is_lost = True
        self._connection.close()

    def roll_back(self) -> None:
        """End it, and keep nothing of what it wrote."""
        try:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
        except sqlite3.Error:
            # Closing gives the lock back, and the log is not valid past the last commit, so nothing half-written can
            # be read.
            self._is_lost = True
            self._connection.close()

    def as_store_error(self, error: sqlite3.Error) -> StoreError:
        """What to tell a person about an error of SQLite."""
        return _store_error(error, self._folder)

    def _be_patient(self, patient: bool) -> None:
        """Have SQLite itself wait where another process is in the way, or not. Setting it costs as much as a query."""
        if patient is not self._patient:
            self._connection.execute(f"PRAGMA busy_timeout = {int(self._busy_seconds * 1000) if patient else 0:d}")
            self._patient = patient


class _Step:
    """The context manager of one transaction. Every error of SQLite leaves it as a ``StoreError``."""

    def __init__(self, store: SqliteStore, *, writable: bool) -> None:
        self._store = store
        self._writable = writable

    def __enter__(self) -> SqliteTransaction:
        try:
            return self._store.begin(writable=self._writable)
        except sqlite3.Error as error:
            raise self._store.as_store_error(error) from error

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if error is None:
            try:
                self._store.commit()
            except sqlite3.Error as problem:
                self._store.roll_back()
                raise self._store.as_store_error(problem) from problem
            return
        self._store.roll_back()
        if isinstance(error, sqlite3.Error):
            raise self._store.as_store_error(error) from error


def begin_writing(connection: sqlite3.Connection, busy_seconds: float) -> None:
    """Take the write lock, waiting for other processes.

    SQLite's own waiting sleeps ever longer, up to a tenth of a second. In a crowd of hooks an unlucky one comes too
    late again and again; this one knocks every few milliseconds, on a connection that does not wait by itself.
    """
    # IMMEDIATE takes the write lock at once: a later upgrade could fail although nobody waited too long.
    until = time.monotonic() + busy_seconds
    while True:
        try:
            connection.execute("BEGIN IMMEDIATE")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
            time.sleep(0.001 + time.monotonic_ns() % 3 * 0.001)


def set_durability(connection: sqlite3.Connection, *, power: bool) -> None:
    """Have SQLite sync the log at each commit (``power``), or at checkpoints alone. Not inside of a transaction.

    See https://www.sqlite.org/pragma.html#pragma_synchronous and, for macOS, #pragma_fullfsync.
    """
    connection.execute(f"PRAGMA synchronous = {'FULL' if power else 'NORMAL'}")
    if sys.platform == "darwin":
        connection.execute(f"PRAGMA fullfsync = {int(power)}")


def _connect(path: str, folder: str, busy_seconds: float, migrating: Migrating | None = None) -> sqlite3.Connection:
    # mode=rw: a database that has just been removed must not come back empty.
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    try:
        connection = sqlite3.connect(f"file:{name}?mode=rw", timeout=busy_seconds, isolation_level=None, uri=True)
        try:
            set_durability(connection, power=False)
            if sys.platform == "darwin":
                connection.execute("PRAGMA checkpoint_fullfsync = 1")  # as lockgate.system.files.to_disk does
            _checkpoint_log(connection, path, busy_seconds)
            _migrate(connection, path, migrating)
        except BaseException:
            connection.close()
            raise
    except sqlite3.Error as error:
        raise _store_error(error, folder) from error
    return connection


def _make_missing(folder: str) -> tuple[str, bytes, bool]:
    """Make folder, key and database where they are missing: the database, the key, and whether it is a new one."""
    own_folder(folder, create=True)
    key, path = read_key(folder), os.path.join(folder, DATABASE)
    is_new = not own_file(path)
    if is_new:
        publish(path, lambda draft: _make(draft, folder, key))
    return path, key, is_new


def _connect_checked(
    path: str, outside: OutsideHead, key: bytes, busy_seconds: float
) -> tuple[sqlite3.Connection, object, list[Kept]]:
    """Connect to the database of a state folder, and find out whether it is the one that was there before.

    Returns:
        The connection, SQLite's count of changes by others from before the comparison, and what is kept outside.
    """
    told = outside.read_places()
    connection = _connect(path, outside.state, busy_seconds)
    try:
        changes = connection.execute("PRAGMA data_version").fetchone()
        if told and outside.is_in(connection, told) and outside.is_noted(connection):
            outside.follow(connection, told)
        else:
            from lockgate.store.sqlite.put_back import settle

            settle(outside, connection, key, lambda: begin_writing(connection, busy_seconds))
            told = outside.read_places()
    except BaseException as error:
        connection.close()
        if isinstance(error, sqlite3.Error):
            raise _store_error(error, outside.state) from error
        raise
    return connection, changes, told


def _checkpoint_log(connection: sqlite3.Connection, path: str, busy_seconds: float) -> None:
    # The last process to close a database copies the log back and syncs; with a process per event that is every one of
    # them. Where Python can say so (3.12), and where a process ends without closing, the log stays instead. Then it is
    # never begun anew, for the next process is the first again and reads all of it: so it is cut here.
    configure = getattr(connection, "setconfig", None)
    if configure is not None:
        configure(_NO_CHECKPOINT_ON_CLOSE, True)
    try:
        size = os.stat(f"{path}-wal").st_size
    except OSError:
        return
    if size > _LOG_BYTES:
        from contextlib import suppress

        connection.execute("PRAGMA busy_timeout = 0")  # where another process is at work, a later one will do it
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000):d}")


def objects_digest(connection: sqlite3.Connection) -> str:
    """A digest of all triggers, views and indexes."""
    rows = connection.execute(OBJECTS).fetchall()
    text = "\n".join(f"{name}\t{in_one_line(sql)}" for name, _, sql in rows)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _refuse_foreign(connection: sqlite3.Connection, path: str) -> None:
    """Make sure that a database has the triggers, views and indexes of this version, and no others.

    Raises:
        StoreError: It has not.
    """
    if objects_digest(connection) != _OBJECTS_DIGEST:
        from lockgate.store.sqlite.schema_objects import refuse_foreign

        refuse_foreign(connection, path)


def _migrate(connection: sqlite3.Connection, path: str, migrating: Migrating | None) -> None:
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version == VERSION:
        return
    if version > VERSION:
        from lockgate.store.sqlite.copies import way_back

        raise StoreError(f"{path} was written by a newer Lockgate (schema {version}): {way_back(path)}", is_newer=True)
    if version < 1:
        # A database gets its name only when it is whole, so this one was emptied, or its number was changed.
        if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'audit_head'").fetchone():
            raise StoreError(f"{path} does not say of which version it is: run: {MEND}")
        does = begin_anew(os.path.dirname(path))
        raise StoreError(f"{path} is empty or not Lockgate's: put it back, or {does}")
    if migrating is None:
        from lockgate.store.sqlite.create import migrate

        migrating = migrate
    try:
        migrating(connection, path)
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_ERROR:
            raise  # the disk, or another process
        says = f"{path} says that its tables are of version {version}, and they are not ({error})"
        raise StoreError(f"{says}. Run: {MEND}") from error


def _make(path: str, folder: str, key: bytes) -> None:
    """Make a whole database in an empty file."""
    from lockgate.store.sqlite.create import fill

    try:
        # Nobody else has this file: what cannot be locked at once has no locks.
        connection = sqlite3.connect(path, timeout=0.0, isolation_level=None)
        try:
            fill(connection, key)
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise _store_error(error, folder) from error


_BUSY = ("another process holds the state in {folder} for too long", "try again")
_CLOSED = ("cannot open the state in {folder}", "check that the folder and its files are yours")
_ADVICE = {
    sqlite3.SQLITE_BUSY: _BUSY,
    sqlite3.SQLITE_LOCKED: _BUSY,
    sqlite3.SQLITE_FULL: ("no room for the state in {folder}", "free some space on that disk"),
    sqlite3.SQLITE_READONLY: ("cannot write the state in {folder}", "give yourself the right to write there"),
    sqlite3.SQLITE_CANTOPEN: _CLOSED,
    sqlite3.SQLITE_PERM: _CLOSED,
    sqlite3.SQLITE_IOERR: ("the disk that holds {folder} gives errors", "check it and its free space"),
}
"""What is wrong by an error's code, and what to do."""
_OTHER = ("the state in {folder} cannot be used", "see `lockgate doctor`")
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_DAMAGE = "the state in {folder} is damaged"


_PROBED = (
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
)
"""What SQLite says where a file system has no locks or is mounted read-only, and else."""


def _store_error(error: sqlite3.Error, folder: str) -> StoreError:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF
    if code in _DAMAGED:
        from lockgate.store.sqlite.copies import make_restoring_command

        command = make_restoring_command(folder)
        back = f"go back to the state of before the last upgrade: {command}" if command else begin_anew(folder)
        return StoreError(f"{_DAMAGE.format(folder=folder)} ({error}): {back}")
    if code in _PROBED:
        from lockgate.store.probe import problem_of

        if problem := problem_of(folder):
            return StoreError(f"{problem} ({error})")
    says, does = _ADVICE.get(code, _OTHER)
    return StoreError(f"{says.format(folder=folder)} ({error}): {does}")
