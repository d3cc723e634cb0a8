"""A machine with a dashboard for each module, and who uses it."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from lockgate.dashboard.tokens import add
from support.api_server import Machine, Server


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    yield machine
    machine.store.close()


@pytest.fixture(scope="module")
def server(machine: Machine) -> Iterator[Server]:
    with machine.serve() as server:
        yield server


@pytest.fixture(scope="module")
def person(server: Server) -> httpx.Client:
    return server.person()


@pytest.fixture(scope="module")
def reader(machine: Machine, server: Server) -> httpx.Client:
    return server.program(add(machine.store, "reader", "read"))


@pytest.fixture(scope="module")
def approver(machine: Machine, server: Server) -> httpx.Client:
    return server.program(add(machine.store, "approver", "approve"))
