"""Fixtures of the tests that try to get out of a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from escape.machine import Machine


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)
