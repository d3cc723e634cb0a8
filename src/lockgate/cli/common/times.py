"""Spells times for the commands."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from lockgate.system.timestamps import local_time


def iso(at: float) -> str | None:
    """A time as ISO 8601 in UTC; ``None`` for 0, and for a value that is no time."""
    try:
        return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds") if at else None
    except (TypeError, ValueError, OverflowError, OSError):
        return None


def clock(at: str | None) -> str:
    """An ISO time for a person, in their own zone."""
    return local_time(datetime.fromisoformat(at).timestamp(), day=True) if at else "never"


def ago(at: str | None) -> str:
    """How long ago an ISO time was, for a person."""
    if not at:
        return "never"
    seconds = max(int(time.time() - datetime.fromisoformat(at).timestamp()), 0)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit} ago"
    return f"{seconds} s ago"
