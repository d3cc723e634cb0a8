"""One command of a room against another, against the room, and against other rooms. All of it fails."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from containment.machine import Machine
from containment.test_rooms import OTHER, ROOM, begin, left, run, wait_until
from containment.test_rooms import machine as machine
from lockgate.containment import rooms

MARK = "held-by-another"
VICTIM = f"""
import os, socket, time
held = "{MARK}" * 4
memory = os.memfd_create("held"); os.write(memory, held.encode())
open("/dev/shm/held", "w").write(held)
os.chdir("/dev/shm")
open(os.environ["PROJECT"] + "/victim", "w").write(f"{{os.getpid()}} {{memory}} {{os.getppid()}} {{id(held)}}")
while True:
    time.sleep(0.2)
    if os.path.exists("/dev/shm/held") and open("/dev/shm/held").read() != held or held != "{MARK}" * 4:
        open(os.environ["PROJECT"] + "/changed", "w")
"""
HEAD = """
import array, ctypes, os, signal, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
libc.ptrace.argtypes = [ctypes.c_long] * 4
libc.ptrace.restype = ctypes.c_long
pid, fd, reaper, address = map(int, open("victim").read().split())
L = ctypes.c_long
def call(number, *words):
    done = libc.syscall(L(number), *[word if isinstance(word, (bytes, ctypes.Array)) else L(word) for word in words])
    if done < 0:
        raise OSError(ctypes.get_errno(), "refused")
    return done
def show(path):
    print(open(path, "rb").read(4096))
def got(what="GOT IT"):
    print("GOT IT", what)
"""
READS = {
    name: f"show(f'/proc/{{pid}}/{name}')"
    for name in ("environ", "auxv", "stack", "syscall", "io", "personality", "root/dev/shm/held", "cwd/held", "pagemap")
}
ATTACKS = {
    **{f"read {name}": f"{text}; got()" for name, text in READS.items()},
    "read a descriptor": "show(f'/proc/{pid}/fd/{fd}'); got()",
    "what its descriptors are": "got([os.readlink(f'/proc/{pid}/fd/{n}') for n in os.listdir(f'/proc/{pid}/fd')])",
    "read memory": "f = open(f'/proc/{pid}/mem', 'rb', 0); f.seek(address); print(f.read(200)); got()",
    "write memory": "f = open(f'/proc/{pid}/mem', 'r+b', 0); f.seek(address); f.write(b'x' * 200); got()",
    "read memory of a thread": "f = open(f'/proc/{pid}/task/{pid}/mem', 'rb', 0); f.seek(address); f.read(9); got()",
    "read maps": "print([line for line in open(f'/proc/{pid}/maps')][0]); got()",
    "change a folder through its root": "open(f'/proc/{pid}/root/dev/shm/held', 'w').write('x'); got()",
    "go to its folder": "os.chdir(f'/proc/{pid}/cwd'); print(open('held').read()); got()",
    "attach": "libc.ptrace(16, pid, 0, 0) == 0 and got()",
    "seize": "libc.ptrace(0x4206, pid, 0, 0) == 0 and got()",
    "attach to what looks after it": "libc.ptrace(16, reaper, 0, 0) == 0 and got()",
    "attach to what looks after oneself": "libc.ptrace(16, os.getppid(), 0, 0) == 0 and got()",
    "read what looks after oneself": "show(f'/proc/{os.getppid()}/environ'); got()",
    "attach to the first process": "libc.ptrace(16, 1, 0, 0) == 0 and got()",
    "take a descriptor": "call(438, call(434, pid, 0), fd, 0); got()",
    "take the door": "[call(438, call(434, 1, 0), n, 0) and got() for n in range(3, 40)]",
    "copy from memory": """
buffer = ctypes.create_string_buffer(64)
local = struct.pack("=QQ", ctypes.addressof(buffer), 64); other = struct.pack("=QQ", address, 64)
call(310, pid, local, 1, other, 1, 0); got(buffer.raw)
""",
    "copy into memory": """
