"""Making the database of the default store, and bringing one of an older version to this one's form."""

from __future__ import annotations

import os
import time
from contextlib import suppress

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.audit.chain import verify_store
from lockgate.store.chain_links import ROOT, seal
from lockgate.store.files import COPIED, VERSION, read_key
from lockgate.store.rows import AuditQuery
from lockgate.store.sqlite.schema import MIGRATIONS
from lockgate.store.sqlite.transaction import SqliteTransaction

if TYPE_CHECKING:
    from sqlite3 import Connection

_SEALED = 6
"""The first version with seals of labels."""
_LISTED = 7
"""The first version with a list of who has begun."""
RUN, LISTENS = "run", ("gate.sock", "gate.lock")
"""Where a gate listens, and the file that it holds. Whoever asks one has no need of the store, and their own names."""
_REACHED = 0.05
"""Seconds for which a gate is waited for, to learn which process it is."""
_ENDING = 0.5
"""Seconds until one that was killed is gone."""
_ROWS = 8
"""The first version with seals of rows."""
_NEWEST = 9
"""The first version whose head names the list of who has begun."""
_ANSWERS = 10
"""The first version with seals of answers, whose head names settings of which none may be missing."""
_SEAL = '"seal":"'
"""What stands in the record of a yes since then: quotes within a text would be escaped."""


def fill(connection: Connection, key: bytes) -> None:
    """Make all that there is in a new database, whose file is empty. Raises an error of SQLite."""
    connection.execute("PRAGMA synchronous = OFF")  # the file is synced before it gets its name
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN")
    for number in range(VERSION):
        _apply(connection, number)
    # An empty chain is sealed too, so that a chain without a head is known to have lost it.
    connection.execute("INSERT INTO audit_head VALUES (1, 0, ?, ?)", (ROOT, seal(key, 0, ROOT)))
    if VERSION >= _LISTED:
        tx = SqliteTransaction(connection, key, writable=True)
        tx.list_begun()
        tx.list_sets()
    connection.execute("COMMIT")


LARGE = 256 * 1024 * 1024
"""Bytes of a database that takes longer to copy than a hook has: only who has time brings it to this version."""


def migrate(connection: Connection, path: str, *, large: bool = False, copies: bool = True) -> None:
    """Bring a database to this version, and keep a copy of what it was. Raises an error of SQLite.

    Args:
        connection: To the database.
        path: Its file.
        large: Whether there is time for a large one.
        copies: Whether a copy is made.

    Raises:
        StoreError: It is too large for this process, or the copy cannot be made.
    """
    connection.execute("BEGIN IMMEDIATE")
    # Another process may have done it meanwhile.
    before = connection.execute("PRAGMA user_version").fetchone()[0]
    if before >= VERSION or not copies:
        _change(connection, path, before)
    else:
        _change_with_copy(connection, path, before, large=large)
    connection.execute("COMMIT")


def _change_with_copy(connection: Connection, path: str, before: int, *, large: bool) -> None:
    if os.stat(path).st_size > LARGE and not large:
        raise StoreError(f"{path} is of an older version, and too large to be changed here: run lockgate store migrate")
    kept = f"{path}.{before}"
    draft = f"{kept}.new"
    copy_database(path, draft)
    try:
        _end_gate(os.path.dirname(path))
        _change(connection, path, before)
        SqliteTransaction(connection, read_key(os.path.dirname(path)), writable=True).put_setting(COPIED, kept)
        # Only now it is known that the tables are of that version: another copy may have the name.
        os.replace(draft, kept)
    finally:
        _remove_draft(draft)


