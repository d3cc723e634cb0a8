"""Fixtures of the tests that try to get out of a sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from containment.machine import Machine
from support.ways import keep_one

WAYS = ("bubblewrap", "namespaces", "bubblewrap, native", "namespaces, native")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have the quick tests run each row in one of the four ways, and each way with a quarter of the rows."""
    keep_one(items, "machine", WAYS)


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