buffer = ctypes.create_string_buffer(64)
local = struct.pack("=QQ", ctypes.addressof(buffer), 64); other = struct.pack("=QQ", address, 64)
call(311, pid, local, 1, other, 1, 0); got()
""",
    "compare": "call(312, os.getpid(), pid, 0, 0, fd); got()",
    "advise on memory": "call(440, call(434, pid, 0), struct.pack('=QQ', address & ~4095, 4096), 1, 21, 0); got()",
    **{
        f"enter its {name} namespace": f"call(308, os.open(f'/proc/{{pid}}/ns/{name}', os.O_RDONLY), 0); got()"
        for name in ("mnt", "user", "ipc", "pid", "net")
    },
    "enter by a pidfd": "call(308, call(434, pid, 0), 0x20000); got()",
    "enter the room's user namespace": "call(308, os.open('/proc/1/ns/user', os.O_RDONLY), 0); got()",
    "the first process's files": "got(os.listdir('/proc/1/root'))",
    "the first process's environment": "show('/proc/1/environ'); got()",
    "the first process's descriptors": "got([os.readlink(f'/proc/1/fd/{n}') for n in os.listdir('/proc/1/fd')])",
    "a user namespace": "call(272, 0x10000000); got()",
    "a mount namespace": "call(272, 0x20000); got()",
    "a network of its own": "call(272, 0x40000000); got()",
    "a raw socket": "socket.socket(socket.AF_PACKET, socket.SOCK_RAW); got()",
    "a raw IP socket": "socket.socket(socket.AF_INET, socket.SOCK_RAW, 1); got()",
    "another interface": """
with socket.socket(16, 3, 0) as route:
    name = struct.pack("=HH8s", 12, 3, b"dummy0\\0\\0"); kind = struct.pack("=HH6sxx", 10, 1, b"dummy\\0")
    info = struct.pack("=HH", 4 + len(kind), 18) + kind
    body = struct.pack("=BxHiII", 0, 0, 0, 0, 0) + name + info
    route.send(struct.pack("=IHHII", 16 + len(body), 16, 0x605, 1, 0) + body)
    answer = route.recv(4096)
    struct.unpack_from("=i", answer, 16)[0] == 0 and got()
""",
    "take loopback down": """
