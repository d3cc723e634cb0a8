"""Processes, terminals, privileges: what a contained command cannot reach, become or leave behind."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest

from containment.machine import SECRET, Machine

pytestmark = pytest.mark.sampled


def test_no_process_outside_is_seen(machine: Machine) -> None:
    other = subprocess.Popen(["sleep", "300"])
    try:
        said = machine.run(f"ls /proc | grep -c '^[0-9]'; kill -9 {other.pid}; ls /proc/{other.pid}").stdout
        assert int(said.split()[0]) < 10
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_no_process_outside_is_traced(machine: Machine) -> None:
    program = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
print([libc.ptrace(16, int(pid), None, None) for pid in sys.argv[1:]])
"""
    other = subprocess.Popen(["sleep", "300"])
    try:
        assert machine.python(program, other.pid, contained=False) == "[0]"
        assert machine.python(program, other.pid) == "[-1]"
    finally:
        other.kill()
        other.wait()


PEEK = """
import os, sys
def read(path):
    try:
        return open(path, "rb").read()
    except OSError:
        return b""
def memory(pid):
    try:
        maps = [line.split() for line in open(f"/proc/{pid}/maps")]
        with open(f"/proc/{pid}/mem", "rb", 0) as file:
            for line in maps:
                first, last = (int(number, 16) for number in line[0].split("-"))
                if "r" in line[1] and last < 1 << 62:
                    file.seek(first)
                    try:
                        yield file.read(last - first)
                    except OSError:
                        pass
    except OSError:
        return
others = sys.argv[1:] or [pid for pid in os.listdir("/proc") if pid.isdigit() and int(pid) != os.getpid()]
found = [read(f"/proc/{pid}/environ") for pid in others] + [part for pid in others for part in memory(pid)]
mark = bytes([118, 97, 108, 117, 101]) + b"-of-the-client"
print(len(others) > 0, any(mark in each for each in found))
"""


def test_no_process_inside_has_the_clients_environment(machine: Machine) -> None:
    """What builds a sandbox is started with all of it, credentials too, and stays as the first process."""
    machine.environment["DEPLOY_TOKEN"] = "value-of-the-client"
    assert machine.python(PEEK) == "True False"
    beside = subprocess.Popen(["sleep", "300"], env=machine.environment)
    try:
        assert machine.python(PEEK, beside.pid, contained=False) == "True True", "the control"
    finally:
        beside.kill()
        beside.wait()


SURVIVORS = {
    "in the background": "(while sleep 0.1; do date > alive; done) &",
    "in a session of its own": "setsid sh -c 'while sleep 0.1; do date > alive; done' &",
    "forked twice": "(setsid sh -c '(while sleep 0.1; do date > alive; done) & exit' &)",
    "deaf": "sh -c \"trap '' HUP TERM INT; while sleep 0.1; do date > alive; done\" &",
}


def _is_written(path: Path) -> bool:
    before = path.stat().st_mtime_ns
    time.sleep(0.5)
    return path.stat().st_mtime_ns != before


@pytest.mark.parametrize("survivor", SURVIVORS)
def test_nothing_survives_the_command(machine: Machine, survivor: str) -> None:
    done = machine.run(f"{SURVIVORS[survivor]}\nwhile ! test -s alive; do sleep 0.05; done; exit 4")
    assert done.returncode == 4
    assert not _is_written(machine.project / "alive")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_nothing_survives_the_client(machine: Machine, number: int) -> None:
    """A client ends a command that takes too long, and gives it no time."""
    made = "mkdir -p sub/.github/workflows; echo evil > sub/.github/workflows/x.yml"
    loop = f"{made}; while sleep 0.1; do date > alive; done"
    running = subprocess.Popen(machine.argv(loop), cwd=machine.project, env=machine.environment, start_new_session=True)
    while not (machine.project / "alive").exists():
        assert running.poll() is None
        time.sleep(0.05)
    os.killpg(running.pid, number)
    assert running.wait(10) != 0
    deadline = time.monotonic() + 10
    while (machine.project / "sub/.github").exists():
        assert time.monotonic() < deadline, "what was made is taken out of force all the same"
        time.sleep(0.05)
    while _is_written(machine.project / "alive"):
        assert time.monotonic() < deadline, "it lives on"


