"""Fixtures: a host, and containers that ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from containers.boxes import Box, Host


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    """A host that was not started yet."""
    made = Host(tmp_path / "host")
    yield made
    made.end()


@pytest.fixture
def box(host: Host, tmp_path: Path) -> Callable[..., Box]:
    """Makes containers, each of a group of its own or of one that there is."""

    def make(name: str = "web", **more: Any) -> Box:
        return Box(host, host.add(name, **more), tmp_path / f"box-{name}")

    return make
