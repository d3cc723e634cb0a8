"""Gates in this process, each test's with a state and a workspace of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from lockgate import Gate
from support.prepared import give_state

Open = Callable[..., Gate]


@pytest.fixture
def anyio_backend() -> str:
    """What runs ``async`` tests."""
    return "asyncio"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a test, with a workspace in it."""
    found = tmp_path.resolve()
    (found / "work").mkdir()
    give_state(found / "state" / "lockgate")
    return found


@pytest.fixture
def opened(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Open gates on the test's state; they are closed with the test."""
    monkeypatch.setenv("HOME", str(folder / "home"))
    os.mkdir(folder / "home")
    with ExitStack() as stack:

        def make(**options: Any) -> Gate:
            given = {"state": folder / "state", "workspace": folder / "work", "ask": "deny", **options}
            return stack.enter_context(Gate.open(**given))

        yield make
