"""The store that a state folder names in ``store.json``."""

from __future__ import annotations

import os

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.store.postgres.store import PostgresStore


def open_at(state: str, url: str, gate: str, *, busy_seconds: float) -> PostgresStore:
    """Open the shared database at an address, as the gate of a state folder.

    It is asked only when something is to be read or written.

    Args:
        state: Absolute path of the state folder. The key of this machine is made there where it is missing.
        url: The address.
        gate: What people call this gate; empty for user and host.
        busy_seconds: How long to wait for the database, and for other gates.

    Raises:
        StoreError: It is no address, or the folder cannot be trusted.
    """
    from lockgate.store.files import own_folder, read_key
    from lockgate.store.postgres.anchor_notes import NOTES
    from lockgate.store.postgres.settings import address_of
    from lockgate.store.postgres.store import PostgresStore

    own_folder(state, create=True)
    notes = os.path.join(state, NOTES)
    return PostgresStore(address_of(url), read_key(state), gate or own_name(), busy_seconds, notes)


def own_name() -> str:
    """What people call this gate where nobody has named it: user and host."""
    import socket

    from lockgate.system.folders import user_name

    return f"{user_name()}@{socket.gethostname()}"
