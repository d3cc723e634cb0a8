"""Of several gates one listens, and who only looks whether there is one keeps none from coming up."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

import pytest

from lockgate.clients.wire.resident_files import LOCK, is_held, make_run_folder
from lockgate.service.resident.process import Listening
from lockgate.system.folders import Folders


@pytest.fixture
def where(tmp_path: Path) -> Folders:
    return Folders(str(tmp_path), str(tmp_path / "state"), str(tmp_path / "config"))


def test_whoever_looks_has_the_lock_for_an_instant_alone(where: Folders, monkeypatch: pytest.MonkeyPatch) -> None:
    looking = os.open(os.path.join(make_run_folder(where.state), LOCK), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(looking, fcntl.LOCK_SH)
    monkeypatch.setattr(time, "sleep", lambda _: os.close(looking))
    listening = Listening(where, 0.0)
    assert listening.take_turn()
    assert is_held(where.state)
    listening.end()
    assert not is_held(where.state)


def test_the_second_gate_does_not_listen(where: Folders) -> None:
    first, second = Listening(where, 0.0), Listening(where, 0.0)
    assert first.take_turn()
    assert not second.take_turn()
    second.end()
    assert is_held(where.state)
    first.end()
