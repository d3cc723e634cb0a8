"""What ``lockgate doctor`` says of the resident gate."""

from __future__ import annotations

import os
import signal
from typing import Any

import pytest

from lockgate.cli.doctor import gate as doctor_gate
from lockgate.cli.doctor.gate import resident_gate
from lockgate.clients.wire import resident_control as control
from lockgate.clients.wire.resident_files import run_folder
from support import steady

from .machine import Machine


@pytest.fixture(autouse=True)
def _of_the_gates_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """The doctor is of the same installation as the gates of these tests."""
    monkeypatch.setattr(doctor_gate, "PACKAGE_FOLDER", os.fspath(steady.package()))
    monkeypatch.setattr(doctor_gate, "PROGRAM", steady.hook())


def test_none_is_no_fault(machine: Machine) -> None:
    assert resident_gate(machine.state, {}) == (
        "ok",
        "none runs now; hooks decide by themselves, and one of the next starts it",
        "",
    )


def test_one_that_is_well(served: Machine) -> None:
    state, says, _ = resident_gate(served.state, {})
    assert state == "ok"
    assert says.startswith(f"process {served.gates()[0]}, version ")


def test_one_that_hangs(served: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    os.kill(served.gates()[0], signal.SIGSTOP)
    monkeypatch.setattr(doctor_gate, "look", lambda state: control.look(state, 0.2))
    state, says, mend = resident_gate(served.state, {})
    assert (state, mend) == ("warn", "run: lockgate gate restart")
    assert "it does not answer in time" in says


def test_switched_off(served: Machine) -> None:
    state, says, _ = resident_gate(served.state, {"LOCKGATE_RESIDENT": "off"})
    assert state == "warn"
    assert "each hook decides by itself" in says


def test_a_folder_that_others_can_use(served: Machine) -> None:
    os.chmod(run_folder(served.state), 0o770)
    state, says, _ = resident_gate(served.state, {})
    assert (state, "others can get at" in says) == ("fail", True)


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"version": "0.0"}, "this program is version"),
        ({"program": "/elsewhere/lockgate"}, "it runs /elsewhere/lockgate, and this program is "),
        ({"code": "1 2 3"}, "its files were replaced since it began"),
        ({"memory_mb": 900.0}, "larger"),
    ],
)
def test_one_that_is_odd(served: Machine, monkeypatch: pytest.MonkeyPatch, facts: dict[str, Any], says: str) -> None:
    found = control.ResidentState(runs=True, facts={**served.facts, **facts})
    monkeypatch.setattr(doctor_gate, "look", lambda _: found)
    state, told, _ = resident_gate(served.state, {})
    assert (state, says in told) == ("warn", True)