import fcntl
with socket.socket() as s: fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0)); got()
""",
    "the kernel's settings": "open('/proc/sys/net/ipv4/ip_forward', 'w').write('1'); got()",
    "more namespaces": "open('/proc/sys/user/max_user_namespaces', 'w').write('100'); got()",
    "names of the host's processes": "[got(p) for p in os.listdir('/proc') if p.isdigit() and b'resident' in "
    "open(f'/proc/{p}/cmdline','rb').read()]",
    "the host's abstract sockets": "s = socket.socket(socket.AF_UNIX); s.connect('\\0held-outside'); got()",
    "the doors": "got(os.listdir(os.environ['STATE'] + '/rooms'))",
    "end the first process": "os.kill(1, 9); import time; time.sleep(0.3); os.kill(1, 0); print('it stands')",
}


@pytest.fixture
def attacked(machine: Machine) -> Iterator[Machine]:
    """A machine with a process that one command has left in the room."""
    machine.environment |= {"PROJECT": str(machine.project), "STATE": str(machine.state)}
    machine.file("victim.py", VICTIM)
    assert run(machine, f"HELD={MARK} python3 victim.py >/dev/null 2>&1 &").returncode == 0
    wait_until((machine.project / "victim").exists)
    yield machine
    assert not (machine.project / "changed").exists()


def test_no_command_reads_or_changes_another(attacked: Machine) -> None:
    """Each attack in a command of its own; the same beside the victim, outside of any sandbox, is the control."""
    came = []
    for name, text in ATTACKS.items():
        attacked.file("attack.py", HEAD + text)
        said = run(attacked, "python3 attack.py").stdout
        if "GOT IT" in said or MARK in said:
            came.append((name, said[:200]))
    assert came == []
    (found,) = rooms.find_standing(str(attacked.state))
    assert found.left == 1, "the victim stands"


def test_the_same_outside_of_a_room_gets_it(attacked: Machine) -> None:
    """The control: against a process of the same user that nothing parts from it."""
    (attacked.project / "victim").unlink()
    environment = {**attacked.environment, "HELD": MARK}
    victim = subprocess.Popen(["python3", "victim.py"], cwd=attacked.project, env=environment)
    try:
        wait_until((attacked.project / "victim").exists)
        time.sleep(0.2)
        for name in ("read environ", "read memory", "attach", "copy from memory", "read a descriptor", "read cwd/held"):
            attacked.file("attack.py", HEAD + ATTACKS[name])
            assert "GOT IT" in attacked.outside("python3 attack.py").stdout, name
    finally:
        victim.kill()
        victim.wait()
        Path("/dev/shm/held").unlink(missing_ok=True)


def test_whoever_ends_all_it_can_ends_its_own_room_alone(machine: Machine) -> None:
    run(machine, "sleep 71 >/dev/null 2>&1 &", OTHER)
    assert run(machine, "sleep 72 >/dev/null 2>&1 & kill -9 -1").returncode != 0
    wait_until(lambda: [each.name for each in rooms.find_standing(str(machine.state))] == [OTHER])
    assert len([each for each in left(machine) if "b'sleep 71" in each]) == 1
    assert not [each for each in left(machine) if "sleep 72" in each]


def test_what_looks_after_a_command_cannot_be_stopped_to_outlast_it(machine: Machine) -> None:
    """A command stops what looks after it, and leaves something: its client ends it, and all of it ends."""
    running = begin(machine, "setsid sleep 73 >/dev/null 2>&1 & kill -STOP $PPID; touch ready; sleep 74")
    wait_until((machine.project / "ready").exists)
    running.kill()
    running.wait(10)
    wait_until(lambda: not [each for each in left(machine) if "sleep 7" in each])


def test_what_looks_after_a_command_cannot_be_ended_to_outlast_it(machine: Machine) -> None:
    done = run(machine, "setsid sleep 75 >/dev/null 2>&1 & sleep 0.2; kill -9 $PPID; sleep 76")
    assert done.returncode != 0
    wait_until(lambda: not [each for each in left(machine) if "sleep 7" in each])


HOLDS = """
import os, socket, time
listening = socket.socket(socket.AF_UNIX); listening.bind("/tmp/held"); listening.listen(); open("ready", "w")
connection = listening.accept()[0]
folder = socket.recv_fds(connection, 10, 1)[1][0]
connection.close()
while not os.path.exists("ended"): time.sleep(0.05)
for name in (".git/config", ".vscode/tasks.json"):
    try:
        os.write(os.open(name, os.O_WRONLY | os.O_APPEND, dir_fd=folder), b"# evil\\n")
    except OSError as error:
        open("refused", "a").write(f"{error.errno} ")
open("done", "w")
"""
GIVES = """
import os, socket
giving = socket.socket(socket.AF_UNIX); giving.connect("/tmp/held")
socket.send_fds(giving, [b"x"], [os.open(".", os.O_PATH | os.O_DIRECTORY)]); giving.recv(1)
"""


@pytest.mark.parametrize("how", ["in a room", "alone", "alone, by the Python program"])
def test_a_folder_that_another_command_gave_away_stays_protected(machine: Machine, how: str) -> None:
    """A mount namespace goes with its last process, and what covered something in it must not go before."""
    machine.git()
    before = machine.file(".vscode/tasks.json", "{}\n").read_text(), (machine.project / ".git/config").read_text()
    machine.file("holds.py", HOLDS)
    machine.file("gives.py", GIVES)
    options = (f"--room={ROOM}",) if how == "in a room" else ()
    machine.native = "Python" not in how
    holding = subprocess.Popen(
        machine.argv("python3 holds.py", options=options), cwd=machine.project, env=machine.environment
    )
    wait_until((machine.project / "ready").exists)
    assert machine.run("python3 gives.py", options=options).returncode == 0
    time.sleep(0.5)
    (machine.project / "ended").touch()
    assert holding.wait(20) == 0
    assert (machine.project / "refused").read_text() == "30 30 ", "read-only"
    assert (
        (machine.project / ".vscode/tasks.json").read_text(),
        (machine.project / ".git/config").read_text(),
    ) == before