def _change(connection: Connection, path: str, before: int) -> None:
    for number in range(before, VERSION):
        _apply(connection, number)
    if before >= VERSION:
        return
    key = read_key(os.path.dirname(path))
    tx = SqliteTransaction(connection, key, writable=True)
    # Whoever calls a database an older one has to change its records, or has a head of a later version.
    is_older = verify_store(tx, key).ok and tx.sets() is None and not (before < _NEWEST and tx.root())
    if before < _SEALED:
        _seal(tx, is_older=is_older)
    elif before < _LISTED and is_older:
        tx.seal_beginnings()
    if before < _LISTED:
        tx.list_begun(None if is_older else ())
    elif before < _NEWEST and is_older:
        tx.list_seals()
    if before < _ROWS and is_older and tx.read_version_made_with() < _ROWS:
        from lockgate.store.sqlite.row_checks import seal_settings

        seal_settings(tx, tx, time.time())
    if before < _NEWEST and is_older and tx.read_version_made_with() < _NEWEST:
        tx.seal_taints()
    if is_older and tx.read_version_made_with() < _ANSWERS:
        from lockgate.store.sqlite.row_checks import seal_copied
        from lockgate.store.sqlite.statements import APPROVALS

        seal_copied(tx, (APPROVALS,))
        tx.list_sets()


def _end_gate(state: str) -> None:
    """End the gate that listens. It has the older tables, and some builds do not look whether these are still theirs.

    Nobody else writes now, and what it has not committed it has not answered: its hooks decide by themselves.
    """
    import signal
    import socket

    from lockgate.system.files import is_locked
    from lockgate.system.peer_credentials import peer_of
    from lockgate.system.unix_sockets import short_path

    run, name, lock = (os.path.join(state, RUN), *LISTENS)
    with suppress(OSError):
        with socket.socket(socket.AF_UNIX) as connection, short_path(run, name) as path:
            connection.settimeout(_REACHED)
            connection.connect(path)
            peer = peer_of(connection)
        if peer.uid != os.geteuid() or peer.pid in (0, os.getpid()):
            return
        os.kill(peer.pid, signal.SIGKILL)
        until = time.monotonic() + _ENDING
        while is_locked(os.path.join(run, lock)) and time.monotonic() < until:
            time.sleep(0.01)


def copy_database(source: str, target: str) -> None:
    """Copy a database as it is now into one file, which is replaced where it is there. One process at a time.

    Args:
        source: Its file. Somebody else may have the lock for writing.
        target: The copy.

    Raises:
        StoreError: The copy cannot be made.
    """
    import sqlite3

    # Always the same name, so that one that was left by a process that was killed is replaced.
    draft = f"{target}.draft"
    try:
        _remove_draft(draft)
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600))
        # A connection of its own sees what is committed, and does not disturb who has the lock.
        there, copy = sqlite3.connect(source, isolation_level=None), sqlite3.connect(draft, isolation_level=None)
        try:
            there.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE").fetchone()  # so that it is one file
        finally:
            copy.close()
            there.close()
        with open(draft, "rb") as file:
            os.fsync(file.fileno())
        os.replace(draft, target)
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(f"{source} cannot be copied to {target} ({why}): make room for it there") from error
    finally:
        _remove_draft(draft)


def _remove_draft(draft: str) -> None:
    for left in (draft, f"{draft}-journal"):
        if os.path.lexists(left):
            os.unlink(left)


def _seal(tx: SqliteTransaction, *, is_older: bool) -> None:
    """Seal the labels that an older version has kept, as they are, and record that this was done.

    A state that was sealed already only says that it is older: its seals were taken away. It gets none, so that whoever
    it knows has every label until a person accepts that.
    """
    again = not is_older or _was_sealed(tx)
    sealed = 0 if again else tx.seal_labels()
    # A chain whose head does not hold takes no record; every decision is refused then, until a person has looked.
    with suppress(StoreError):
        body = {"event": "sealed", "client": "", "session": "", "agent": "", "subjects": sealed, "again": again}
        tx.append_audit(time.time(), body)


def _was_sealed(tx: SqliteTransaction) -> bool:
    """Whether the chain tells of seals: that it was begun with them, that they were made, or of a yes that has one.

    So does one that misses a record.
    """
    if tx.read_version_made_with() >= _SEALED:
        return True
    made = tx.find_audit(AuditQuery(event="sealed"), limit=1)
    said = any(_SEAL in row.body for row in tx.find_audit(AuditQuery(event="approve")))
    return bool(made) or said or not tx.is_audit_whole()


def _apply(connection: Connection, number: int) -> None:
    for statement in MIGRATIONS[number]:
        connection.execute(statement)
    connection.execute(f"PRAGMA user_version = {number + 1:d}")
