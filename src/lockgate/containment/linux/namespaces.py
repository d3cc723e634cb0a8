"""Builds a plan with the kernel's own calls, on a machine without bubblewrap. Linux 5.12 or newer.

Three processes: the *outer* one makes the namespaces and waits; the *first* one inside builds the file system, gives up
every privilege and waits for the third, which becomes the command. When the first ends, the kernel ends all others.
See user_namespaces(7), pid_namespaces(7), pivot_root(2), mount_setattr(2), capabilities(7).
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import sys
from typing import NoReturn

from lockgate.containment.linux.landlock import execute, restrict
from lockgate.containment.linux.proc import settings
from lockgate.containment.plan import DEVICES, EMPTY, PROCESSES, QUEUES, READ_ONLY, SHARED, Mount, Plan

_NEW = 0x10000000 | 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
"""``CLONE_NEW...``: user, mount, pid, net, ipc, uts, cgroup."""
_NEW_BELOW = 0x10000000 | 0x00020000
"""User and mount."""
_BIND, _RECURSIVE, _PRIVATE = 4096, 16384, 1 << 18
_NO_SETUID, _NO_DEVICES, _NO_PROGRAMS = 2, 4, 8
_DETACH = 2
_MOUNT_SETATTR, _AT_RECURSIVE, _AT_FDCWD = 442, 0x8000, -100
_SET_READ_ONLY, _SET_NO_SETUID, _SET_NO_DEVICES = 1, 2, 4
_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
_DEATH_SIGNAL, _DUMPABLE, _DROP_BOUNDING, _SECCOMP, _NO_NEW_PRIVILEGES, _AMBIENT = 1, 4, 24, 22, 38, 47
_CAPABILITIES = 0x20080522  # _LINUX_CAPABILITY_VERSION_3
_BASE = "/tmp"  # noqa: S108 - any folder that is there: a file system in memory covers it at once
_STANDS = b"\0"
"""What the first process tells once the command is forked. It tells a text of what went wrong instead."""
_MOST_COMPLAINT = 1000
_NODES = ("null", "zero", "full", "random", "urandom", "tty")

_libc = ctypes.CDLL(None, use_errno=True)


def become(plan: Plan, calls: bytes, status: int, keep: tuple[int, ...]) -> NoReturn:
    """Build the sandbox and wait for the command; this process ends as the command ended. Call it in a fresh process.

    Args:
        plan: The sandbox.
        calls: The filter of system calls.
        status: Where the first process's number is written once the sandbox stands, or why not, as a line of JSON.
        keep: Descriptors from 3 on that the command gets.
    """
    _check(_libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0), "die with the parent")
    user, group = os.getuid(), os.getgid()
    _check(_libc.unshare(_NEW), "make namespaces")
    _map_user(user, group)
    ready, stands = os.pipe()
    first = os.fork()
    if first == 0:
        os.close(ready)
        _be_first(plan, calls, stands, (status,), keep)
    os.close(stands)
    told = os.read(ready, _MOST_COMPLAINT)
    if told:
        line = {"child-pid": first} if told == _STANDS else {"problem": told.decode("utf-8", "replace")}
        os.write(status, (json.dumps(line) + "\n").encode())
    ended = os.waitstatus_to_exitcode(os.waitpid(first, 0)[1])
    os._exit(128 - ended if ended < 0 else ended)


def _be_first(plan: Plan, calls: bytes, stands: int, close: tuple[int, ...], keep: tuple[int, ...]) -> NoReturn:
    try:
        _check(_libc.prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0), "die with the parent")
        for descriptor in close:
            os.close(descriptor)
        _confine(plan, calls)
        command = os.fork()
        if command == 0:
            os.close(stands)
            os.setsid()
            os.chdir(plan.cwd)
            execute(plan.command, plan.environment)
        os.write(stands, _STANDS)
        os.close(stands)
        for descriptor in (0, 1, 2, *keep):
            os.close(descriptor)
        os._exit(_wait_for(command))
    except BaseException as error:  # noqa: BLE001 - the outer process tells that nothing was run
        _complain(stands, str(error))
        os._exit(125)


def _confine(plan: Plan, calls: bytes) -> None:
    """Take from this process, and all that it starts, whatever the plan does not give them."""
    _bring_up_loopback()
    user, group = os.getuid(), os.getgid()
    _build(plan.mounts)
    # Below the one that the mounts were made in, they are locked to each other: through a descriptor of a folder
    # that another command was given, what is read-only or hidden below it stays so when this command has ended.
    _check(_libc.unshare(_NEW_BELOW), "part the command from others")
    _map_user(user, group)
    _write("/proc/sys/user/max_user_namespaces", "0")
    for path in settings():
        _cover(path)
    _drop_privileges()
    # This process has the whole environment of the client in its memory: that is nobody's to read.
    _check(_libc.prctl(_DUMPABLE, 0, 0, 0, 0), "hide the memory of the first process")
    restrict(plan.writable)
    _install_filter(calls)


def _complain(stands: int, why: str) -> None:
    """Tell the outer process what went wrong, or the person where the command's own process does not get on."""
    try:
        os.write(stands, why.encode("utf-8", "backslashreplace")[:_MOST_COMPLAINT])
    except OSError:
        os.write(2, f"lockgate: {why}\n".encode("utf-8", "backslashreplace"))


def _wait_for(command: int) -> int:
    """Reap every process that is left to the first one, until the command has ended."""
    while True:
        pid, how = os.wait()
        if pid == command:
            ended = os.waitstatus_to_exitcode(how)
            return 128 - ended if ended < 0 else ended


