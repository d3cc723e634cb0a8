"""Starts a sandbox, whichever way this host has."""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from collections.abc import Callable

from lockgate.containment.host_facts import Host
from lockgate.containment.linux import bubblewrap, landlock
from lockgate.containment.linux.seccomp import program
from lockgate.containment.plan import Plan
from lockgate.core.errors import ContainmentError
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NoReturn

    from lockgate.containment.macos.sandbox_exec import SandboxProcesses

_OWN_SIGNALS = (
    *(signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM),
    *(signal.SIGUSR1, signal.SIGUSR2),
)
"""What the interpreter and the supervisor ignore or handle, and a command does not expect to be so."""

_MOST_COMPLAINT = 1000
FOLDER_DESCRIPTOR = 9
"""Where the shell in a sandbox tells its last folder. No other process of the command has it."""


class SandboxNotBuiltError(ContainmentError):
    """A sandbox was planned and could not be built: nothing was run."""


class Running:
    """A sandbox that was started."""

    def __init__(self, pid: int, status: int, begun: str, complaints: int = -1) -> None:
        """Look after a process that builds a sandbox.

        Args:
            pid: The process.
            status: Where lines of JSON are told.
            begun: What one of them names when the command ran.
            complaints: What can be read of why it was not built; -1 where the lines say it.
        """
        self._pid = pid
        self._status = status
        self._begun = begun
        self._complaints = complaints
        self._ended: int | None = None
        self.descriptor = _watch(pid)
        """Readable when the sandbox has ended."""

    def signal(self, number: int) -> bool:
        """Send a signal to the command. Returns whether there was one already."""
        first = self._first_process()
        commands = _children(first) if first else []
        for child in commands:
            _send(-child, number) or _send(child, number)
        return bool(commands)

    def kill(self) -> None:
        """End every process of the sandbox, and wait until none is left."""
        first = self._first_process()
        held = _try_to_watch(first) if first else -1
        if self._ended is None:
            _send(self._pid, signal.SIGKILL)
            self._reap()
        if held >= 0:
            import select

            poll = select.poll()
            poll.register(held, select.POLLIN)
            poll.poll(10_000)
            os.close(held)

    def wait(self) -> int:
        """Wait for the end. Returns the exit status, as a shell gives it.

        Raises:
            SandboxNotBuiltError: The sandbox could not be built.
        """
        self._reap()
        ended = os.waitstatus_to_exitcode(self._ended or 0)
        said = self._status_lines()
        # Who was killed tells nothing of how the command ended.
        if not any(self._begun in line for line in said) and not (ended < 0 and self._first_process()):
            why = "; ".join(str(line["problem"]) for line in said if "problem" in line) or self._read_complaint()
            raise SandboxNotBuiltError(f"the sandbox could not be built (lockgate doctor){why and f': {why}'}")
        return 128 - ended if ended < 0 else ended

    def _read_complaint(self) -> str:
        if self._complaints < 0:
            return ""
        try:
            return os.read(self._complaints, _MOST_COMPLAINT).decode("utf-8", "replace").strip()
        except BlockingIOError:
            return ""

    def _reap(self) -> None:
        if self._ended is None:
            self._ended = os.waitpid(self._pid, 0)[1]

    def _first_process(self) -> int:
        """The first process inside, by its number outside; 0 where it is not known."""
        return next((int(line["child-pid"]) for line in self._status_lines() if "child-pid" in line), 0)

    def _status_lines(self) -> list[dict[str, int | str]]:
        text = os.pread(self._status, 1 << 16, 0).decode("ascii", "replace")
        return [json.loads(line) for line in text.splitlines() if line.startswith("{") and line.endswith("}")]


def start(plan: Plan, host: Host, folder_to: int = -1) -> Running | SandboxProcesses:
    """Start a sandbox with this process's descriptors 0 to 2.

    Args:
        plan: The sandbox.
        host: What this host can do.
        folder_to: A descriptor that the command gets as :data:`FOLDER_DESCRIPTOR`, -1 for none.

    Raises:
        ContainmentError: This host cannot contain.
    """
    if host.way == "sandbox-exec":
        from lockgate.containment.macos import sandbox_exec

        return sandbox_exec.start(plan, host.program, lambda: _prepare((), folder_to))
    calls = program()
    if calls is None:
        raise ContainmentError(f"the system calls of {os.uname().machine} are not known")
    status = _make_memory_file("status", b"")
    if host.way == "bubblewrap":
        return _start_bubblewrap(plan, host.program, calls, status, folder_to)
    if host.way == "namespaces":
        from lockgate.containment.linux import namespaces

        kept = (FOLDER_DESCRIPTOR,) if folder_to >= 0 else ()
        pid = _start((status,), folder_to, lambda: namespaces.become(plan, calls, status, kept))
        return Running(pid, status, "child-pid")
    if host.launched_by and not host.way:
        raise ContainmentError(f"only {host.launched_by} may, and the gate gave it no plan (run: lockgate gate start)")
    raise ContainmentError(host.problem or f"there is no way to contain named {host.way!r}")


