"""How a gate comes up and ends, with whatever happens to its files meanwhile."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lockgate
from adapters.payloads import tool
from lockgate.clients.hook import replace_resident
from lockgate.clients.hook import start_resident as starting
from lockgate.clients.hook.start_resident import FLAGS
from lockgate.clients.wire import resident_control as control
from lockgate.clients.wire import resident_files as places
from lockgate.clients.wire.resident_files import connect, run_folder
from lockgate.service.resident.process import AGAIN, Listening
from lockgate.store.files import DATABASE
from lockgate.system.folders import Folders
from support import steady
from support.prepared import give_state

from .machine import PATIENT, Machine

pytestmark = pytest.mark.sampled

PUSH = tool("PreToolUse", tool_input={"command": "git push https://git.example.com/x.git"})
READ = tool("PostToolUse", "WebFetch", {"url": "https://example.org/"}, tool_response={"result": "text", "code": 200})


def calls(machine: Machine) -> list[str]:
    return [body["call"] for body in machine.audit() if "verdict" in body]


def numbered(number: int, event: dict[str, Any] = PUSH) -> dict[str, Any]:
    return {**event, "tool_use_id": f"toolu_{number:03d}"}


def test_the_first_hook_starts_one_and_the_next_asks_it(machine: Machine) -> None:
    machine.hook(numbered(1))
    machine.comes_up()
    machine.hook(numbered(2))
    assert machine.facts["answered"] == 1
    assert calls(machine) == ["toolu_001", "toolu_002"]


def test_thirty_first_hooks_start_one(machine: Machine) -> None:
    with ThreadPoolExecutor(30) as crowd:
        told = list(crowd.map(lambda number: machine.hook(numbered(number), *PATIENT), range(30)))
    machine.comes_up()
    machine.until(lambda: len(machine.gates()) == 1, "one gate to be left")
    # On a machine that is busy with other things a hook may run out of time; then it refuses.
    late = {f"toolu_{number:03d}" for number, one in enumerate(told) if one.code}
    assert all(one.refuses and "took longer" in one.stderr for one in told if one.code)
    assert len(late) < 30
    assert {f"toolu_{number:03d}" for number in range(30)} - late <= set(calls(machine))
    assert machine.verified().ok


@pytest.fixture
def launched(monkeypatch: pytest.MonkeyPatch) -> list[Folders]:
    """Notes who would start a gate."""
    found: list[Folders] = []
    monkeypatch.setattr(starting, "launch", lambda where, _: found.append(where))
    monkeypatch.setattr(starting, "ARRIVAL_SECONDS", 0.3)
    monkeypatch.setattr(starting, "LOCK_SECONDS", 0.1)
    return found


def test_of_many_first_hooks_one_starts_a_gate(machine: Machine, launched: list[Folders]) -> None:
    with ThreadPoolExecutor(20) as crowd:
        told = list(crowd.map(lambda _: starting.join_gate(machine.where, sys.executable), range(20)))
    assert launched == [machine.where]
    assert told == [False] * 20  # nothing came up


def test_who_comes_second_waits_for_the_gate(machine: Machine, launched: list[Folders]) -> None:
    gate = Listening(machine.where, 0)
    assert gate.take_turn()
    assert not starting.join_gate(machine.where, sys.executable)  # it does not listen
    with gate.begin():
        assert starting.join_gate(machine.where, sys.executable)
    gate.end()
    assert launched == []


def test_who_looks_waits_for_a_gate_that_has_begun(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = threading.Event()
    locked = places.is_held
    monkeypatch.setattr(places, "is_held", lambda state: (tried.set(), locked(state))[1])
    gate = Listening(machine.where, 0)
    assert gate.take_turn()
    with ThreadPoolExecutor(1) as other:
        looking = other.submit(connect, machine.state, time.monotonic() + 20)
        assert tried.wait(20)
        with gate.begin():
            connection, at_once = looking.result()
            connection.close()
    assert not at_once
    gate.end()


@pytest.mark.parametrize("folder", ["short", "long" * 25], ids=["short", "long"])
def test_a_gate_is_found_without_moving_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str) -> None:
    """The working folder is that of all threads, and a socket's path must be short."""
    machine = Machine(tmp_path / folder)
    try:
        machine.start()
        pid = machine.facts["pid"]
        for move in ("chdir", "fchdir"):
            monkeypatch.setattr(os, move, lambda _: pytest.fail("somebody else's working folder was changed"))
        monkeypatch.setattr(replace_resident, "PACKAGE_FOLDER", os.fspath(steady.package()))
        assert control.look(machine.state).facts["pid"] == pid
        assert not starting.join_gate(machine.where, sys.executable, missed=False), "it was asked already"
        assert starting.join_gate(machine.where, sys.executable), "it has come up since"
        assert control.stop_gate(machine.state)
    finally:
        machine.end()


