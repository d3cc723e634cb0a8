"""Copying a SQLite log back into its database beside the work, for a process that lives long.

Whoever commits when the log has become long copies it back, and waits for the disk. A thread that does so with a
connection of its own, outside of the interpreter's lock, has nobody wait: a decision then only appends to the log.
"""

from __future__ import annotations

import os
import threading

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.files import DATABASE

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Callable
else:
    from lockgate.store.sqlite.store import sqlite3

_LONG = 4_000_000
"""Bytes of a log from which on it is copied back."""
_TOO_LONG = 16_000_000
"""Bytes of a log from which on it is also cut: else it stays as long as it has ever been."""
_LOOK = 1.0
"""Seconds between two looks at it."""


def start_checkpoints(folder: str) -> Callable[[], None]:
    """Have a thread tend the log of the database in a folder; what ends that thread."""
    stop = threading.Event()
    thread = threading.Thread(target=checkpoint_log, args=(folder, stop), name="lockgate-log", daemon=True)
    thread.start()

    def end() -> None:
        stop.set()
        thread.join(1.0)

    return end


def checkpoint_log(folder: str, stop: threading.Event) -> None:
    """Copy back the log of the database in a folder whenever it is long, until an event is set. To be run by a thread.

    What goes wrong is left to those who commit: they copy back a log that has become much longer.
    """
    path = os.path.join(folder, DATABASE)
    name = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    connection: sqlite3.Connection | None = None
    seen = 0  # when the log was last written to, as it was copied back last
    while not stop.wait(_LOOK):
        try:
            log = os.stat(f"{path}-wal")
            if log.st_size <= _LONG or log.st_mtime_ns == seen:
                continue
            seen = log.st_mtime_ns
            if connection is None:
                connection = sqlite3.connect(f"file:{name}?mode=rw", timeout=0.0, isolation_level=None, uri=True)
            connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if log.st_size > _TOO_LONG:  # nothing is left to be copied, so that nobody waits for long
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except (OSError, sqlite3.Error):
            continue
    if connection is not None:
        connection.close()
