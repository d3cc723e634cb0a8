"""Which store belongs to a state folder: SQLite in the folder itself, or a database that many machines share."""

from __future__ import annotations

import os

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.files import ELSEWHERE, KEY, own_file, own_folder, read_key
from lockgate.store.sqlite.rollback import OWN_STORE, OutsideHead

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lockgate.store.postgres.settings import StoreAddress
    from lockgate.store.protocol import Store

BUSY_SECONDS = 2.0
"""How long a process waits for another's transaction; below the deadline of a hook."""
GROUPS_BUSY_SECONDS = 1.0
"""The same for one that decides for many: below what a step may take (`service/resident/loop.py` would end it).

A hook that has heard nothing for so long decides by itself, and waits for longer."""


def open_store(state: str, *, busy_seconds: float = BUSY_SECONDS, groups: bool = False) -> Store:
    """Open the store of a state folder; what is missing is made.

    Args:
        state: Absolute path of the state folder. It must be the user's own.
        busy_seconds: How long to wait for other processes before giving up.
        groups: Whether several transactions may be committed at once, where the store can do that.

    Raises:
        StoreError: It cannot be made, opened or trusted; the message tells what to do.
    """
    if where := read_chosen(state):
        from lockgate.store.postgres.opening import open_at

        return open_at(state, where.url, where.gate, busy_seconds=busy_seconds)
    if groups:
        from lockgate.store.sqlite.group_commit import GroupingStore

        return GroupingStore.open(state, busy_seconds=min(busy_seconds, GROUPS_BUSY_SECONDS))
    from lockgate.store.sqlite.store import SqliteStore

    return SqliteStore.open(state, busy_seconds=busy_seconds)


def open_existing(state: str, *, busy_seconds: float = BUSY_SECONDS) -> Store | None:
    """Open the store of a state folder, or ``None`` where nothing was recorded yet; never makes anything.

    Raises:
        StoreError: It cannot be opened or trusted.
    """
    if where := read_chosen(state):
        from lockgate.store.postgres.opening import open_at

        return open_at(state, where.url, where.gate, busy_seconds=busy_seconds)
    from lockgate.store.sqlite.store import SqliteStore

    return SqliteStore.open_existing(state, busy_seconds=busy_seconds)


def read_chosen(state: str) -> StoreAddress | None:
    """The shared store that a person has chosen for a state folder; ``None`` where it has a database of its own.

    ``store.json`` has a seal of this installation. The places that keep the head of the audit keep that seal, too. So a
    file that somebody has written, one that is gone, and one of before are found.

    Raises:
        StoreError: What the folder says is not what was chosen, or cannot be read or trusted.
    """
    if not own_folder(state, create=False):
        return None
    path = os.path.join(state, ELSEWHERE)
    is_named = own_file(path)
    if not is_named and not own_file(os.path.join(state, KEY)):
        return None
    key, where, seal = read_key(state), None, OWN_STORE
    if is_named:
        from lockgate.store.postgres.settings import read_where, seal_of

        where = read_where(path)
        seal = seal_of(key, where)
        if where.seal != seal:
            raise _refusal(f"{path} was written by something else than this installation")
    choices = OutsideHead(state, key).stores()
    if choices and seal not in choices:
        raise _refusal(f"{path} names another store than was chosen last" if is_named else f"{path} is gone")
    return where


def _refusal(says: str) -> StoreError:
    return StoreError(f"{says}: find out why. Then choose it anew, by its address or here: lockgate store use sqlite")


def ask_once(state: str) -> AbstractContextManager[None]:
    """Have this thread ask a shared store that cannot be reached only once: for many looks of one command."""
    if os.path.lexists(os.path.join(state, ELSEWHERE)):
        from lockgate.store.postgres import connections

        return connections.ask_once()
    from contextlib import nullcontext

    return nullcontext()


def load_late_modules() -> None:
    """Load what a store loads only when it needs it. Who waits for long may find another version's files later."""
    from lockgate.store.sqlite import put_back, search  # noqa: F401
    from lockgate.system.error_log import note  # noqa: F401
    from lockgate.system.uptime import instant  # noqa: F401
