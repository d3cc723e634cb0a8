"""System calls and kinds of sockets by which one could get past a sandbox: all of them are refused.

The control runs the same program as the root of namespaces of its own, where each call is known to the kernel and is
refused, if it is, for another reason.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from containment.machine import Machine

PROGRAM = """
import ctypes, json, platform, sys
libc = ctypes.CDLL(None, use_errno=True)
column = {"x86_64": 0, "aarch64": 1}[platform.machine()]
found = {}
for name, (numbers, arguments) in json.load(open(sys.argv[1])).items():
    ctypes.set_errno(0)
    done = libc.syscall(numbers[column], *map(ctypes.c_long, arguments))
    found[name] = ctypes.get_errno() if done < 0 else 0
print(json.dumps(found))
"""
NEW_USER, NEW_NET, NEW_NS = 0x10000000, 0x40000000, 0x00020000
CALLS = {
    # name: numbers on x86-64 and 64-bit ARM (asm/unistd.h), arguments
    "mount": ((165, 40), (0, 0, 0, 0, 0)),
    "umount2": ((166, 39), (0, 0)),
    "pivot_root": ((155, 41), (0, 0)),
    "chroot": ((161, 51), (0,)),
    "setns": ((308, 268), (-1, 0)),
    "unshare, a user": ((272, 97), (NEW_USER,)),
    "unshare, a network": ((272, 97), (NEW_NET,)),
    "unshare, mounts": ((272, 97), (NEW_NS,)),
    "swapon": ((167, 224), (0, 0)),
    "acct": ((163, 89), (0,)),
    "kexec_load": ((246, 104), (0, 0, 0, 0)),
    "kexec_file_load": ((320, 294), (-1, -1, 0, 0, 0)),
    "init_module": ((175, 105), (0, 0, 0)),
    "finit_module": ((313, 273), (-1, 0, 0)),
    "add_key": ((248, 217), (0, 0, 0, 0, 0)),
    "request_key": ((249, 218), (0, 0, 0, 0)),
    "keyctl": ((250, 219), (0, 0, 0, 0, 0)),
    "bpf": ((321, 280), (0, 0, 0)),
    "perf_event_open": ((298, 241), (0, 0, -1, -1, 0)),
    "userfaultfd": ((323, 282), (1,)),
    "open_by_handle_at": ((304, 265), (-1, 0, 0)),
    "open_tree": ((428, 428), (-100, 0, 0)),
    "move_mount": ((429, 429), (-1, 0, -1, 0, 0)),
    "fsopen": ((430, 430), (0, 0)),
    "mount_setattr": ((442, 442), (-1, 0, 0, 0, 0)),
    "io_uring_setup": ((425, 425), (1, 0)),
    "io_uring_enter": ((426, 426), (-1, 0, 0, 0, 0, 0)),
    "io_uring_register": ((427, 427), (-1, 0, 0, 0)),
}
REFUSED = {1, 28, 38}
"""``EPERM``, ``ENOSPC`` (no more namespaces) and ``ENOSYS``."""


@pytest.fixture
def calls(machine: Machine) -> str:
    return str(machine.file("calls.json", json.dumps(CALLS)))


def test_calls_that_change_the_machine_are_refused(machine: Machine, calls: str) -> None:
    found = json.loads(machine.python(PROGRAM, calls))
    assert {name: errno for name, errno in found.items() if errno not in REFUSED} == {}


def test_without_a_sandbox_they_are_not(machine: Machine, calls: str) -> None:
    """The control: no call is refused because the program makes it wrongly."""
    unshare = ("unshare", "--user", "--map-root-user", "--mount", "--net", "--pid", "--fork", "--uts", "--ipc")
    done = subprocess.run(
        [*unshare, sys.executable, "-c", PROGRAM, calls], capture_output=True, text=True, timeout=60, check=True
    )
    found = json.loads(done.stdout)
    privileged = {"swapon", "acct", "kexec_load", "kexec_file_load", "init_module", "finit_module", "open_by_handle_at"}
    # What the machine's administrator forbids to all, here or in CI.
    privileged |= {"bpf", "perf_event_open", "userfaultfd", "io_uring_setup", "io_uring_enter", "io_uring_register"}
    assert {name for name, errno in found.items() if errno in REFUSED} <= privileged


FAMILIES = """
import json, socket, sys
found = {}
for family in range(64):
    for kind in (1, 2, 3, 4, 5):
        for make in (socket.socket, socket.socketpair):
            try:
                make(family, kind, 0)
                found[f"{make.__name__} {family} {kind}"] = 0
            except OSError as error:
                found[f"{make.__name__} {family} {kind}"] = error.errno
