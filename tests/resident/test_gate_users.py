"""Another user of the machine: keeps out of the folder, and is not heard where the folder lets them in."""

from __future__ import annotations

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from adapters.payloads import tool
from lockgate.clients.wire.resident_files import SOCKET, run_folder
from lockgate.service.resident import listener as hearing
from lockgate.service.resident.metrics import Measures
from lockgate.system.peer_credentials import Peer, peer_of

from .machine import Machine, heard_by

PUSH = tool("PreToolUse", tool_input={"command": "git push https://git.example.com/x.git"})
_NOBODY = 65534
ROOT = pytest.mark.parametrize("uid", [_NOBODY] if os.geteuid() == 0 else [])
"""Only root can be another user; others have the tests below."""


@pytest.fixture
def open_machine() -> Iterator[Machine]:
    """A machine whose folder everybody can reach, unlike pytest's."""
    root = Path(tempfile.mkdtemp(prefix="lockgate-users-"))
    root.chmod(0o755)
    machine = Machine(root)
    try:
        yield machine
    finally:
        machine.end()
        shutil.rmtree(root)


def _as(uid: int, what: Callable[[], str]) -> str:
    """What another user sees."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgroups([])
            os.setgid(uid)
            os.setuid(uid)
            os.write(writes, what().encode())
        finally:
            os._exit(0)
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8") as told:
        said = told.read()
    os.waitpid(child, 0)
    return said


@ROOT
def test_another_user_gets_no_answer(open_machine: Machine, uid: int) -> None:
    machine = open_machine
    machine.start()

    def asked() -> str:
        try:
            with machine.connected(5) as connection:
                try:
                    connection.sendall(machine.request(PUSH))
                except OSError:
                    return "closed"
                return "said: " + heard_by(connection).decode()
        except OSError as error:
            return type(error).__name__

    assert _as(uid, asked) == "PermissionError"
    for path in (machine.state, run_folder(machine.state)):
        os.chmod(path, 0o755)
    os.chmod(os.path.join(run_folder(machine.state), SOCKET), 0o666)
    assert _as(uid, asked) in ("closed", "said: ")
    assert machine.facts["answered"] == 0
    assert machine.said(machine.request(PUSH))[:1] == b"A", "the control"


@ROOT
def test_a_gate_of_another_user_is_not_believed(open_machine: Machine, uid: int) -> None:
    """It would let everything run."""
    machine = open_machine
    assert machine.hook(PUSH, LOCKGATE_RESIDENT="off").code == 0
    folder = run_folder(machine.state)
    os.mkdir(folder)
    for path in (machine.state, folder):
        os.chmod(path, 0o777)
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setgid(uid)
            os.setuid(uid)
            with socket.socket(socket.AF_UNIX) as listening:
                listening.bind(os.path.join(folder, SOCKET))
                os.chmod(os.path.join(folder, SOCKET), 0o666)
                listening.listen()
                os.write(writes, b"!")
                connection, _ = listening.accept()
                connection.sendall(b"A" + bytes(9))
                connection.recv(1)
        finally:
            os._exit(0)
    assert os.read(reads, 1) == b"!"
    os.close(reads)
    os.close(writes)
    try:
        told = machine.hook(PUSH)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
    assert told.code == 2, "it decides by itself, and does not trust a folder that others can write to"
    assert "others can write" in told.stderr


def test_whoever_is_not_the_same_user_is_closed_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The same without being another user: the gate asks the kernel, and goes by what that says."""
    monkeypatch.setattr(hearing, "peer_of", lambda connection: Peer(os.geteuid() + 1, os.getpid()))
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as hook:
        path = str(tmp_path / "s")
        listening.bind(path)
        listening.listen()
        listening.setblocking(False)
        hook.connect(path)
        hooks = hearing.Listener(listening, Measures(), bytes(32))
        hooks.begin()
        hooks.poll(5.0)
        hook.settimeout(5)
        assert hook.recv(1) == b""
        hooks.end()


def test_the_kernel_tells_who_is_there() -> None:
    one, other = socket.socketpair()
    with one, other:
        assert peer_of(one) == Peer(os.geteuid(), os.getpid())
