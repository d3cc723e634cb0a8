"""What commands of one room share, and what they do not; and that nothing outlasts a room."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from containment.machine import Machine
from lockgate.containment import rooms

pytestmark = pytest.mark.sampled

ROOM, OTHER = "ab" * 16, "cd" * 16
SERVE = "python3 -m http.server {port} --bind 127.0.0.1 >/dev/null 2>&1 &"
REACHED = (
    "for i in $(seq 100); do curl -sf http://127.0.0.1:{port}/ >/dev/null && echo reached && exit; sleep 0.05; done"
)


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    """A machine whose home folder does not lie in ``/tmp``: else commands have no ``/tmp`` of their own that stays."""
    root = Path(tempfile.mkdtemp(prefix="lockgate-room-", dir="/var/lib" if os.getuid() == 0 else Path.home()))
    machine = Machine(root, "namespaces", native=True)
    machine.environment["DEPLOY_TOKEN"] = "value-of-the-client"
    try:
        machine.begin()
        yield machine
    finally:
        rooms.end(str(machine.state), [ROOM, OTHER])
        machine.end()
        shutil.rmtree(root, ignore_errors=True)


def run(machine: Machine, text: str, room: str = ROOM) -> subprocess.CompletedProcess[str]:
    """Run a shell's text in a room."""
    done = machine.run(text, options=(f"--room={room}",))
    assert not machine.fell_back
    return done


def begin(machine: Machine, text: str) -> subprocess.Popen[bytes]:
    """Start one, and do not wait."""
    return subprocess.Popen(
        machine.argv(text, options=(f"--room={ROOM}",)), cwd=machine.project, env=machine.environment
    )


def serve(machine: Machine, port: int, room: str = ROOM) -> None:
    """Leave a server running, and wait until it answers."""
    assert run(machine, SERVE.format(port=port), room).returncode == 0
    assert run(machine, REACHED.format(port=port), room).stdout == "reached\n"


