"""Fixtures of the tests that try to get out of a sandbox."""

from __future__ import annotations

from pathlib import Path

import pytest

from escape.machine import Machine


@pytest.fixture(params=["bubblewrap", "namespaces"])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    """A machine for each way to build a sandbox."""
    return Machine(tmp_path, request.param)
