"""Fixtures of the tests that try to get out of a sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

import pytest

from containment.machine import Machine

WAYS = ("bubblewrap", "namespaces", "bubblewrap, native", "namespaces, native")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the quick tests run each row in one of the four ways, and each way with a quarter of the rows."""
    for item in items:
        way = item.callspec.params.get("machine") if hasattr(item, "callspec") else None
        if way in WAYS and way != _quick_way(item.nodeid.replace(f"[{way}", "[", 1)):
            item.add_marker(pytest.mark.slow)


def _quick_way(row: str) -> str:
    return WAYS[crc32(row.encode()) % len(WAYS)]


@pytest.fixture(params=WAYS)
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    """A machine for each way to build a sandbox, by the Python program and by the native launcher with a gate."""
    way, _, native = request.param.partition(", ")
    machine = Machine(tmp_path, way, native=bool(native))
    try:
        machine.begin()
        yield machine
    finally:
        machine.end()