def wait_until(holds: Callable[[], bool], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it never comes"
        time.sleep(0.05)


def left(machine: Machine) -> list[str]:
    """Processes on this machine that a command of this test has left: its own, and those in its view of files."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{name}/cmdline").read_bytes().replace(b"\0", b" ")
            folder = os.readlink(f"/proc/{name}/cwd")
            folder += Path(f"/proc/{name}/mountinfo").read_text()
            state = Path(f"/proc/{name}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        here = str(machine.root) in folder or os.fsencode(str(machine.home)) in words
        if state != "Z" and here and (machine.gate is None or int(name) != machine.gate.pid):
            found.append(f"{name} {words!r}")
    return found


# ---------------------------------------------------------------- what is shared
def test_a_server_of_one_call_is_reached_by_the_next(machine: Machine) -> None:
    machine.file("page.html", "written by the project")
    began = time.monotonic()
    assert run(machine, SERVE.format(port=8000)).returncode == 0
    assert time.monotonic() - began < 10, "nobody waits for a server to end"
    run(machine, REACHED.format(port=8000))
    assert run(machine, "curl -s http://localhost:8000/page.html").stdout == "written by the project"


def test_a_server_is_seen_and_ended_by_a_later_call(machine: Machine) -> None:
    serve(machine, 8001)
    assert "http.server" in run(machine, "ps ax -o args").stdout
    assert (
        run(machine, "pkill -f '[h]ttp.server 8001'; sleep 0.2; curl -s localhost:8001 || echo gone").stdout == "gone\n"
    )
    assert run(machine, "echo goes on").stdout == "goes on\n"


def test_temporary_files_are_shared(machine: Machine) -> None:
    run(machine, "echo kept > /tmp/a-file")
    assert run(machine, "cat /tmp/a-file").stdout == "kept\n"
    assert not Path("/tmp/a-file").exists()


@pytest.mark.parametrize("code", [0, 1, 7, 255])
def test_exit_statuses_are_the_commands_own(machine: Machine, code: int) -> None:
    assert run(machine, f"sleep 30 >/dev/null 2>&1 & exit {code}").returncode == code
    assert run(machine, f"exit {code}").returncode == code
    assert run(machine, "kill -TERM $$").returncode == 128 + signal.SIGTERM


def test_output_ends_with_the_command(machine: Machine) -> None:
    """A client that reads to the end waits for the command, and not for what looks after its servers."""
    began = time.monotonic()
    done = run(machine, "sleep 60 >/dev/null 2>&1 & echo out; echo err >&2")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
    assert time.monotonic() - began < 10


def test_the_folder_is_told_though_a_server_goes_on(machine: Machine) -> None:
    machine.file("sub/file")
    argv = machine.argv("cd sub; sleep 60 >/dev/null 2>&1 &", options=(f"--room={ROOM}", "--folder-to=3"))
    inner = " ".join(f"'{word}'" for word in argv)
    text = f'{{ lockgate_folder=$({inner} 3>&1 >&4 4>&-) && cd -- "$lockgate_folder"; }} 4>&1; pwd'
    began = time.monotonic()
    assert machine.outside(text).stdout == f"{machine.project}/sub\n"
    assert time.monotonic() - began < 10


# ---------------------------------------------------------------- what is not
def test_another_room_has_its_own(machine: Machine) -> None:
    serve(machine, 8002)
    run(machine, "echo mine > /tmp/a-file")
    elsewhere = run(machine, "curl -s localhost:8002 || echo unreached; cat /tmp/a-file; ps ax -o args", OTHER)
    assert elsewhere.stdout.startswith("unreached\n")
    assert "No such file" in elsewhere.stderr
    assert "http.server" not in elsewhere.stdout
    serve(machine, 8002, OTHER)


def test_a_command_without_a_room_stands_alone(machine: Machine) -> None:
    serve(machine, 8003)
    alone = machine.run("curl -s localhost:8003 || echo unreached; sleep 60 & echo $!")
    assert alone.stdout.startswith("unreached\n")
    assert not [each for each in left(machine) if "'sleep" in each]


def test_the_host_is_not_reached(machine: Machine) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        assert machine.outside(f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached").stdout == "reached\n"
        assert "reached" not in run(machine, f"exec 3<>/dev/tcp/127.0.0.1/{port} && echo reached").stdout
    assert (
        run(machine, "ip -br link 2>/dev/null | grep -v '^lo ' ; ls /sys/class/net 2>/dev/null; true").returncode == 0
    )


def test_what_may_write_to_git_leaves_nothing(machine: Machine) -> None:
    machine.git()
    assert run(machine, "git status -s; sleep 61 >/dev/null 2>&1 &").returncode == 0
    wait_until(lambda: "sleep 61" not in run(machine, "ps ax -o args | grep -v '[g]rep'").stdout)


@pytest.mark.parametrize("name", ["", "..", "../x", "AB" * 16, "ab" * 15, "ab" * 17, "ab" * 15 + "/."])
def test_no_other_name_is_a_room(machine: Machine, name: str) -> None:
    done = machine.run("echo ran", options=(f"--room={name}",))
    assert done.returncode == 125
    assert done.stdout == ""
    assert not (machine.state / "rooms").exists()


# ---------------------------------------------------------------- places, while only a server is left
def test_what_a_server_makes_later_is_taken_out_of_force(machine: Machine) -> None:
    run(machine, "(while ! test -e go; do sleep 0.05; done; mkdir .vscode; sleep 60) >/dev/null 2>&1 &")
    (machine.project / "go").touch()
    wait_until(lambda: (machine.project / ".vscode.kept-by-lockgate").exists())
    assert not (machine.project / ".vscode").exists()


def test_what_a_server_makes_deep_is_taken_out_of_force_when_it_ends(machine: Machine) -> None:
    run(machine, "(mkdir -p a/b/c/d; while ! test -e go; do sleep 0.05; done; mkdir a/b/c/d/.vscode) >/dev/null 2>&1 &")
    (machine.project / "go").touch()
    wait_until(lambda: (machine.project / "a/b/c/d/.vscode.kept-by-lockgate").exists())


# ---------------------------------------------------------------- the end
def test_a_room_is_listed_and_ended(machine: Machine) -> None:
    serve(machine, 8004)
    (found,) = rooms.find_standing(str(machine.state))
    assert (found.name, found.calls, found.left) == (ROOM, 0, 1)
    assert rooms.end(str(machine.state), [ROOM]) == [ROOM]
    wait_until(lambda: not left(machine))
    assert rooms.find_standing(str(machine.state)) == []
    assert rooms.end(str(machine.state), [ROOM]) == []
    assert run(machine, "curl -s localhost:8004 || echo unreached").stdout == "unreached\n", "the next one is a new one"


def test_a_command_that_is_ended_leaves_the_servers_of_others(machine: Machine) -> None:
    serve(machine, 8005)
    loop = "sleep 62 >/dev/null 2>&1 & (setsid sleep 63 >/dev/null 2>&1 &); touch ready; sleep 64"
    running = begin(machine, loop)
    wait_until((machine.project / "ready").exists)
    running.kill()
    running.wait(10)
    wait_until(lambda: "sleep 6" not in run(machine, "ps ax -o args | grep -v '[g]rep'").stdout)
    assert run(machine, REACHED.format(port=8005)).stdout == "reached\n"


def test_a_command_that_forks_on_is_ended_all_the_same(machine: Machine) -> None:
    program = "import os\nwhile True:\n    if os.fork(): os._exit(0)\n"
    machine.file("jump.py", program)
    running = begin(machine, "python3 jump.py & touch ready; sleep 64")
    wait_until((machine.project / "ready").exists)
    time.sleep(0.2)
    running.kill()
    running.wait(10)
    wait_until(lambda: not [each for each in left(machine) if "jump" in each])


def test_signals_reach_the_command(machine: Machine) -> None:
    loop = "trap 'exit 9' TERM; touch ready; while :; do sleep 0.05; done"
    running = begin(machine, loop)
    wait_until((machine.project / "ready").exists)
    running.terminate()
    assert running.wait(10) == 9


def test_commands_that_begin_at_once_are_in_one_room(machine: Machine) -> None:
    text = "readlink /proc/self/ns/net > net.$N; readlink /proc/self/ns/user > user.$N; sleep 3; exit $N"
    running = [
        subprocess.Popen(
            machine.argv(text, options=(f"--room={ROOM}",)),
            cwd=machine.project,
            env={**machine.environment, "N": str(number)},
        )
        for number in range(12)
    ]
    assert [each.wait(60) for each in running] == list(range(12))
    assert len({(machine.project / f"net.{number}").read_text() for number in range(12)}) == 1
    assert len({(machine.project / f"user.{number}").read_text() for number in range(12)}) == 12


def test_the_state_folder_of_rooms_is_the_persons_alone(machine: Machine) -> None:
    run(machine, "true")
    assert (machine.state / "rooms").stat().st_mode & 0o777 == 0o700
    assert "ab" not in run(machine, f"ls {machine.state} {machine.state}/rooms").stdout


def test_a_folder_of_rooms_that_others_can_use_is_not_used(machine: Machine) -> None:
    (machine.state / "rooms").mkdir()
    (machine.state / "rooms").chmod(0o770)
    assert run(machine, "sleep 60 >/dev/null 2>&1 & echo ran").stdout == "ran\n"
    assert rooms.find_standing(str(machine.state)) == []
    assert not [each for each in left(machine) if "sleep" in each], "it stands alone"


def test_what_is_said_at_a_door_that_is_no_room_is_not_believed(machine: Machine) -> None:
    """Where somebody else listens there, commands stand alone; and the person reads nothing from it."""
    (machine.state / "rooms").mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.getcwd()
        os.chdir(machine.state / "rooms")
        try:
            listening.bind(ROOM)
        finally:
            os.chdir(here)
        listening.listen()
        assert run(machine, "sleep 60 >/dev/null 2>&1 & echo ran").stdout == "ran\n"
        assert json.dumps([each._asdict() for each in rooms.find_standing(str(machine.state))]) == "[]"
