"""Starts a sandbox on macOS: ``sandbox-exec`` with a profile.

macOS has no namespaces of processes. Signals go to the command's process group, and what left that group (``setsid``)
is ended as far as it is still a descendant; what is not stays in the sandbox for as long as it lives.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

from lockgate.containment.macos import profile
from lockgate.containment.plan import Plan
from lockgate.core.errors import ContainmentError

PROGRAM = "/usr/bin/sandbox-exec"
_LONGEST_PROFILE = 800_000
"""Bytes. The kernel takes 1 MiB of arguments and environment (``kern.argmax``)."""
_ROUNDS = 5
_PAUSE, _LOOK_EVERY = 0.01, 1.0

Process = tuple[int, str]
"""A process by its number and when it was started: numbers come again."""


class SandboxProcesses:
    """A sandbox that was started: one process group, and what descends from it."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._status = 0
        self._known: set[Process] = set()
        self.descriptor, self._writer = os.pipe()
        """Readable when the command has ended."""
        self._waiting = threading.Thread(target=self._reap)
        self._waiting.start()

    def signal(self, number: int) -> bool:
        """Send a signal to the command. Returns whether there was one already."""
        return _send(os.killpg, self._pid, number)

    def kill(self) -> None:
        """End every process of the sandbox that is known."""
        for _ in range(_ROUNDS):  # a process can start another while this looks
            alive = [_send(os.kill, pid, signal.SIGKILL) for pid, _ in self._look()]
            if not _send(os.killpg, self._pid, signal.SIGKILL) and not any(alive):
                break
        self._waiting.join()

    def wait(self) -> int:
        """The exit status, as a shell gives it."""
        self._waiting.join()
        ended = os.waitstatus_to_exitcode(self._status)
        return 128 - ended if ended < 0 else ended

    def _reap(self) -> None:
        looked = time.monotonic()
        while (found := os.waitpid(self._pid, os.WNOHANG)) == (0, 0):
            time.sleep(_PAUSE)
            if time.monotonic() > looked + _LOOK_EVERY:
                self._look()
                looked = time.monotonic()
        self._status = found[1]
        os.close(self._writer)

    def _look(self) -> set[Process]:
        """The processes of the sandbox that are alive and known: descendants, and what once was one."""
        parents = processes()
        found = {each for each in parents if each in self._known or each[0] == self._pid}
        numbers = {pid for pid, _ in found}
        while more := {each for each, parent in parents.items() if parent in numbers} - found:
            found |= more
            numbers |= {pid for pid, _ in more}
        self._known |= found
        return {each for each in found if each[0] != self._pid}


def start(plan: Plan, program: str, prepare: Callable[[], None]) -> SandboxProcesses:
    """Start a sandbox with this process's descriptors 0 to 2.

    Args:
        plan: The sandbox.
        program: ``sandbox-exec``, absolute.
        prepare: Called in the new process before it becomes the command.

    Raises:
        ContainmentError: The plan cannot be written as a profile.
    """
    argv, environment = command_line(plan, program)
    pid = os.fork()
    if pid == 0:
        try:
            os.setsid()
            prepare()
            os.chdir(plan.cwd)
            os.execve(argv[0], argv, environment)  # noqa: S606 - no shell is wanted
        except BaseException as error:  # noqa: BLE001 - this process must not go on as its parent
            os.write(2, f"lockgate: {error}\n".encode("utf-8", "backslashreplace"))
        os._exit(125)
    return SandboxProcesses(pid)


def command_line(plan: Plan, program: str) -> tuple[list[str], dict[str, str]]:
    """What is run, and its environment.

    Raises:
        ContainmentError: The plan cannot be written as a profile.
    """
    try:
        text = profile.profile(plan)
    except ValueError as error:
        raise ContainmentError(str(error)) from error
    if len(text.encode("utf-8", "replace")) > _LONGEST_PROFILE:
        raise ContainmentError("there is too much in this project that has to be protected")
    return [program, "-p", text, *plan.command], profile.environment(plan)


def processes() -> dict[Process, int]:
    """The parent of each process of this machine."""
    import subprocess

    listed = subprocess.run(["/bin/ps", "-axo", "pid=,ppid=,lstart="], capture_output=True, text=True, check=False)
    fields = (line.split(None, 2) for line in listed.stdout.splitlines())
    return {(int(pid), started): int(parent) for pid, parent, started in fields}


def _send(how: Callable[[int, int], None], pid: int, number: int) -> bool:
    try:
        how(pid, number)
    except OSError:
        return False
    return True
