"""Fixtures of the tests of installs."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from installs.index import LocalIndex


@pytest.fixture
def index(tmp_path: Path) -> Iterator[LocalIndex]:
    """A package index on loopback."""
    found = LocalIndex(tmp_path)
    yield found
    found.end()
