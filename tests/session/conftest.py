"""Each test's own store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.store.protocol import Transaction
from support.prepared import open_new


@pytest.fixture
def tx(tmp_path: Path) -> Iterator[Transaction]:
    """A step on it."""
    store = open_new(tmp_path / "state")
    with store.transaction() as tx:
        yield tx
    store.close()