# ---------------------------------------------------------------- the file system
def _build(mounts: tuple[Mount, ...]) -> None:
    """Build the file system beside the old one, and change to it for good."""
    _mount("none", "/", "", _RECURSIVE | _PRIVATE)
    _mount("tmpfs", _BASE, "tmpfs", _NO_SETUID | _NO_DEVICES)
    for name in ("old", "new"):
        os.mkdir(f"{_BASE}/{name}")
    _pivot(_BASE, f"{_BASE}/old")
    for mount in mounts:
        _enter_place(mount)
    os.chdir("/new")
    _pivot(".", ".")
    _check(_libc.umount2(b".", _DETACH), "leave the old file system")
    os.chdir("/")


def _enter_place(mount: Mount) -> None:
    target = f"/new{mount.target.rstrip('/')}"
    if mount.kind in (EMPTY, SHARED):
        os.makedirs(target, exist_ok=True)
        mode = "mode=0755" if mount.kind == EMPTY else "mode=1777"
        _mount("tmpfs", target, "tmpfs", _NO_SETUID | _NO_DEVICES, mode)
    elif mount.kind == QUEUES:
        os.makedirs(target, exist_ok=True)
        _mount("mqueue", target, "mqueue", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS)
    elif mount.kind == PROCESSES:
        _mount("proc", target, "proc", _NO_SETUID | _NO_DEVICES | _NO_PROGRAMS)
    elif mount.kind == DEVICES:
        _make_devices(target)
    else:
        _bind(f"/old{mount.source}", target, read_only=mount.kind == READ_ONLY)


def _bind(source: str, target: str, *, read_only: bool) -> None:
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o600))
    _mount(source, target, "", _BIND | _RECURSIVE)
    _restrict(target, _SET_NO_SETUID | _SET_NO_DEVICES | (_SET_READ_ONLY if read_only else 0))


def _restrict(target: str, flags: int) -> None:
    attributes = struct.pack("=QQQQ", flags, 0, 0, 0)
    path = os.fsencode(target)
    done = _libc.syscall(_MOUNT_SETATTR, _AT_FDCWD, path, _AT_RECURSIVE, attributes, len(attributes))
    _check(done, f"restrict {target}")


def _make_devices(target: str) -> None:
    _mount("tmpfs", target, "tmpfs", _NO_SETUID, "mode=0755")
    for name in _NODES:
        os.close(os.open(f"{target}/{name}", os.O_CREAT | os.O_WRONLY, 0o600))
        _mount(f"/old/dev/{name}", f"{target}/{name}", "", _BIND)
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{target}/{name}")
    os.symlink("/proc/self/fd", f"{target}/fd")
    for name in ("shm", "pts"):
        os.mkdir(f"{target}/{name}", 0o777)
    _mount("devpts", f"{target}/pts", "devpts", _NO_SETUID | _NO_PROGRAMS, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", f"{target}/ptmx")


def _cover(path: str) -> None:
    _mount(path, path, "", _BIND | _RECURSIVE)
    _restrict(path, _SET_READ_ONLY)


def _mount(source: str, target: str, kind: str, flags: int, options: str = "") -> None:
    words = [os.fsencode(word) or None for word in (source, target, kind)]
    done = _libc.mount(words[0], words[1], words[2], ctypes.c_ulong(flags), options.encode() or None)
    _check(done, f"mount {target}")


def _pivot(new: str, old: str) -> None:
    done = _libc.syscall(_PIVOT_ROOT[os.uname().machine], os.fsencode(new), os.fsencode(old))
    _check(done, "change the file system")


# ---------------------------------------------------------------- privileges
def _bring_up_loopback() -> None:
    import fcntl
    import socket

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as channel:
        fcntl.ioctl(channel, 0x8914, struct.pack("16sH14x", b"lo", 1 | 0x40))  # SIOCSIFFLAGS: up, running


def _drop_privileges() -> None:
    capability = 0
    while _libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0) == 0:
        capability += 1
    _check(0 if capability else -1, "drop capabilities")
    _libc.prctl(_AMBIENT, 4, 0, 0, 0)  # PR_CAP_AMBIENT_CLEAR_ALL
    header, nothing = struct.pack("=Ii", _CAPABILITIES, 0), bytes(24)
    _check(_libc.capset(header, nothing), "give up capabilities")
    _check(_libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0), "refuse new privileges")


def _install_filter(calls: bytes) -> None:
    program = ctypes.create_string_buffer(calls, len(calls))
    described = struct.pack("HxxxxxxP", len(calls) // 8, ctypes.addressof(program))
    _check(_libc.prctl(_SECCOMP, 2, described, 0, 0), "filter system calls")


def _check(done: int, what: str) -> None:
    if done < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot {what}: {os.strerror(number)}")


def _map_user(user: int, group: int) -> None:
    """Be the same user inside, who is nobody else."""
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{user} {user} 1")
    _write("/proc/self/gid_map", f"{group} {group} 1")


def _write(path: str, text: str) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode("ascii"))
    finally:
        os.close(descriptor)


def probe() -> NoReturn:
    """Print the name of the network inside; run as a process of its own."""
    from lockgate.containment.linux.seccomp import program

    mounts = (Mount(READ_ONLY, "/", "/"), Mount(PROCESSES, "/proc"), Mount(DEVICES, "/dev"), Mount(EMPTY, "/tmp"))  # noqa: S108
    show = ("/bin/sh", "-c", "ls -l /proc/self/ns/net")
    calls = program()
    if calls is None:
        sys.exit(f"the system calls of {os.uname().machine} are not known")
    become(Plan(mounts, "/", {"PATH": os.defpath}, show), calls, os.open(os.devnull, os.O_WRONLY), ())
