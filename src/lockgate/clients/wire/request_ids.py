"""Ids of requests: UUIDs of version 7 (RFC 9562, section 5.7) without hyphens. They hold the time."""

from __future__ import annotations

import os
import time

_TIME = 12
"""Hexadecimal digits of the time, in milliseconds since the epoch."""


def new_id() -> str:
    """An id that nobody can guess: 74 of its bits are random."""
    rest = os.urandom(10).hex()
    variant = "89ab"[int(rest[4], 16) & 3]
    return f"{int(time.time() * 1000):0{_TIME}x}7{rest[:3]}{variant}{rest[5:]}"


def time_of(name: str) -> float:
    """When an id was made, in seconds since the epoch; 0 where it does not tell."""
    try:
        return int(name[:_TIME], 16) / 1000
    except ValueError:
        return 0.0
