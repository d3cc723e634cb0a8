"""What macOS has in other ways than Linux, or not at all: each branch for it is run here, with what it would meet."""

from __future__ import annotations

import errno
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

import pytest

from lockgate.clients.hook.ask_resident import connect_gate
from lockgate.gate.approvals import wakeups
from lockgate.service.containers import http as web
from lockgate.store.opening import open_store
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system import files
from lockgate.system import peer_credentials as peers
from lockgate.system.files import real_path
from lockgate.system.peer_credentials import Peer, peer_of
from lockgate.system.unix_sockets import short_path

XUCRED = struct.Struct("=IIh2x16I")
"""``struct xucred`` of sys/ucred.h: version, user, how many groups, sixteen of them."""


@pytest.fixture(autouse=True)
def mac(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the system, and what its modules lack."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(files, "_ONLY_PATH", 0)
    monkeypatch.setattr(fcntl, "F_FULLFSYNC", 51, raising=False)


# ---------------------------------------------------------------- who is at the other end of a Unix socket
class Connection:
    """A socket that tells of its peer as unix(4) of macOS says: options 1 and 2 of level 0."""

    family = socket.AF_UNIX

    def __init__(self, uid: int, pid: int) -> None:
        self._told = {1: XUCRED.pack(0, uid, 1, 20, *[0] * 15), 2: struct.pack("=i", pid)}

    def getsockopt(self, level: int, option: int, size: int) -> bytes:
        found = self._told.get(option) if level == 0 else None
        if found is None:
            raise OSError(42, "Protocol not available")
        assert size >= len(found)
        return found

    def connect(self, _: str) -> None:
        pass


def test_the_process_that_connected() -> None:
    connection = Connection(501, 4711)
    assert peer_of(connection) == Peer(501, 4711)  # type: ignore[arg-type]
    assert peers.sees_the_same(Peer(501, 4711))


def test_a_host_of_containers_knows_its_peers_user() -> None:
    assert web.peer_uid(Connection(501, 4711)) == 501
    with socket.socket(socket.AF_UNIX) as nobody:
        assert web.peer_uid(nobody) == -1


@pytest.mark.parametrize("uid", [os.geteuid(), os.geteuid() + 1])
def test_a_hook_talks_to_its_own_users_gate_alone(uid: int) -> None:
    connection = Connection(uid, 1)
    if uid == os.geteuid():
        connect_gate(connection, "/state/run")  # type: ignore[arg-type]
        return
    with pytest.raises(OSError):
        connect_gate(connection, "/state/run")  # type: ignore[arg-type]


# ---------------------------------------------------------------- paths
def test_where_paths_lead_without_the_kernels_word(tmp_path: Path) -> None:
    """As ``/tmp``, ``/var`` and ``/etc`` lead below ``/private``."""
    (tmp_path / "private" / "tmp" / "p").mkdir(parents=True)
    (tmp_path / "tmp").symlink_to("private/tmp")
    root = os.path.realpath(tmp_path)
    assert real_path(f"{tmp_path}/tmp/p") == f"{root}/private/tmp/p"
    assert real_path(f"{tmp_path}/tmp/p/../new") == f"{root}/private/tmp/new"
    assert real_path(f"{tmp_path}/tmp/none/x") == f"{root}/private/tmp/none/x"


def test_a_socket_below_a_folder_whose_name_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deep = tmp_path / ("d" * 120)
    deep.mkdir()
    is_folder = os.path.isdir
    monkeypatch.setattr(os.path, "isdir", lambda path: not str(path).startswith("/proc") and is_folder(path))
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as asking:
        with short_path(str(deep), "s") as path:
            assert len(os.fsencode(path)) < 104
            listening.bind(path)
        listening.listen()
        with short_path(str(deep), "s") as path:
            asking.connect(path)
    assert (deep / "s").is_socket()


def test_a_process_with_a_full_queue_counts_as_waiting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(socket.socket):
        def send(self, *_: object) -> int:
            raise OSError(errno.ENOBUFS, "No buffer space available")

    with wakeups.WakeupSocket(str(tmp_path), "one"):
        monkeypatch.setattr(socket, "socket", Full)
        assert wakeups.wake(str(tmp_path), "one") == 1
        assert wakeups.is_waited_for(str(tmp_path), "one")


# ---------------------------------------------------------------- what outlasts a power failure
@pytest.mark.parametrize("able", [True, False])
def test_what_is_written_leaves_the_disks_own_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, able: bool
) -> None:
    asked: list[object] = []

    def control(_: int, command: int) -> int:
        asked.append(command)
        if not able:
            raise OSError(errno.ENOTSUP, "Operation not supported")
        return 0

    monkeypatch.setattr(fcntl, "fcntl", control)
    monkeypatch.setattr(os, "fsync", lambda _: asked.append("fsync"))
    files.replace(str(tmp_path / "f"), b"x", draft=str(tmp_path / "d"), sync=True)
    assert asked == ([51] if able else [51, "fsync"])
    asked.clear()
    open_store(str(tmp_path / "state")).close()
    assert 51 in asked


def test_a_store_leaves_it_too(tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "state"))
    assert isinstance(store, SqliteStore)
    assert store._connection.execute("PRAGMA checkpoint_fullfsync").fetchone() == (1,)
    store.close()