def _start_bubblewrap(plan: Plan, program_path: str, calls: bytes, status: int, folder_to: int) -> Running:
    """Start bubblewrap. It complains into a pipe, and the command gets the real descriptor 2 back.

    It tells ``child-pid`` before it mounts anything, and ``exit-code`` only of a program that it has started.
    """
    filter_descriptor = _make_memory_file("filter", calls)
    words = bubblewrap.arguments(plan, filter_descriptor, status)
    told = _make_memory_file("arguments", b"".join(os.fsencode(word) + b"\0" for word in words))
    confine = (sys.executable, "-I", "-S", landlock.__file__, *plan.writable, "--")
    argv = [program_path, "--args", str(told), "--", *confine, *plan.command]
    complaints, low = os.pipe()
    os.set_blocking(complaints, False)
    writer = _raise_descriptor(low)

    def become() -> NoReturn:
        os.dup2(2, landlock.ERRORS_DESCRIPTOR)
        os.dup2(writer, 2)
        os.close(writer)
        _execute(argv, plan)

    pid = _start((filter_descriptor, told, status, writer), folder_to, become)
    for descriptor in (filter_descriptor, told, writer):
        os.close(descriptor)
    return Running(pid, status, "exit-code", complaints)


def _start(given: tuple[int, ...], folder_to: int, become: Callable[[], NoReturn]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            _prepare(given, folder_to)
            os.chdir("/")
            become()
        except BaseException as error:  # noqa: BLE001 - this process must not go on as its parent
            os.write(2, f"lockgate: {error}\n".encode("utf-8", "backslashreplace"))
        os._exit(127)
    return pid


def _prepare(keep: tuple[int, ...], folder_to: int) -> None:
    """Leave nothing of this process to a sandbox that it does not need."""
    if folder_to >= 0:
        os.dup2(folder_to, FOLDER_DESCRIPTOR)
        keep = (*keep, FOLDER_DESCRIPTOR)
    for number in _OWN_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
    _close_all_but(keep)


def _execute(argv: list[str], plan: Plan) -> NoReturn:
    os.execve(argv[0], argv, dict(plan.environment))  # noqa: S606 - no shell is wanted


def _close_all_but(keep: tuple[int, ...]) -> None:
    low = 3
    for descriptor in sorted(keep):
        os.closerange(low, descriptor)
        os.set_inheritable(descriptor, True)
        low = descriptor + 1
    os.closerange(low, 1 << 16)


def check_descriptors() -> None:
    """Refuse standard descriptors that lead out of a sandbox: folders and connections.

    Raises:
        ContainmentError: One of 0 to 2 is such.
    """
    for descriptor in (0, 1, 2):
        try:
            mode = os.fstat(descriptor).st_mode
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets this very number
            continue
        if stat.S_ISDIR(mode) or stat.S_ISBLK(mode):
            raise ContainmentError(f"descriptor {descriptor} is a folder or a disk")
        if stat.S_ISSOCK(mode) and _is_connection(descriptor):
            raise ContainmentError(f"descriptor {descriptor} is a network connection")


def _is_connection(descriptor: int) -> bool:
    import socket

    with socket.socket(fileno=os.dup(descriptor)) as found:
        return found.family is not socket.AF_UNIX


def _make_memory_file(name: str, content: bytes) -> int:
    """Make a file in memory, at its beginning, with a number that no descriptor of the command has."""
    descriptor = _raise_descriptor(os.memfd_create(f"lockgate-{name}"))  # type: ignore[attr-defined,unused-ignore] # Linux has it
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def _raise_descriptor(low: int) -> int:
    """Move a descriptor to a number that none of the command has."""
    import fcntl

    descriptor: int = fcntl.fcntl(low, fcntl.F_DUPFD_CLOEXEC, FOLDER_DESCRIPTOR + 1)
    os.close(low)
    return descriptor


def _children(pid: int) -> list[int]:
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            return [int(word) for word in file.read().split()]
    except OSError:
        return []


def _try_to_watch(pid: int) -> int:
    try:
        return _watch(pid)
    except OSError:
        return -1


def _watch(pid: int) -> int:
    found: int = os.pidfd_open(pid)  # type: ignore[attr-defined,unused-ignore] # Linux has it
    return found


def _send(pid: int, number: int) -> bool:
    try:
        os.kill(pid, number)
    except OSError:
        return False
    return True
