"""A person's program on a throw-away machine: agents of real SDKs in this process, and models that are scripted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e.harness.script import Script
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.world import World
from lockgate import Gate

Serve = Callable[[Script], ScriptedModel]
OpenGate = Callable[..., Gate]


@pytest.fixture
def anyio_backend() -> str:
    """What runs ``async`` tests."""
    return "asyncio"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A machine with no hooks installed; this process is the person's program on it."""
    found = World(tmp_path.resolve(), "")
    monkeypatch.setenv("HOME", str(found.home))
    monkeypatch.setenv("PATH", found.environment["PATH"])
    (found.root / "outside").mkdir()
    return found


@pytest.fixture
def gate(place: World) -> Iterator[OpenGate]:
    """Open gates on that machine; they are closed with the test."""
    with ExitStack() as stack:
        yield lambda **given: stack.enter_context(Gate.open(**{"workspace": place.project, "ask": "deny", **given}))


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a scripted model of the Messages API that ends with the test."""
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(ScriptedModel(script))
