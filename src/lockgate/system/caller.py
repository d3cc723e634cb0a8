"""Finds the process that a client started for an event. The decision is made on its behalf.

A hook that decides by itself is its own caller. A resident gate stands in for many at a time: their environment and
their place among the processes are what counts, and never its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar

from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from contextvars import Token


_MOST_WORDS = 4 * 1024 * 1024
"""Bytes of a command line, or of an environment, that are read."""


class Caller(Record):
    """A process that asks."""

    environ: Mapping[str, str]
    pid: int
    parent: int
    """Its parent's process id."""
    mark: int = 0
    """Another one for another environment."""


_GONE: ContextVar[Callable[[], bool]] = ContextVar("gone", default=lambda: False)
_CURRENT: ContextVar[Caller | None] = ContextVar("caller", default=None)


def stand_in_for(caller: Caller | None) -> Token[Caller | None]:
    """Decide on behalf of another process from now on, in this context; ``None`` for this process itself."""
    return _CURRENT.set(caller)


def reset(token: Token[Caller | None]) -> None:
    """Decide on behalf of whoever it was before."""
    _CURRENT.reset(token)


def leave_when(gone: Callable[[], bool]) -> None:
    """Make those who wait for somebody in this context ask whether the caller is gone."""
    _GONE.set(gone)


def is_gone() -> bool:
    """Whether nobody hears the answer any more: a caller that was killed must not use up what a person says."""
    return _GONE.get()()


def environ() -> Mapping[str, str]:
    """The caller's environment."""
    caller = _CURRENT.get()
    return os.environ if caller is None else caller.environ


def mark() -> int:
    """A number that is another one for another environment: what was found out for one caller may hold for the next."""
    caller = _CURRENT.get()
    return 0 if caller is None else caller.mark


def pid() -> int:
    """The caller's process id."""
    caller = _CURRENT.get()
    return os.getpid() if caller is None else caller.pid


def parent() -> int:
    """The process id of the caller's parent."""
    caller = _CURRENT.get()
    return os.getppid() if caller is None else caller.parent


class Process(Record):
    """A process as the system tells of it."""

    name: bytes
    """The program's name, as the kernel has it: at most 15 bytes, which may be any."""
    parent: int
    started: str
    """When it began, in clock ticks since boot: with its id this names it for good."""
    ticks: int
    """Clock ticks that it has used of processors."""
    ticks_of_children: int
    """And those of its children that have ended."""


def process(number: int) -> Process | None:
    """A process by its id, as proc_pid_stat(5) has it; ``None`` where there is none, or no such file."""
    try:
        with open(f"/proc/{number}/stat", "rb", buffering=0) as file:
            head, _, rest = file.read(4096).rpartition(b")")  # the name may hold one too
        fields = rest.split()  # from the third on
        user, system, children_user, children_system = map(int, fields[11:15])
        started = fields[19].decode("ascii")
        return Process(head.partition(b"(")[2], int(fields[1]), started, user + system, children_user + children_system)
    except (OSError, ValueError, IndexError):
        return None


def environ_of(number: int, names: Iterable[str]) -> dict[str, str]:
    """Some variables that a process was started with, as proc_pid_environ(5) has them; nothing where that is not told.

    What the process has set for itself or for its children since is not among them.
    """
    wanted = tuple(os.fsencode(f"{name}=") for name in names)
    try:
        with open(f"/proc/{number}/environ", "rb") as file:
            found = [entry for entry in file.read(_MOST_WORDS).split(b"\0") if entry.startswith(wanted)]
    except OSError:
        return {}
    return {name: value for name, _, value in (os.fsdecode(entry).partition("=") for entry in found)}


def words(number: int) -> list[str]:
    """What a process was started with, as proc_pid_cmdline(5) has it; nothing where there is none, or no such file."""
    try:
        with open(f"/proc/{number}/cmdline", "rb") as file:
            return os.fsdecode(file.read(_MOST_WORDS)).split("\0")
    except OSError:
        return []
