"""Starts the resident gate, detached from the hook that needs it first."""

from __future__ import annotations

import os
import time

from lockgate.clients.hook import turns
from lockgate.clients.wire.resident_files import connect, is_held, make_run_folder, run_folder
from lockgate.core.record import TYPE_CHECKING
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.system import caller
from lockgate.system.folders import Folders

if TYPE_CHECKING:
    from typing import NoReturn

FLAGS = ("-I", "-S", "-X", "disable-remote-debug")
"""For the interpreter. From 3.14 on another process of the user could else have the gate run code of its own (PEP 768);
older ones take no notice of the last."""
PROGRAM = os.path.join(PACKAGE_FOLDER, "service", "resident", "process.py")
OFF = "LOCKGATE_RESIDENT"
"""The variable that keeps hooks from starting and asking a gate, where it is ``off``."""
ARRIVAL_SECONDS = 1.5
"""How long a hook waits for a gate that another one has started, before it decides by itself."""
LOCK_SECONDS = 0.5
"""After so long a gate that was started has its lock, or comes up no more."""
_PAUSE = 10.0
"""Seconds after a start in which hooks start no other: a gate that cannot come up must not be tried at each event."""
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_PASSED = ("USER", "LOGNAME", "LANG", "LC_ALL", "TZ")
"""What the gate keeps of the environment of whoever starts it. A project can set variables for hooks, and must not
reach other projects by way of a gate that serves them all."""


def join_gate(
    where: Folders, python: str, *, missed: bool = True, began: float | None = None, patient: bool = False
) -> bool:
    """Start a gate, where none runs and none was started just now; wait for one that was, or for a turn to decide.

    Args:
        where: The folders that it serves.
        python: The interpreter, absolute.
        missed: Whether none was there a moment ago. Else one that is there was asked already.
        began: When the hook began, by the monotonic clock; now, where it is not given.
        patient: Whether the client waits for very long, as for the hook of a call.

    Returns:
        Whether one that was waited for listens now. Whoever has started one decides by themselves meanwhile, so that a
        gate that cannot come up costs them nothing.

    Raises:
        OSError: It cannot be started.
        StoreError: The state folder cannot be used.
    """
    if not os.path.isdir(where.home):
        return False  # it was moved: a state that is made anew there would know no labels
    began = time.monotonic() if began is None else began
    until = began + (turns.SECONDS if patient else turns.SHORT_SECONDS)
    comes = True
    mark = os.path.join(run_folder(where.state), "started")
    if not missed and _age(mark) >= _PAUSE and is_held(where.state):
        from lockgate.clients.hook.replace_resident import end_useless

        end_useless(where.state)
    if not is_held(where.state):
        make_run_folder(where.state)
        if _take_turn(mark):
            launch(where, python)
            comes = False
        else:
            comes = _age(mark) < LOCK_SECONDS
    if missed and comes and _wait_for_socket(where.state):
        return True
    return turns.wait_for_turn(where.state, until, lambda: missed and _listens(where.state))


def _listens(state: str) -> bool:
    """Whether a gate listens by now."""
    if not is_held(state):
        return False
    return _can_connect(state, time.monotonic())


def _wait_for_socket(state: str) -> bool:
    """Wait for the socket of a gate that has just been started."""
    began = time.monotonic()
    return _can_connect(state, began + ARRIVAL_SECONDS, began + LOCK_SECONDS)


def _can_connect(state: str, *until: float) -> bool:
    """Whether a gate takes a connection; ``until`` is as for :func:`lockgate.clients.wire.resident_files.connect`."""
    try:
        connection, _ = connect(state, *until)
    except OSError:
        return False
    connection.close()
    return True


def launch(where: Folders, python: str, idle: float | None = None) -> None:
    """Start a gate now. It ends by itself where another one listens.

    Args:
        where: The folders that it serves.
        python: The interpreter, absolute.
        idle: As for :func:`arguments`.

    Raises:
        OSError: It cannot be started.
    """
    child = os.fork()
    if child == 0:
        _become_gate(where, python, idle)
    os.waitpid(child, 0)


def arguments(where: Folders, idle: float | None = None) -> list[str]:
    """The words after the interpreter's name.

    Args:
        where: The folders that the gate serves.
        idle: Seconds without a question after which it ends, 0 for never; by default what is usual.
    """
    words = [*FLAGS, PROGRAM, "--home", where.home, "--state", where.state, "--config", where.config]
    return words if idle is None else [*words, "--idle", f"{idle:g}"]


def environment(where: Folders) -> dict[str, str]:
    """The environment of a gate."""
    given = caller.environ()
    return {"PATH": _PATH, "HOME": where.home, **{name: given[name] for name in _PASSED if name in given}}


def _take_turn(mark: str) -> bool:
    """Take the turn to start a gate. Returns whether it was free: nobody has tried just now, or tries now."""
    import fcntl

    if _age(mark) < _PAUSE:
        return False
    handle = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(handle).st_size and _age(mark) < _PAUSE:
            return False
        os.write(handle, b"1")
        return True
    except OSError:  # somebody else does it now
        return False
    finally:
        os.close(handle)


def _age(mark: str) -> float:
    """Seconds since somebody has tried; for ever where nobody has, or the clock was put back since."""
    try:
        age = time.time() - os.lstat(mark).st_mtime
    except OSError:
        return float("inf")
    return age if age >= 0 else float("inf")


def _become_gate(where: Folders, python: str, idle: float | None) -> NoReturn:
    """Turn a forked child into the gate: of no terminal, no group and no parent, and with nothing of theirs open."""
    try:
        os.setsid()
        if os.fork():
            os._exit(0)
        os.chdir("/")
        os.umask(0o077)
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.closerange(3, 1024)
        words = [python, *arguments(where, idle)]
        os.execve(python, words, environment(where))  # noqa: S606 - without a shell is what is wanted
    finally:
        os._exit(1)
