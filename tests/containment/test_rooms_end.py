"""When a room ends by itself, and that nothing is left of it whoever was killed, at whatever moment."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from containment.machine import Machine
from containment.test_rooms import ROOM, left, run, serve, wait_until
from containment.test_rooms import machine as machine
from lockgate.containment import rooms
from native.conftest import compiling

IDLE = 1.5
COMMANDS = int(os.environ.get("ROOM_COMMANDS", "60"))
MOMENTS = int(os.environ.get("ROOM_MOMENTS", "6"))
"""``ROOM_COMMANDS=1000 ROOM_MOMENTS=20`` for the whole."""


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The launcher, with rooms that end after a second and a half instead of half an hour."""
    made = tmp_path_factory.mktemp("hasty") / "lockgate-contain"
    assert compiling.built(made, compiling.LAUNCHER_PARTS, (f"-DROOM_IDLE_MS={int(IDLE * 1000)}",)) == ""
    return str(made)


def argv(machine: Machine, text: str, launcher: str) -> list[str]:
    return [launcher, *machine.argv(text, options=(f"--room={ROOM}",))[1:]]


def by_client(machine: Machine, text: str, launcher: str, after: float = 0) -> subprocess.Popen[bytes]:
    """Run a command as the child of a client, which goes on for a while after it."""
    program = "import subprocess, sys, time; subprocess.run(sys.argv[2:], check=False); time.sleep(float(sys.argv[1]))"
    words = [sys.executable, "-c", program, str(after), *argv(machine, text, launcher)]
    return subprocess.Popen(words, cwd=machine.project, env=machine.environment, stdin=subprocess.DEVNULL)


def stands(machine: Machine) -> bool:
    return bool(rooms.find_standing(str(machine.state)))


def test_a_room_with_nothing_in_it_ends(machine: Machine, hasty: str) -> None:
    client = by_client(machine, "true", hasty, after=60)
    try:
        wait_until(lambda: stands(machine))
        wait_until(lambda: not stands(machine))
    finally:
        client.kill()
        client.wait()


def test_a_room_whose_client_is_gone_ends_with_what_is_in_it(machine: Machine, hasty: str) -> None:
    assert by_client(machine, "sleep 81 >/dev/null 2>&1 &", hasty).wait(20) == 0
    assert stands(machine)
    wait_until(lambda: not stands(machine))
    wait_until(lambda: not left(machine))


def test_a_server_stays_while_the_client_does(machine: Machine, hasty: str) -> None:
    client = by_client(machine, "sleep 82 >/dev/null 2>&1 &", hasty, after=60)
    try:
        wait_until(lambda: [each.left for each in rooms.find_standing(str(machine.state))] == [1])
        time.sleep(2.5 * IDLE)
        assert stands(machine)
    finally:
        client.kill()
        client.wait()
    wait_until(lambda: not stands(machine))
    wait_until(lambda: not left(machine))


def test_a_command_that_takes_longer_is_not_ended(machine: Machine, hasty: str) -> None:
    assert by_client(machine, f"sleep {3 * IDLE}; touch done", hasty).wait(30) == 0
    assert (machine.project / "done").exists()


# ---------------------------------------------------------------- kills
def mounts() -> str:
    return Path("/proc/self/mountinfo").read_text()


OTHERS = tuple(f"lockgate-{name}" for name in ("tests", "sdk-", "explain-", "demo-", "bench-"))


def temporary() -> set[str]:
    """Names in the real ``/tmp``, but for those of other tests that run at the same time."""
    names = os.listdir("/tmp")
    return {name for name in names if "lockgate" in name and not name.startswith(OTHERS)}


TEXT = "(setsid sleep 83 >/dev/null 2>&1 &); sleep 84 >/dev/null 2>&1 & mkdir -p .vscode 2>/dev/null; sleep $T"


def launchers(machine: Machine) -> list[int]:
    return machine.launchers(b"--room=", without=b"import subprocess")


@pytest.mark.parametrize("whom", ["launcher", "supervisor", "all of them", "gate", "client"])
def test_whoever_is_killed_leaves_nothing(machine: Machine, hasty: str, whom: str) -> None:
    before = mounts(), temporary()
    chance = random.Random(whom)
    for number in range(MOMENTS):
        machine.environment["T"] = f"{chance.uniform(0, 0.3):.3f}"
        client = by_client(machine, TEXT, hasty)
        time.sleep(chance.uniform(0, 0.5))
        ours = launchers(machine)
        leads = [pid for pid in ours if os.path.exists(f"/proc/{pid}") and _parent(pid) == client.pid]
        victims = {
            "launcher": leads,
            "supervisor": [pid for pid in ours if pid not in leads][-1:],
            "all of them": ours,
            "client": [client.pid],
            "gate": [machine.gate.pid] if machine.gate is not None and number == 0 else [],
        }[whom]
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        client.wait(30)
    wait_until(lambda: not stands(machine), 30)
    wait_until(lambda: not left(machine), 30)
    assert (mounts(), temporary()) == before
    assert not (machine.project / ".vscode").exists()


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def test_after_many_commands_nothing_is_left(machine: Machine) -> None:
    before = mounts(), temporary()
    serve(machine, 8031)
    for number in range(COMMANDS):
        assert run(machine, f"curl -sf 127.0.0.1:8031/ >/dev/null && exit {number % 9}").returncode == number % 9
    (found,) = rooms.find_standing(str(machine.state))
    assert (found.calls, found.left) == (0, 1)
    assert len([each for each in left(machine) if "b'python3 -m http.server" in each]) == 1
    rooms.end(str(machine.state), [ROOM])
    wait_until(lambda: not left(machine))
    assert (mounts(), temporary()) == before
    assert sorted(path.name for path in machine.project.iterdir()) == []