def test_there_are_no_privileges(machine: Machine) -> None:
    status = machine.run("cat /proc/self/status").stdout
    facts = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    assert facts["NoNewPrivs"] == "1"
    assert facts["Seccomp"] == "2"
    assert {facts[name] for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")} == {"0" * 16}


def test_a_program_with_another_owners_rights_has_none(machine: Machine) -> None:
    done = machine.run("cp $(command -v cat) mine; chmod 4755 mine; ./mine /proc/self/status | grep -E '^(Uid|CapEff)'")
    uids, capabilities = done.stdout.splitlines()
    assert len(set(uids.split()[1:])) == 1
    assert capabilities.split()[1] == "0" * 16


@pytest.mark.parametrize("flag", ["-U", "-r", "-Urn", "-Urm", "-p", "-n", "-m"])
def test_no_namespaces_inside(machine: Machine, flag: str) -> None:
    assert machine.run(f"unshare {flag} true").returncode != 0


def test_no_keyring(machine: Machine) -> None:
    program = """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
numbers = {"x86_64": (248, 249, 250), "aarch64": (217, 218, 219)}[platform.machine()]
for number in numbers:
    libc.syscall(number, 0, 0, 0, 0, 0)
    print(ctypes.get_errno())
"""
    assert set(machine.python(program).split()) == {"1"}


TYPE = "import fcntl; [fcntl.ioctl(0, 0x5412, bytes([byte])) for byte in b'echo evil > typed\\n']"


def test_nothing_is_typed_into_a_terminal(machine: Machine) -> None:
    file = machine.file("type.py", TYPE)
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(machine.project)
        argv = machine.argv(f"python3 {file}; python3 -c 'open(\"/dev/tty\")'; echo ended")
        os.execve(argv[0], argv, {**machine.environment, "NO_COLOR": "1"})  # tells of errors without marks in the text
    said = b""
    while b"ended" not in said:
        said += os.read(terminal, 4096)
    os.waitpid(pid, 0)
    os.close(terminal)
    assert b"Operation not permitted" in said
    assert b"No such device or address" in said
    assert b"evil" not in said.replace(TYPE.encode(), b"")


def test_no_descriptor_is_inherited(machine: Machine) -> None:
    secret = machine.write(".ssh/id_ed25519")
    folder, file = os.open("/", os.O_RDONLY), os.open(secret, os.O_RDONLY)
    try:
        show = f"cat /proc/self/fd/{file}; cat <&{file}; ls /proc/self/fd/{folder}/"
        done = machine.run(f"{show} 2>/dev/null", pass_fds=(folder, file))
        assert machine.run("ls /proc/self/fd", pass_fds=(folder, file)).stdout.split() == ["0", "1", "2", "3"]
    finally:
        os.close(folder)
        os.close(file)
    assert SECRET not in done.stdout


PIPES = {"in the project": "code/project/pipe", "in the home folder": "player/pipe"}


@pytest.mark.parametrize("place", PIPES)
def test_nobody_reads_at_a_named_pipe(machine: Machine, place: str) -> None:
    """A read-only mount alone does not keep a pipe from being written to."""
    path = machine.home / PIPES[place]
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        machine.outside(f"echo control > {path}")
        assert os.read(reader, 100) == b"control\n"
        machine.run(f"timeout 2 sh -c 'echo the code > {path}'")
        machine.run(f"timeout 2 sh -c 'mv {path} moved && echo the code > moved'")
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)


def test_standard_output_can_be_opened_again(machine: Machine) -> None:
    """Also where the client has led it to a file that the command could not open."""
    for target in ("/dev/stdout", "/dev/stderr", "/proc/self/fd/1", "/dev/fd/2", "/dev/null", "/dev/tty_"):
        with (machine.root / "output").open("w+b") as file:
            subprocess.run(
                machine.argv(f"echo said >> {target} || exit 5"),
                cwd=machine.project,
                env=machine.environment,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
                check=target == "/dev/null" or not target.endswith("_"),
            )
            file.seek(0)
            assert (b"said" in file.read()) == (target[-1] not in "l_")


def test_a_folder_as_standard_input_is_refused(machine: Machine) -> None:
    folder = os.open("/", os.O_RDONLY)
    try:
        done = machine.run("touch made", stdin=folder)
    finally:
        os.close(folder)
    assert done.returncode != 0
    assert not (machine.project / "made").exists()


def test_a_preloaded_library_is_contained_too(machine: Machine) -> None:
    source = '__attribute__((constructor)) static void f(void) { creat("../out", 0644); creat("in", 0644); }\n'
    machine.file("x.c", f"#include <fcntl.h>\n{source}")
    done = machine.run("gcc -shared -fPIC -o x.so x.c && LD_PRELOAD=./x.so /bin/true")
    assert done.returncode == 0, done
    assert (machine.project / "in").exists()
    assert not (machine.project.parent / "out").exists()


def test_the_kernels_settings_stay(machine: Machine) -> None:
    path = Path("/proc/sys/kernel/core_pattern")
    before = path.read_text()
    tries = f"echo {before.strip()!r} > {path} && echo written; echo 1 > /sys/kernel/mm/ksm/run && echo written"
    done = machine.run(f"{tries}; dmesg; hostname evil && hostname")
    assert "written" not in done.stdout
    assert path.read_text() == before
    assert "evil" not in done.stdout
    assert os.uname().nodename != "evil"


def test_no_disk_and_no_memory(machine: Machine) -> None:
    names = machine.run("ls /dev").stdout.split()
    assert not {"sda", "vda", "nvme0n1", "mem", "kmem", "kvm", "fuse", "loop-control", "input"} & set(names)
