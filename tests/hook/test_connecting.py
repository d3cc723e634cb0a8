"""How a hook reaches the socket of its gate, whose address is bounded by bytes."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.clients.hook.ask_resident import connect_gate
from lockgate.system.unix_sockets import short_path


@pytest.fixture
def near() -> Iterator[Path]:
    """A folder with a short name, so that what is added decides."""
    with tempfile.TemporaryDirectory(prefix="lg", dir="/tmp") as folder:
        yield Path(folder)


@pytest.mark.parametrize("name", ["short", "d" * 120, "門" * 60, "\udcff" * 70], ids=["short", "long", "wide", "bytes"])
def test_folders_of_any_length(near: Path, name: str) -> None:
    folder = near / name / "run"
    folder.mkdir(parents=True)
    here = os.getcwd()
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as asking:
        with short_path(str(folder), "gate.sock") as path:
            listening.bind(path)
        listening.listen()
        connect_gate(asking, str(folder))
        listening.accept()[0].close()
    assert os.getcwd() == here
