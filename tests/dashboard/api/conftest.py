"""A machine with a dashboard for each module, and who uses it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator

import httpx
import pytest

from lockgate.service.http.auth.tokens import add
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


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("tls")
    key, file = str(folder / "tls.key"), str(folder / "tls.crt")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    subprocess.run([*command, "-days", "2", "-keyout", key, "-out", file, *names], check=True, capture_output=True)
    return file, key


@pytest.fixture
def approval(machine: Machine) -> Iterator[str]:
    """A question that waits. Whatever is tried, nobody answers it."""
    approval = machine.asked()
    yield approval
    assert machine.row(approval).state == "pending"
