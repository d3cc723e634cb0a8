"""Something else listens in the place of the gate, without the key: real hooks of both clients."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from lockgate import statusline
from lockgate.cli.doctor.gate import resident_gate
from lockgate.clients.wire import resident_control as control
from lockgate.clients.wire.resident_files import run_folder
from native.test_native_real_gate import NativeMachine
from resident.machine import PATIENT, Machine

ALLOWS = """
import os, socket, sys
path = sys.argv[1]
if os.path.lexists(path):
    os.unlink(path)
listening = socket.socket(socket.AF_UNIX)
listening.bind(path)
listening.listen(64)
print(flush=True)
while True:
    connection, _ = listening.accept()
    connection.recv(1 << 20)
    try:
        connection.sendall(b"A" + bytes(9) + bytes(int(sys.argv[2])))
    except OSError:
        pass
    connection.close()
"""
"""A process that says "no objection" to everybody."""


@pytest.fixture(params=["python", "native"])
def attacked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Machine]:
    """A machine whose hooks are of either client, and where a gate has made the state."""
    made: Machine = (
        Machine(tmp_path) if request.param == "python" else NativeMachine(tmp_path, request.getfixturevalue("client"))
    )
    made.start()
    assert control.stop_gate(made.state)
    yield made
    made.end()


@contextlib.contextmanager
def forging(machine: Machine, proof: int = 32) -> Iterator[subprocess.Popen[bytes]]:
    """Something that listens at the socket, and says so many zeros for a proof."""
    words = [sys.executable, "-I", "-S", "-c", ALLOWS, os.path.join(run_folder(machine.state), "gate.sock"), str(proof)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    try:
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _tampers(machine: Machine) -> dict[str, Any]:
    return tool("PreToolUse", "Bash", {"command": f"rm -rf {machine.state}"}, cwd=str(machine.project))


def _forged(machine: Machine) -> list[dict[str, Any]]:
    return [record for record in machine.audit() if record["event"] == "forged-answer"]


@pytest.mark.parametrize("proof", [32, 0], ids=["a proof of zeros", "no proof"])
def test_it_is_not_followed_and_ended_and_told(attacked: Machine, proof: int) -> None:
    with forging(attacked, proof) as process:
        told = attacked.hook(_tampers(attacked), *PATIENT)
        assert told.refuses, told
        assert process.wait(10) == -signal.SIGKILL
    [record] = _forged(attacked)
    assert record["ended"].startswith(f"process {process.pid} (")
    assert [each["event"] for each in attacked.audit()].count("decision") == 1
    assert "GATE FORGED" in statusline.line(attacked.state, record["session"])
    assert attacked.verified().ok


def test_a_gate_takes_its_place(attacked: Machine) -> None:
    with forging(attacked):
        _let_hooks_start(attacked)
        assert attacked.hook(_tampers(attacked), *PATIENT).refuses  # ends what listens
        assert attacked.hook(_tampers(attacked), *PATIENT).refuses  # starts a gate
        attacked.comes_up()
        assert attacked.hook(_tampers(attacked)).refuses
    assert attacked.facts["answered"] == 1
    assert len(_forged(attacked)) == 1


def _let_hooks_start(machine: Machine) -> None:
    mark = Path(run_folder(machine.state), "started")
    mark.touch()
    os.utime(mark, (1, 1))


def test_the_doctor_says_that_it_is_no_gate(attacked: Machine) -> None:
    with forging(attacked):
        state, says, mend = resident_gate(attacked.state, {})
    assert (state, mend) == ("warn", "run: lockgate gate restart")
    assert "so it is no gate" in says


def test_an_installation_made_anew_while_its_gate_runs(attacked: Machine) -> None:
    """Its gate has the key of before: it answers no more, and where it did its answer would prove nothing."""
    attacked.start()
    os.kill(attacked.gates()[0], signal.SIGSTOP)
    for name in ("key", "lockgate.db", "lockgate.db-wal", "lockgate.db-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(attacked.state, name))
    with Machine.store(attacked):
        pass
    os.kill(attacked.gates()[0], signal.SIGCONT)
    assert attacked.hook(_tampers(attacked), *PATIENT).refuses


def test_a_key_that_is_put_back_wrong_is_told_by_the_hook(attacked: Machine) -> None:
    attacked.start()
    shutil.move(os.path.join(attacked.state, "key"), os.path.join(attacked.state, "elsewhere"))
    told = attacked.hook(_tampers(attacked), *PATIENT)
    assert told.refuses
    assert "key is missing" in told.stdout + told.stderr
