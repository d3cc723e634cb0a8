"""What lies where a host is to listen on a Unix socket: nothing of anybody else is removed."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
from pathlib import Path

import pytest

from lockgate.core.errors import RemoteError
from lockgate.service.containers.groups import lock
from lockgate.service.containers.serve import ContainerServerSettings, serve
from lockgate.service.listening.sockets import unix_socket
from lockgate.system.folders import Folders


def start(place: Path, folder: str = "") -> None:
    """Start a host that cannot serve there."""
    state = place.parent / "state"
    where = Folders(str(place.parent), str(state), str(place.parent / "config"))
    asyncio.run(asyncio.wait_for(serve(where, ContainerServerSettings(folder=folder, unix=str(place))), 30))


def test_a_file_that_is_no_socket_stays(tmp_path: Path) -> None:
    place = tmp_path / "notes.txt"
    place.write_text("precious")
    with pytest.raises(RemoteError, match="is no socket"):
        start(place)
    assert place.read_text() == "precious"


def test_a_link_stays_and_so_does_what_it_leads_to(tmp_path: Path) -> None:
    place, other = tmp_path / "gate.sock", tmp_path / "other.sock"
    place.symlink_to(other)
    with unix_socket(str(other)), pytest.raises(RemoteError, match="is no socket"):
        start(place)
    assert place.is_symlink()


def test_a_socket_at_which_another_host_listens_stays(tmp_path: Path) -> None:
    place = tmp_path / "gate.sock"
    with unix_socket(str(place)) as listening:
        with pytest.raises(RemoteError, match="another process listens"):
            start(place)
        with socket.socket(socket.AF_UNIX) as hook:
            hook.connect(str(place))
            listening.accept()[0].close()
    assert not place.exists()


def test_a_host_that_cannot_start_takes_away_no_socket_of_another(tmp_path: Path) -> None:
    place, folder = tmp_path / "gate.sock", tmp_path / "ipc"
    folder.mkdir(mode=0o700)
    held = lock(str(folder))
    try:
        with unix_socket(str(place)):
            with pytest.raises(RemoteError, match="answers in"):
                start(place, str(folder))
            assert place.exists()
    finally:
        os.close(held)


def test_the_socket_of_a_host_that_was_killed_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "gate.sock"
    with socket.socket(socket.AF_UNIX) as killed:
        killed.bind(str(place))
    with unix_socket(str(place)):
        assert stat.S_IMODE(os.lstat(place).st_mode) == 0o666
    assert not place.exists()


def test_what_has_its_name_meanwhile_is_not_removed_with_it(tmp_path: Path) -> None:
    place = tmp_path / "gate.sock"
    with unix_socket(str(place)):
        place.rename(tmp_path / "old.sock")
        place.write_text("another's")
    assert place.read_text() == "another's"


def test_a_socket_that_cannot_be_asked_is_left(tmp_path: Path) -> None:
    place = tmp_path / "datagrams.sock"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other:
        other.bind(str(place))
        with pytest.raises(RemoteError, match="cannot be listened on"), unix_socket(str(place)):
            pass
    assert place.exists()
