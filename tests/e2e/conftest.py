"""Fixtures of the tests with the real clients."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from e2e.harness.clients import claude_code, versions
from e2e.harness.script import Script
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.world import World
from support.gates import end_gates

Serve = Callable[[Script], ScriptedModel]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder."""
    here = Path(__file__).parent
    for item in items:
        if item.path.is_relative_to(here):
            item.add_marker("e2e")


@pytest.fixture(autouse=True)
def no_gate_is_left_by_a_test(tmp_path: Path) -> Iterator[None]:
    """End the resident gates that the hooks of a test have started."""
    yield
    end_gates(tmp_path.resolve())


@pytest.fixture(params=versions())
def version(request: pytest.FixtureRequest) -> str:
    """Each version of the client in turn."""
    version: str = request.param
    claude_code(version)
    return version


@pytest.fixture
def bare_world(tmp_path: Path, version: str) -> World:
    """A machine without Lockgate."""
    return World(tmp_path.resolve(), version)


@pytest.fixture
def world(bare_world: World) -> World:
    """A machine where a person has installed Lockgate."""
    bare_world.lockgate("install", "claude-code")
    return bare_world


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a scripted model that ends with the test."""
    with ExitStack() as stack:
        yield lambda script: stack.enter_context(ScriptedModel(script))
