"""Runs a plan: a supervisor that outlives the client's patience, and the process that the client waits for.

The process that the client started passes signals on and ends as the command ended. It may be killed at any moment. So
the sandbox is the child of a supervisor in a session of its own. The supervisor ends the sandbox when that process is
gone. Then it looks at what the command left behind.
"""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import sys
import time

from lockgate.containment import backends
from lockgate.containment.backends import SandboxNotBuiltError
from lockgate.containment.host_facts import Host
from lockgate.containment.layout import Layout
from lockgate.containment.leftovers import drop_unused
from lockgate.containment.sweep import Sweep
from lockgate.core.display_text import visible
from lockgate.core.errors import ContainmentError
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.containment.macos.sandbox_exec import SandboxProcesses

NOT_RUN = 125
"""Exit status where the command was not run, or was ended by a fault of the gate."""
_NOT_BUILT = -1
"""What the supervisor tells instead of a status where the sandbox could not be built, and why instead of a folder."""
_MOST_WHY = 2000

_PASSED_ON = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_LOOK_EVERY = 0.1
_RESULT = struct.Struct("=iH")


class RunResult(Record):
    """How a contained command ended."""

    status: int
    """The exit status as a shell gives it."""
    folder: str
    """The folder that the command ended in; empty where it did not say."""


def run(plan: Callable[[], Layout], host: Host, tries: int, *, tell_folder: bool = False) -> RunResult:
    """Plan, run a plan and wait for it.

    What a plan covers may be gone when it is mounted: a socket of another process. So it may be planned again.

    Args:
        plan: Makes the layout of what to run.
        host: What this host can do; it can contain.
        tries: How often it is planned at most until the sandbox can be built.
        tell_folder: Whether the command writes the folder that it ended in to descriptor 9.
    """
    why = ""
    for _ in range(tries):
        try:
            return _run(plan(), host, tell_folder=tell_folder)
        except SandboxNotBuiltError as error:
            why = str(error)
    _say_not_run(why)
    return RunResult(NOT_RUN, "")


def _run(layout: Layout, host: Host, *, tell_folder: bool) -> RunResult:
    """Run a plan once. Where its sandbox could not be built, signals act on this process again afterwards."""
    ours, theirs = socket.socketpair()
    if os.fork() == 0:
        ours.close()
        os.setsid()
        if os.fork() == 0:
            _be_supervisor(layout, host, theirs, tell_folder=tell_folder)
        os._exit(0)
    theirs.close()
    os.wait()
    return _wait(ours)


# ---------------------------------------------------------------- the process that the client waits for
def _wait(channel: socket.socket) -> RunResult:
    """Pass signals on to the supervisor until it says how the command ended."""
    sent = []

    def pass_on(number: int, _: object) -> None:
        sent.append(number)
        try:
            channel.send(bytes([number]))
        except OSError:
            return

    for number in _PASSED_ON:
        signal.signal(number, pass_on)
    told = b""
    while chunk := channel.recv(1 << 16):
        told += chunk
    if len(told) < _RESULT.size:
        sys.stderr.write("lockgate: the supervisor of this contained command died, and the command with it\n")
        return RunResult(NOT_RUN, "")
    status, length = _RESULT.unpack_from(told)
    folder = told[_RESULT.size : _RESULT.size + length]
    if status == _NOT_BUILT and sent:
        return RunResult(128 + sent[-1], "")  # it has not begun, and must not begin
    if status == _NOT_BUILT:
        for number in _PASSED_ON:
            signal.signal(number, signal.SIG_DFL)
        raise SandboxNotBuiltError(folder.decode("utf-8", "replace"))
    return RunResult(status, os.fsdecode(folder))


# ---------------------------------------------------------------- the supervisor
def _be_supervisor(layout: Layout, host: Host, channel: socket.socket, *, tell_folder: bool) -> None:
    status, folder = NOT_RUN, b""
    try:
        for number in _PASSED_ON:
            signal.signal(number, signal.SIG_IGN)
        status, folder = _supervise(layout, host, channel, tell_folder=tell_folder)
    except SandboxNotBuiltError as error:
        status, folder = _NOT_BUILT, str(error).encode("utf-8", "replace")[:_MOST_WHY]
    except ContainmentError as error:
        _say_not_run(str(error))
    except BaseException as error:  # noqa: BLE001 - whatever it was, the command must not seem to have run well
        _say(f"this contained command was ended by a fault of the gate ({type(error).__name__}: {error})")
    try:
        channel.sendall(_RESULT.pack(status, len(folder)) + folder)
        channel.close()
        drop_unused(layout.folder, time.time())
    finally:
        os._exit(0)


def _supervise(layout: Layout, host: Host, channel: socket.socket, *, tell_folder: bool) -> tuple[int, bytes]:
    sweep = Sweep(layout)
    reader, writer = os.pipe() if tell_folder else (-1, -1)
    running = backends.start(layout.plan, host, writer)
    os.close(1)
    os.close(0)
    if tell_folder:
        os.close(writer)
    try:
        _watch(running, channel, sweep)
        status = running.wait()
    finally:
        running.kill()
        sweep.finish()
    for line in sweep.report_lines():
        _say(line)
    return status, _read_folder(reader) if tell_folder else b""


def _watch(running: backends.Running | SandboxProcesses, channel: socket.socket, sweep: Sweep) -> None:
    """Pass signals on and look at what the command does, until it has ended."""
    poll = select.poll()
    poll.register(running.descriptor, select.POLLIN)
    poll.register(channel, select.POLLIN)
    due: list[int] = []  # signals that came before the command was there
    while True:
        ready = {descriptor for descriptor, _ in poll.poll(_LOOK_EVERY * 1000)}
        if running.descriptor in ready:
            return None
        if channel.fileno() in ready:
            numbers = channel.recv(64)
            if not numbers:  # the process that the client waited for is gone
                return running.kill()
            due += numbers
        due = [number for number in due if not running.signal(number)]
        if sweep.look():
            _say("this command made what it may not make again and again; it was ended")
            return running.kill()


def _read_folder(descriptor: int) -> bytes:
    told = os.read(descriptor, 4097)
    folder = told.removesuffix(b"\n")
    return folder if len(told) <= 4096 and folder.startswith(b"/") else b""


def _say_not_run(why: str) -> None:
    _say(f"the command was not run, because it cannot be contained: {why}")


def _say(text: str) -> None:
    try:
        os.write(2, f"lockgate: {visible(text, 1000)}\n".encode("utf-8", "backslashreplace"))
    except OSError:
        return
