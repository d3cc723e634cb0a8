"""Writes times: with a zone for programs and people elsewhere, or as local time for the person here."""

from __future__ import annotations

import time


def utc(at: float) -> str:
    """A time as RFC 3339 has it, in UTC and whole seconds: ``2026-11-22T14:05:13Z``.

    Args:
        at: Seconds since the epoch.
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


def local_time(at: float, *, seconds: bool = True, day: bool = False) -> str:
    """The time of day where this machine is: ``14:05:13``, ``14:05``, or ``2026-11-22 14:05``.

    Args:
        at: Seconds since the epoch.
        seconds: Whether they are said.
        day: Whether the day is said.
    """
    form = ("%Y-%m-%d " if day else "") + ("%H:%M:%S" if seconds else "%H:%M")
    return time.strftime(form, time.localtime(at))
