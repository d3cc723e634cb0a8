"""A socket in a long folder can be bound and reached, whichever way the system has to a short path."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from lockgate.system.unix_sockets import LONGEST, short_path


@pytest.mark.parametrize("proc", [True, False], ids=["with proc", "without proc"])
@pytest.mark.parametrize("length", [1, 90, 200])
def test_what_is_bound_is_reached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, proc: bool) -> None:
    is_folder = os.path.isdir
    monkeypatch.setattr(os.path, "isdir", lambda path: (proc or path != "/proc/self/fd") and is_folder(path))
    monkeypatch.chdir("/tmp")
    folder = tmp_path / ("x" * length)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as asking:
        with short_path(str(folder), "s") as bound:
            listening.bind(bound)
        assert (folder / "s").is_socket()
        listening.listen()
        with short_path(str(folder), "s") as reached:
            assert len(os.fsencode(reached)) <= LONGEST
            asking.connect(reached)
    assert os.getcwd() == os.path.realpath("/tmp")
    assert len(str(folder / "s")) <= LONGEST or not os.path.lexists(reached)
