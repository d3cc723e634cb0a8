"""Each test's own store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.store.protocol import Transaction
from support.prepared import open_new
from support.ways import keep_one

STORES = ("sqlite", "resident", "postgresql")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the quick tests run each row with one of the three stores."""
    keep_one(items, "make", STORES)


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Transaction]:
    """A step on it."""
    store = open_new(tmp_path / "state")
    with store.transaction() as tx:
        yield tx
    store.close()
