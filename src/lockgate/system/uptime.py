"""Names moments by the machine's uptime and start, which no clock that is set back repeats.

Sources: ``CLOCK_BOOTTIME`` in clock_gettime(2) and ``/proc/sys/kernel/random/boot_id`` in random(4) of Linux;
``CLOCK_MONOTONIC``, which goes on while the machine sleeps, in clock_gettime(3) of macOS, and ``kern.bootsessionuuid``
in xnu (``bsd/kern/kern_sysctl.c``).
"""

from __future__ import annotations

import sys
import time

from lockgate.core.record import Record

_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_BOOT_SESSION = b"kern.bootsessionuuid"
_MOST_BYTES = 64


class Instant(Record):
    """Now, by the clock and by what cannot be set."""

    at: float
    """Seconds since the epoch."""
    up: float
    """Seconds since the machine was started, with those that it slept."""
    boot: str
    """Which start that was, as another string for each; empty where the system does not say."""


def instant() -> Instant:
    """Now."""
    clock = getattr(time, "CLOCK_BOOTTIME", None) or time.CLOCK_MONOTONIC
    return Instant(time.time(), time.clock_gettime(clock), _boot())


def _boot() -> str:
    if sys.platform == "darwin":
        return _boot_session()
    try:
        with open(_BOOT_ID, encoding="ascii") as file:
            return file.read(_MOST_BYTES).strip()
    except (OSError, ValueError):
        return ""


def _boot_session() -> str:
    import ctypes

    told = getattr(ctypes.CDLL(None), "sysctlbyname", None)
    if told is None:
        return ""
    found, size = ctypes.create_string_buffer(_MOST_BYTES), ctypes.c_size_t(_MOST_BYTES)
    failed = told(_BOOT_SESSION, found, ctypes.byref(size), None, ctypes.c_size_t(0))
    return "" if failed else found.value.decode("ascii", "replace")
