"""A dashboard that cannot begin holds nothing; and what it does aside fails aloud."""

from __future__ import annotations

import asyncio
import logging
import socket
from pathlib import Path

import pytest

from lockgate.cli.dashboard import tools
from lockgate.core.errors import RemoteError, StoreError
from lockgate.gate.host.host_view import own_ports
from lockgate.service.http import serve as serving
from lockgate.service.http.serve import Dashboard, DashboardSettings
from lockgate.service.listening import sockets
from lockgate.system.folders import Folders


@pytest.fixture
def where(tmp_path: Path) -> Folders:
    return Folders(str(tmp_path), str(tmp_path / "state"), str(tmp_path / "lockgate.yaml"))


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[socket.socket]:
    """The sockets that were made."""
    found: list[socket.socket] = []
    make = serving.tcp_socket

    def keeping(host: str, port: int) -> socket.socket:
        found.append(make(host, port))
        return found[-1]

    monkeypatch.setattr(serving, "tcp_socket", keeping)
    return found


def test_a_port_that_is_taken_leaves_no_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[socket.socket] = []

    class Kept(socket.socket):
        def __init__(self, *of_what: int) -> None:
            super().__init__(*of_what)
            found.append(self)

    with socket.create_server(("127.0.0.1", 0)) as taken:
        monkeypatch.setattr(sockets.socket, "socket", Kept)
        with pytest.raises(RemoteError, match="cannot be listened on"):
            sockets.tcp_socket("127.0.0.1", taken.getsockname()[1])
    assert [each.fileno() for each in found] == [-1]


def test_a_certificate_that_cannot_be_used_leaves_neither_socket_nor_mark(
    where: Folders, made: list[socket.socket]
) -> None:
    missing = str(Path(where.home, "missing.pem"))
    with pytest.raises(RemoteError, match="certificate"):
        Dashboard(where, DashboardSettings(certificate=missing, key=missing), tools(), print)
    assert [each.fileno() for each in made] == [-1]
    assert own_ports(where.state) == set()


def test_a_folder_that_cannot_be_used_leaves_no_socket(where: Folders, made: list[socket.socket]) -> None:
    Path(where.state).write_text("no folder")
    with pytest.raises(StoreError):
        Dashboard(where, DashboardSettings(), tools(), print)
    assert [each.fileno() for each in made] == [-1]


def test_one_that_cannot_tell_its_link_lets_go_too(where: Folders, made: list[socket.socket]) -> None:
    def say(line: str) -> None:
        raise BrokenPipeError(line)

    dashboard = Dashboard(where, DashboardSettings(browser=False), tools(), say)
    assert len(own_ports(where.state)) == 1
    with pytest.raises(BrokenPipeError):
        asyncio.run(dashboard.run())
    assert [each.fileno() for each in made] == [-1]
    assert own_ports(where.state) == set()


@pytest.mark.parametrize(
    ("error", "said"), [(StoreError("the state is gone"), "the state is gone"), (KeyError("secret"), "KeyError")]
)
def test_a_record_that_cannot_be_written_is_told_whatever_failed(
    where: Folders,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    made: list[socket.socket],
    error: Exception,
    said: str,
) -> None:
    def fails() -> None:
        raise error

    dashboard = Dashboard(where, DashboardSettings(), tools(), print)
    monkeypatch.setattr(dashboard._context, "store", fails)
    with caplog.at_level(logging.WARNING, "lockgate.service.http"):
        dashboard._record_twice()
    assert [record.__dict__["facts"] for record in caplog.records] == [{"error": said}]
    dashboard._held.close()
    assert [each.fileno() for each in made] == [-1]
