"""Waiting processes are woken by any length of path, and sockets of dead ones are removed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from lockgate.gate.approvals import wakeups
from lockgate.gate.approvals.wakeups import WakeupSocket

LONG = 30.0
"""Seconds after which a test would fail: nothing waits that long that is woken."""


@pytest.fixture(params=["short", "long"])
def state(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """A state folder, also one with a path that no socket can have."""
    folder = tmp_path / "state" if request.param == "short" else tmp_path / ("x" * 100) / "state"
    folder.mkdir(parents=True, mode=0o700)
    return str(folder)


def _files(state: str) -> list[str]:
    return sorted(os.listdir(Path(state) / wakeups.FOLDER))


def _silent(wakeup: WakeupSocket) -> bool:
    assert wakeup.socket is not None
    wakeup.socket.setblocking(False)
    try:
        wakeup.socket.recv(1)
    except BlockingIOError:
        return True
    return False


def test_all_of_a_name_are_woken_and_no_other(state: str) -> None:
    with WakeupSocket(state, "a") as first, WakeupSocket(state, "a") as second, WakeupSocket(state, "ab") as other:
        assert wakeups.wake(state, "a") == 2
        began = time.monotonic()
        first.wait(LONG)
        second.wait(LONG)
        assert time.monotonic() - began < LONG
        assert _silent(other)


def test_one_that_waits_is_woken_by_another_thread(state: str) -> None:
    with WakeupSocket(state, "a") as wakeup:
        threading.Timer(0.05, wakeups.wake, (state, "a")).start()
        began = time.monotonic()
        wakeup.wait(LONG)
        assert time.monotonic() - began < LONG


def test_rung_often_is_heard_once(state: str) -> None:
    with WakeupSocket(state, "a") as wakeup:
        for _ in range(2000):  # more than a socket keeps
            assert wakeups.wake(state, "a") == 1
        wakeup.wait(LONG)
        assert _silent(wakeup)


def test_nothing_is_left_behind(state: str) -> None:
    assert not wakeups.is_waited_for(state, "a")
    with WakeupSocket(state, "a"):
        assert wakeups.is_waited_for(state, "a")
        assert stat.S_IMODE((Path(state) / wakeups.FOLDER).stat().st_mode) == 0o700
    assert not wakeups.is_waited_for(state, "a")
    assert _files(state) == []


def test_the_bell_of_a_dead_process_is_taken_down(state: str) -> None:
    program = """import sys, time
from lockgate.gate.approvals.wakeups import WakeupSocket
with WakeupSocket(sys.argv[1], "a"):
    print(flush=True)
    time.sleep(60)
"""
    with subprocess.Popen([sys.executable, "-c", program, state], stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert wakeups.is_waited_for(state, "a")
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert len(_files(state)) == 1
    assert wakeups.wake(state, "a") == 0
    assert _files(state) == []


def test_sockets_of_dead_processes_do_not_gather(state: str) -> None:
    program = """import os, sys
from lockgate.gate.approvals.wakeups import WakeupSocket
for number in range(50):
    WakeupSocket(sys.argv[1], f"dead{number}").__enter__().socket.detach()
os._exit(0)
"""
    with WakeupSocket(state, "alive") as alive:
        subprocess.run([sys.executable, "-c", program, state], check=True)
        assert len(_files(state)) > 20
        for _ in range(8):
            with WakeupSocket(state, "new"):
                pass
        assert len(_files(state)) == 1
        assert wakeups.wake(state, "alive") == 1
        alive.wait(LONG)


def test_what_is_no_socket_is_neither_rung_nor_removed(state: str) -> None:
    folder = Path(state) / wakeups.FOLDER
    folder.mkdir(mode=0o700)
    (folder / "a.file").write_text("")
    (folder / "a.link").symlink_to("/dev/null")
    os.mkfifo(folder / "a.pipe")
    assert wakeups.wake(state, "a") == 0
    assert len(_files(state)) == 3


@pytest.mark.parametrize("harm", ["readable", "file", "link"])
def test_where_none_can_hang_waiting_still_ends(state: str, tmp_path: Path, harm: str) -> None:
    folder = Path(state) / wakeups.FOLDER
    if harm == "file":
        folder.write_text("")
    elif harm == "link":
        (tmp_path / "elsewhere").mkdir(mode=0o700)
        folder.symlink_to(tmp_path / "elsewhere")
    else:
        folder.mkdir(mode=0o700)
        folder.chmod(0o755)
    with WakeupSocket(state, "a") as wakeup:
        assert wakeup.socket is None
        assert wakeups.wake(state, "a") == 0
        wakeup.wait(0.01)


def test_without_a_free_descriptor_somebody_may_wait(state: str) -> None:
    import resource

    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    with WakeupSocket(state, "a"):
        free = os.dup(0)
        os.close(free)
        resource.setrlimit(resource.RLIMIT_NOFILE, (free, before[1]))
        try:
            assert wakeups.is_waited_for(state, "a")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, before)
        assert wakeups.is_waited_for(state, "a")
    assert not wakeups.is_waited_for(state, "a")
