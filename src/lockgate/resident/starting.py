"""Starting the resident gate, detached from whoever needs it first."""

from __future__ import annotations

import os
import time

from lockgate import caller
from lockgate.folders import Folders
from lockgate.record import TYPE_CHECKING
from lockgate.resident.places import locked, make_run_folder

if TYPE_CHECKING:
    from typing import NoReturn

FLAGS = ("-I", "-S", "-X", "disable-remote-debug")
"""For the interpreter. From 3.14 on another process of the user could else have the gate run code of its own (PEP 768);
older ones take no notice of the last."""
PROGRAM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "process.py")
OFF = "LOCKGATE_RESIDENT"
"""The variable that keeps hooks from starting and asking a gate, where it is ``off``."""
_PAUSE = 10.0
"""Seconds after a start in which hooks start no other: a gate that cannot come up must not be tried at each event."""
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
_PASSED = ("USER", "LOGNAME", "LANG", "LC_ALL", "TZ")
"""What the gate keeps of the environment of whoever starts it. A project can set variables for hooks, and must not
reach other projects by way of a gate that serves them all."""


def start(where: Folders, python: str) -> None:
    """Start a gate, where none runs, none was started just now, and nobody switched it off.

    Args:
        where: The folders that it serves.
        python: The interpreter, absolute.

    Raises:
        OSError: It cannot be started.
        StoreError: The state folder cannot be used.
    """
    if caller.environ().get(OFF) == "off" or locked(where.state):
        return
    folder = make_run_folder(where.state)
    if not _turn(os.path.join(folder, "started")):
        return
    launch(where, python)


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
        _become(where, python, idle)
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


def _turn(mark: str) -> bool:
    """Whether nobody has tried just now."""
    now = time.time()
    try:
        tried = os.lstat(mark).st_mtime
    except OSError:
        tried = 0.0
    if 0 <= now - tried < _PAUSE:
        return False
    handle = os.open(mark, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    os.utime(handle)
    os.close(handle)
    return True


def _become(where: Folders, python: str, idle: float | None) -> NoReturn:
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