def test_no_other_process_has_it_run_code() -> None:
    """What PEP 768 brought, from 3.14 on; older interpreters take the flag without a word."""
    program = "import sys; print(getattr(sys, 'is_remote_debug_enabled', lambda: False)())"
    done = subprocess.run([sys.executable, *FLAGS, "-c", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_of_two_one_listens(machine: Machine) -> None:
    gates = [machine.start(wait=False) for _ in range(4)]
    pid = machine.comes_up()["pid"]
    assert [gate.wait(30) for gate in gates if gate.pid != pid] == [0, 0, 0]
    assert machine.facts["pid"] == pid


def test_switched_off(machine: Machine) -> None:
    machine.hook(numbered(1), LOCKGATE_RESIDENT="off")
    assert not os.path.exists(run_folder(machine.state))
    machine.start()
    machine.hook(numbered(2), LOCKGATE_RESIDENT="off")
    assert machine.facts["answered"] == 0


def test_it_ends_when_nobody_asks(machine: Machine) -> None:
    gate = machine.start("--idle", "0.5")
    assert gate.wait(30) == 0
    assert os.listdir(run_folder(machine.state)) == ["gate.lock"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_it_ends_by_a_signal(served: Machine, number: int) -> None:
    (pid,) = served.gates()
    os.kill(pid, number)
    served.until(lambda: not control.look(served.state).runs, "the gate to end")
    assert served.hook(numbered(1)).code == 0
    assert calls(served) == ["toolu_001"]


def _remove(path: str) -> None:
    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


@pytest.mark.parametrize("what", ["run/gate.sock", "run", "", DATABASE, "key"])
def test_its_files_are_removed(machine: Machine, what: str) -> None:
    """It cannot go on, and must not go on writing into what nobody will read."""
    gate = machine.start()
    machine.hook(numbered(1, READ))
    _remove(os.path.join(machine.state, what))
    if what == "key":
        assert machine.hook(numbered(2)).code == 2
        return
    assert gate.wait(30) == AGAIN
    give_state(Path(machine.state))
    assert machine.hook(numbered(3)).code == 0
    assert "toolu_003" in calls(machine)


def test_a_database_that_was_replaced(machine: Machine) -> None:
    """By a copy, as from a backup: what the gate writes into the old one would be lost."""
    gate = machine.start()
    machine.hook(numbered(1, READ))
    machine.until(lambda: machine.facts["answered"] == 1, "the answer")
    for name in (DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm"):
        path = os.path.join(machine.state, name)
        shutil.copy(path, f"{path}.copy")
        os.replace(f"{path}.copy", path)
    assert machine.hook(numbered(2)).refuses, "the label is there"
    assert "toolu_002" in calls(machine)
    assert gate.wait(30) == AGAIN


def test_a_store_that_moved_elsewhere(machine: Machine) -> None:
    """Another program has put the state into a shared database: nothing may be written here any more."""
    gate = machine.start()
    Path(machine.state, "store.json").write_text("{}")
    assert machine.hook(numbered(1)).code == 2
    assert gate.wait(30) == AGAIN
    os.unlink(os.path.join(machine.state, "store.json"))
    assert calls(machine) == []


def test_a_stale_socket(machine: Machine) -> None:
    machine.start().kill()
    machine.until(lambda: not machine.gates(), "it to be gone")
    assert os.path.exists(os.path.join(run_folder(machine.state), "gate.sock"))
    assert machine.hook(numbered(1), *PATIENT).code == 0
    machine.comes_up()
    machine.hook(numbered(2))
    assert machine.facts["answered"] == 1


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o755])
def test_a_folder_that_others_can_use(machine: Machine, mode: int) -> None:
    folder = run_folder(machine.state)
    os.mkdir(folder, 0o700)
    os.chmod(folder, mode)
    gate = machine.start(wait=False)
    if mode == 0o755:  # only to be read: made tighter
        machine.comes_up()
        assert os.stat(folder).st_mode & 0o777 == 0o700
    else:
        assert gate.wait(30) == 1
    assert machine.hook(numbered(1), *PATIENT).code == 0


def test_a_folder_that_is_a_link(machine: Machine) -> None:
    elsewhere = machine.root / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    os.symlink(elsewhere, run_folder(machine.state))
    assert machine.start(wait=False).wait(30) == 1
    assert machine.hook(numbered(1)).code == 0
    assert os.listdir(elsewhere) == []


def test_code_that_is_replaced_under_a_running_gate(machine: Machine) -> None:
    """No call is lost: hooks decide by themselves until a gate of the new code is there."""
    package = machine.root / "library" / "lockgate"
    source = Path(lockgate.__file__).parent
    shutil.copytree(source, package, ignore=shutil.ignore_patterns("__pycache__", "static"))
    gate = machine.start(program=str(package / "service" / "resident" / "process.py"))
    hook = [sys.executable, "-I", "-S", str(package / "hook.py"), *machine.words()]

    def asked(number: int) -> int:
        data = bytes(machine.request(numbered(number)).partition(b"\0{")[2])
        done = subprocess.run(hook, input=b"{" + data, env=machine.environment, capture_output=True, timeout=30)
        return done.returncode

    assert asked(1) == 0
    assert machine.facts["answered"] == 1
    version = package / "core" / "version.py"
    version.write_text(version.read_text() + "\n")
    (package / "build").write_text("99.0\n\n\n")
    assert gate.wait(30) == AGAIN
    assert asked(2) == 0
    Path(run_folder(machine.state), "started").unlink(missing_ok=True)
    assert asked(3) == 0
    assert machine.comes_up()["version"] == "99.0"
    assert asked(4) == 0
    assert machine.facts["answered"] in (1, 2)  # the third may have found it already
    assert calls(machine) == [f"toolu_00{number}" for number in (1, 2, 3, 4)]


def test_a_gate_that_cannot_come_up_is_not_tried_at_each_hook(machine: Machine) -> None:
    folder = run_folder(machine.state)
    os.mkdir(folder, 0o700)
    os.mkdir(os.path.join(folder, "gate.lock"))
    machine.hook(numbered(1))
    machine.until(lambda: "gate IsADirectoryError" in _log(machine), "it to fail")
    for number in range(2, 5):
        assert machine.hook(numbered(number)).code == 0
    time.sleep(0.3)
    assert _log(machine).count("gate IsADirectoryError") == 1


@pytest.mark.parametrize("ahead", [3600.0, -3600.0])
def test_a_clock_that_was_set(machine: Machine, ahead: float) -> None:
    """The mark of the last start is of a time that never was: it keeps no gate from being started."""
    folder = Path(run_folder(machine.state))
    folder.mkdir(mode=0o700)
    (folder / "started").touch()
    os.utime(folder / "started", (time.time() + ahead, time.time() + ahead))
    machine.hook(numbered(1))
    machine.comes_up()


def _log(machine: Machine) -> str:
    log = Path(machine.state, "hook.log")
    return log.read_text() if log.exists() else ""
