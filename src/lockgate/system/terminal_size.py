"""The size of the terminal that a process draws on, as far as the system tells of another process."""

from __future__ import annotations

import os
import stat

_SECONDS = 1.0
_MOST = (100, 240)
"""Rows and columns above which nobody is believed to see more: a program can set the size that a terminal tells."""


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
    """The controlling terminal, as ps(1) names it."""
    import subprocess

    try:
        done = subprocess.run(  # noqa: S603 - the system's own program, and a number
            ["/bin/ps", "-o", "tty=", "-p", pid],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    name = os.fsdecode(done.stdout).strip()
    return f"/dev/{name}" if name.isascii() and name.isalnum() else ""
