"""Going back to a copy of the database, for a person: after a downgrade, or where the database is damaged.

What was recorded since the copy is not in it: labels too. So every session that it knows gets both labels, and so
does one that it does not know, unless its client says that it begins.
"""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject, Taint
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.files import DATABASE, PUT_BACK_SINCE
from lockgate.store.sqlite.copies import of_this_version

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.store.protocol import Transaction
    from lockgate.store.sqlite.transaction import SqliteTransaction

_SOURCE = "a restored copy of the state, which does not know what was read since it was made"
_BESIDE = ("-wal", "-shm")
_BUSY_SECONDS = 10.0


def restore(folder: str, path: str, record: Callable[[Transaction, float, str], None]) -> tuple[str, int]:
    """Put a copy in the place of the database, which is kept beside it.

    No gate may run. A process that breaks off leaves the one database or the other.

    Args:
        folder: The state folder.
        path: The copy.
        record: Writes down what is done, with the store's time and the name of what is replaced.

    Returns:
        Where the database that was replaced is now, empty where there was none; and how many sessions were labelled.

    Raises:
        StoreError: The copy is none that this version can use, or was made elsewhere, or cannot be put there.
    """
    from lockgate.store.sqlite.create import copy_database, migrate
    from lockgate.store.sqlite.rollback import OutsideHead
    from lockgate.store.sqlite.store import SqliteStore

    of_this_version(path, folder)
    database, draft = os.path.join(folder, DATABASE), os.path.join(folder, f"{DATABASE}.restoring")
    replaced = f"{database}.{time.time():.0f}" if os.path.lexists(database) else ""
    try:
        copy_database(path, draft)
        store = SqliteStore.open_file(draft, folder, lambda *what: migrate(*what, copies=False))
        try:
            with store.transaction() as tx:
                _refuse_broken(tx, store.key, path)
                record(tx, store.clock(), replaced)
                labelled = miss(tx, store.clock(), _SOURCE)
                head = tx.audit_head()
        finally:
            store.close()
        # The person says so. What was kept of the other one is believed, too, until this one is there.
        outside = OutsideHead(folder, store.key)
        kept = outside.read_places()
        outside.put_all({*(head for each in kept for head in each.heads), head[:2]})
        _put(draft, database, replaced)
        outside.put_all([head[:2]])
        outside.drop_steps([step for each in kept for step in each.steps])
    finally:
        _remove(draft, *(f"{draft}{beside}" for beside in _BESIDE))
    return replaced, labelled


def _refuse_broken(tx: Transaction, key: bytes, path: str) -> None:
    from lockgate.store.audit.chain import verify_store

    verified = verify_store(tx, key)
    if not verified.ok:
        raise StoreError(f"the audit of {path} does not hold, or is of another installation: {verified.problem}")


def miss(tx: SqliteTransaction, now: float, source: str) -> int:
    """Let every session have both labels, and no answer count: the database misses what comes from now on, or has come.

    A person has it so, and nothing of it is told afterwards. To be called when that is recorded: no seal of a label
    from before that record holds any more.

    Args:
        tx: The transaction.
        now: Seconds since the epoch.
        source: Why, for the person.

    Returns:
        How many sessions it knows.
    """
    found = tx.put_back()
    sessions = [row.session for row in tx.sessions()]
    subjects = [Subject(name, agent) for name in sessions for agent in ("", *(row.agent for row in tx.agents(name)))]
    tx.seal_anew(subjects)
    for subject in subjects:
        tx.add_taints(subject, [Taint(label, source, "", "", now) for label in Label])
    tx.end_answers()
    tx.put_setting(PUT_BACK_SINCE, str(now))
    if found is None or not found.reason:
        tx.accept_put_back()
    return len(sessions)


def _put(draft: str, database: str, replaced: str) -> None:
    """Give the draft its name, while nobody can write into the other one: its log would be taken for the draft's."""
    there = None
    try:
        connection = sqlite3.connect(draft, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL").fetchone()
        connection.close()
        _remove(*(f"{draft}{beside}" for beside in _BESIDE))
        if replaced:
            there = sqlite3.connect(database, timeout=_BUSY_SECONDS, isolation_level=None)
            _hold(there, database)
            # A copy would open the file and close it, which takes the lock away (POSIX, fcntl).
            os.link(database, replaced)
            _remove(*(f"{database}{beside}" for beside in _BESIDE))
        os.replace(draft, database)
    except (OSError, sqlite3.Error) as error:
        why = getattr(error, "strerror", None) or error
        raise StoreError(f"{database} cannot be replaced: {why}") from error
    finally:
        if there is not None:
            there.close()


def _hold(connection: sqlite3.Connection, database: str) -> None:
    """Keep everybody else from a database, and make one file of it."""
    try:
        connection.execute("PRAGMA journal_mode = DELETE").fetchone()
        connection.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        raise StoreError(f"{database} is in use: end your agents, and try again ({error})") from error
    except sqlite3.DatabaseError:  # it is damaged, which is why it is replaced
        _remove(*(f"{database}{beside}" for beside in _BESIDE))


def _remove(*paths: str) -> None:
    for path in paths:
        with suppress(FileNotFoundError):
            os.unlink(path)
