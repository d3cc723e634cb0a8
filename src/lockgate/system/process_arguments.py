"""Asks the system for another process's arguments, and for the size of its terminal."""

from __future__ import annotations

import os
import stat
from itertools import pairwise

from lockgate.core.record import Record
from lockgate.system import caller

_SECONDS = 1.0
_MOST = (100, 240)
"""Rows and columns above which nobody is believed to see more: a program can set the size that a terminal tells."""


class CommandLine(Record):
    """The words of a process."""

    words: tuple[str, ...]
    exact: bool
    """Whether each is told as it was. Where they are not, a word may be a part of one, and may be missing."""

    def has(self, option: str) -> bool:
        """Whether an option is among them, with its value in the same word or in the next."""
        return any(word.partition("=")[0] == option for word in self.words)

    def values(self, option: str) -> list[str]:
        """All values of an option: first those in the same word, then those in the next one."""
        found = [word.partition("=")[2] for word in self.words if word.startswith(f"{option}=")]
        return found + [after for word, after in pairwise(self.words) if word == option]


def command_line(process: str) -> CommandLine:
    """The command line of a process; no words where there is no such process.

    Args:
        process: ``pid:start-time``, as :attr:`lockgate.core.events.Context.process` has it; it may be empty.
    """
    pid = process.partition(":")[0]
    pid = pid if pid.isascii() and pid.isdigit() else ""
    if os.path.isdir("/proc/self"):
        return CommandLine(tuple(caller.words(int(pid))) if pid else (), exact=True)
    return CommandLine(tuple(_read_from_ps(pid, "args").split()) if pid else (), exact=False)


def _read_from_ps(pid: str, column: str) -> str:
    """A column of ps(1), which POSIX has: of ``args`` all words in a row, with blanks between them."""
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - the system's own program, a column and a number
            ["/bin/ps", "-ww", "-o", f"{column}=", "-p", pid],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(done.stdout)


def terminal_size(process: str) -> tuple[int, int] | None:
    """Rows and columns of the terminal of a process; ``None`` where it has none, or nobody can tell.

    Args:
        process: ``pid:start-time``, as :attr:`lockgate.core.events.Context.process` has it; it may be empty.
    """
    pid = process.partition(":")[0]
    if not (pid.isascii() and pid.isdigit()):
        return None
    device = f"/proc/{pid}/fd/1" if os.path.isdir("/proc/self") else _device_from_ps(pid)
    try:
        # Opening anything else could wait, or do something.
        if not device or not stat.S_ISCHR(os.stat(device).st_mode):
            return None
        descriptor = os.open(device, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        size = os.get_terminal_size(descriptor)
    except OSError:  # no terminal
        return None
    finally:
        os.close(descriptor)
    # A terminal that was never told its size says zero.
    return (min(size.lines, _MOST[0]), min(size.columns, _MOST[1])) if size.lines and size.columns else None


def _device_from_ps(pid: str) -> str:
    """The controlling terminal."""
    name = _read_from_ps(pid, "tty").strip()
    return f"/dev/{name}" if name.isascii() and name.isalnum() else ""
