"""Each test's own machine, on which nothing is left running."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from .machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """A machine without a gate; its hooks start one."""
    machine = Machine(tmp_path)
    yield machine
    machine.end()


@pytest.fixture
def served(machine: Machine) -> Machine:
    """A machine with a gate."""
    machine.start()
    return machine
