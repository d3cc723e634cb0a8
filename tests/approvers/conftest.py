"""The store of a test's own state folder, which a test's module names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lockgate.store.sqlite.store import SqliteStore


@pytest.fixture
def store(state: str) -> Iterator[SqliteStore]:
    """It is opened once the folder is as the module wants it."""
    store = SqliteStore.open(state, busy_seconds=20)
    yield store
    store.close()
