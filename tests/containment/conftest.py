"""Fixtures of the tests that try to get out of a sandbox."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from containment.machine import Machine


@pytest.fixture(params=["bubblewrap", "namespaces", "bubblewrap, native", "namespaces, native"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    """A machine for each way to build a sandbox, by the Python program and by the native launcher with a gate."""
    way, _, native = request.param.partition(", ")
    machine = Machine(tmp_path, way, native=bool(native))
    try:
        machine.begin()
        yield machine
    finally:
        machine.end()