print(json.dumps(found))
"""


def test_no_other_family_of_sockets(machine: Machine) -> None:
    """Unix, IPv4, IPv6 and netlink are of the sandbox's own; nothing else is made, and nothing raw."""
    found = json.loads(machine.python(FAMILIES))
    made = {name for name, errno in found.items() if errno == 0}
    own = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
    assert {int(name.split()[1]) for name in made} == {int(family) for family in own}
    assert not {name for name in made if name.endswith(" 3") and not name.endswith(("16 3", " 1 3"))}
    known = json.loads(machine.python(FAMILIES, contained=False))
    assert {name for name, errno in known.items() if errno == 0} > made


@pytest.mark.parametrize("protocol", ["262", "132", "136"], ids=["many paths", "sctp", "udp-lite"])
def test_other_protocols_reach_nobody(machine: Machine, protocol: str) -> None:
    program = """
import socket, sys
for family, address in ((socket.AF_INET, "203.0.113.7"), (socket.AF_INET6, "2001:db8::7")):
    for kind in (1, 2, 5):
        try:
            with socket.socket(family, kind, int(sys.argv[1])) as it:
                it.settimeout(1)
                it.connect((address, 9))
                print("reached")
        except OSError:
            pass
print("ended")
"""
    assert machine.python(program, protocol) == "ended"


SETTINGS = (
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/modprobe",
    "/proc/sys/kernel/hostname",
    "/proc/sys/vm/drop_caches",
    "/proc/sys/net/ipv4/ip_forward",
    "/proc/sysrq-trigger",
    "/proc/1/root/etc/ld.so.preload",
    "/etc/ld.so.preload",
    "/sys/kernel/uevent_helper",
    "/sys/power/state",
    "/sys/fs/cgroup/release_agent",
    "/sys/fs/cgroup/cgroup.procs",
    "/sys/fs/cgroup/notify_on_release",
    "/sys/kernel/debug/x",
)


def test_nothing_is_set_for_the_machine(machine: Machine) -> None:
    """Opening is enough of an answer: nothing is written, here or without a sandbox."""
    program = """
import os, sys
for path in sys.argv[1:]:
    try:
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT if path.startswith(("/etc", "/proc/1")) else os.O_WRONLY))
        print(path)
    except OSError:
        pass
"""
    assert machine.python(program, *SETTINGS) == ""


def test_no_part_of_proc_but_processes_can_be_written_to(machine: Machine) -> None:
    """The machine's root may write there without a capability; an agent in a container is often root."""
    program = """
import os
for folder, names, files in os.walk("/proc"):
    if folder == "/proc":
        names[:] = [name for name in names if not name.isdigit() and name not in ("self", "thread-self", "net")]
    for path in [os.path.join(folder, name) for name in files]:
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_NOFOLLOW))
            print(path)
        except OSError:
            pass
"""
    assert machine.python(program) == ""


def test_no_descriptor_is_handed_over(machine: Machine) -> None:
    """A socket as standard input: what is sent with it arrives nowhere that was not there, and nothing comes in."""
    ours, theirs = socket.socketpair()
    program = machine.file(
        "ask.py",
        "import os, socket\n"
        "it = socket.socket(fileno=os.dup(0))\n"
        "socket.send_fds(it, [b'take'], [os.open('/', os.O_RDONLY)])\n",
    )
    with ours, theirs:
        machine.run(f"{sys.executable} -I {program}", stdin=theirs.fileno())
        data, descriptors, _, _ = socket.recv_fds(ours, 100, 1)
    assert data == b"take"
    # A folder of the sandbox, seen from outside: its way up ends at its own root.
    above = os.open("..", os.O_RDONLY, dir_fd=descriptors[0])
    assert os.path.samestat(os.fstat(above), os.fstat(descriptors[0]))
    for descriptor in (above, *descriptors):
        os.close(descriptor)


@pytest.mark.parametrize("name", ["SIGSTOP", "SIGKILL", "SIGUSR1", "SIGHUP"])
def test_no_signal_gets_out(machine: Machine, name: str) -> None:
    """To a process outside, or to its group."""
    program = """
import os, signal, sys
number = getattr(signal, sys.argv[2])
for send, pid in ((os.kill, int(sys.argv[1])), (os.killpg, int(sys.argv[1]))):
    try:
        send(pid, number)
    except OSError as error:
        assert error.errno == 3, error
print("ended")
"""
    other = subprocess.Popen(["sleep", "300"], start_new_session=True)
    try:
        assert machine.python(program, other.pid, name) == "ended"
        assert other.poll() is None
        assert "State:\tS" in Path(f"/proc/{other.pid}/status").read_text()
    finally:
        other.kill()
        other.wait()
