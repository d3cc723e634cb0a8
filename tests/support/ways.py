"""Rows that each run in several ways: the quick tests take one way for each row, and each way has its share of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from zlib import crc32

import pytest


def keep_one(items: Iterable[pytest.Item], fixture: str, ways: Sequence[str]) -> None:
    """Mark as slow what runs in another way than the quick one of its row.

    Args:
        items: All tests.
        fixture: The fixture whose parameter is the way.
        ways: The values of that parameter.
    """
    for item in items:
        way = item.callspec.params.get(fixture) if hasattr(item, "callspec") else None
        if way in ways and way != ways[crc32(item.nodeid.replace(f"[{way}", "[", 1).encode()) % len(ways)]:
            item.add_marker(pytest.mark.slow)
