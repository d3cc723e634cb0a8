"""Ends a resident gate that will never answer: one of other code, or a stopped one (``SIGSTOP``)."""

from __future__ import annotations

import os
import signal
import sys
import time

from lockgate.clients.wire.resident_files import code_told, connect, wait_until_gone
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.system.code_identity import code_of
from lockgate.system.peer_credentials import peer_of

_REACHED = 0.05
"""Seconds that a gate has to accept a connection, which tells its process."""
_ENDING = 0.3
"""Seconds in which a gate of other code ends by itself; after that it is killed."""


def end_useless(state: str) -> bool:
    """End the gate of a state folder if it cannot answer; whether its place is free now.

    To be called by a hook that has asked it in vain. Nothing is lost, because a gate keeps everything in the store.

    Args:
        state: The state folder.
    """
    try:
        pid = _process(state)
        if pid <= 0:
            return False
        if _is_stopped(pid):
            return _has_ended(state, pid, signal.SIGKILL)
        if code_told(state) != code_of(os.path.join(PACKAGE_FOLDER, "hook.py")):
            return _has_ended(state, pid, signal.SIGTERM) or _has_ended(state, pid, signal.SIGKILL)
    except OSError:  # it is gone, or cannot be told
        pass
    return False


def end_forger(state: str) -> str:
    """Kill the process that listens in the gate's place without the installation's key; gives its description.

    To be called by a hook that was answered without a proof. Another hook may have killed the forger meanwhile, and a
    genuine gate may listen, which proves itself. Empty where nothing was killed.

    Args:
        state: The state folder.
    """
    from lockgate.clients.wire.resident_control import is_genuine

    try:
        pid = _process(state)
        if pid <= 0 or pid == os.getpid() or is_genuine(state):
            return ""
        program = _program(pid)
        os.kill(pid, signal.SIGKILL)
    except OSError:  # it is gone
        return ""
    return f"process {pid} ({program})"


def _program(pid: int) -> str:
    try:
        return os.readlink(f"/proc/{pid}/exe")
    except OSError:
        return "of a program that cannot be told"


def _process(state: str) -> int:
    """The process that listens; 0 where it is another user's."""
    connection, _ = connect(state, time.monotonic() + _REACHED)
    try:
        peer = peer_of(connection)
    finally:
        connection.close()
    return peer.pid if peer.uid == os.geteuid() else 0


def _is_stopped(pid: int) -> bool:
    """Whether a signal has stopped a process. One that a debugger holds goes on when that lets it."""
    if sys.platform == "linux":
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read(4096).rpartition(b")")[2][1:2] == b"T"
    else:
        import subprocess

        words = ["/bin/ps", "-o", "state=", "-p", str(pid)]
        listed = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - the system's own
        return listed.stdout.strip().startswith("T")


def _has_ended(state: str, pid: int, number: int) -> bool:
    os.kill(pid, number)
    return wait_until_gone(state, time.monotonic() + _ENDING)
