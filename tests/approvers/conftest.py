"""The store of a test's own state folder, which a test's module names."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lockgate.store.sqlite.store import SqliteStore
from support.prepared import open_new


@pytest.fixture
def store(state: str) -> Iterator[SqliteStore]:
    """It is opened once the folder is as the module wants it."""
    store = open_new(state, busy_seconds=20)
    yield store
    store.close()
