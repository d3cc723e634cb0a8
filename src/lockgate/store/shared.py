"""The store that a state folder names in ``store.json``."""

from __future__ import annotations

from lockgate.errors import StoreError
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.store.protocol import Store


def open_shared(state: str, *, busy_seconds: float) -> Store:
    """Open the shared database that a state folder names.

    Raises:
        StoreError: It cannot be reached or trusted.
    """
    raise StoreError(f"{state} names a shared store, which this version cannot open")
