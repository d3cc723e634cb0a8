"""The words that an agent's client was started with, as far as the system tells of another process."""

from __future__ import annotations

import os
from itertools import pairwise

from lockgate.core.record import Record
from lockgate.system import caller

_SECONDS = 1.0


class CommandLine(Record):
    """The words of a process."""

    words: tuple[str, ...]
    exact: bool
    """Whether each is told as it was. Where they are not, a word may be a part of one, and may be missing."""

    def has(self, option: str) -> bool:
        """Whether an option is among them, with its value in the same word or in the next."""
        return any(word.partition("=")[0] == option for word in self.words)

    def values(self, option: str) -> list[str]:
        """All values that are given to an option."""
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
    return CommandLine(tuple(_from_ps(pid).split()) if pid else (), exact=False)


def _from_ps(pid: str) -> str:
    """All words in a row, with blanks between them: ``args`` of ps(1), which POSIX has."""
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - the system's own program, and a number
            ["/bin/ps", "-ww", "-o", "args=", "-p", pid],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(done.stdout)
