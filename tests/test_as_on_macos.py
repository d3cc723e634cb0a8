"""What macOS has in other ways than Linux, or not at all: each branch for it is run here, with what it would meet."""

from __future__ import annotations

import os
import socket
import struct
import sys
from pathlib import Path

import pytest

from lockgate import files, hook
from lockgate.files import real_path
from lockgate.resident import peers
from lockgate.resident.peers import Peer, peer_of
from lockgate.server import web

XUCRED = struct.Struct("=IIh2x16I")
"""``struct xucred`` of sys/ucred.h: version, user, how many groups, sixteen of them."""


@pytest.fixture(autouse=True)
def mac(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the system, and what its modules lack."""
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.setattr(files, "_ONLY_PATH", 0)


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
    assert web._peer_uid(Connection(501, 4711)) == 501
    with socket.socket(socket.AF_UNIX) as nobody:
        assert web._peer_uid(nobody) == -1


@pytest.mark.parametrize("uid", [os.geteuid(), os.geteuid() + 1])
def test_a_hook_talks_to_its_own_users_gate_alone(uid: int) -> None:
    connection = Connection(uid, 1)
    if uid == os.geteuid():
        hook._connect(connection, "/state/run")  # type: ignore[arg-type]
        return
    with pytest.raises(OSError):
        hook._connect(connection, "/state/run")  # type: ignore[arg-type]


# ---------------------------------------------------------------- paths
def test_where_paths_lead_without_the_kernels_word(tmp_path: Path) -> None:
    """As ``/tmp``, ``/var`` and ``/etc`` lead below ``/private``."""
    (tmp_path / "private" / "tmp" / "p").mkdir(parents=True)
    (tmp_path / "tmp").symlink_to("private/tmp")
    root = os.path.realpath(tmp_path)
    assert real_path(f"{tmp_path}/tmp/p") == f"{root}/private/tmp/p"
    assert real_path(f"{tmp_path}/tmp/p/../new") == f"{root}/private/tmp/new"
    assert real_path(f"{tmp_path}/tmp/none/x") == f"{root}/private/tmp/none/x"
