"""How a moment is written where programs and people of several countries read it."""

from __future__ import annotations

import time


def utc(at: float) -> str:
    """A time as RFC 3339 has it, in UTC and whole seconds: ``2026-11-22T14:05:13Z``.

    Args:
        at: Seconds since the epoch.
    """
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))
