"""A gate on a real store, driven by events."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.ways import keep_one

from .world import World

STORES = ("sqlite", "postgresql")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the quick tests run each row with one of the two stores."""
    keep_one(items, "world", STORES)


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    made.start()
    yield made
    made.store.close()
