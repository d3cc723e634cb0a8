"""Measures the resident gate's own work, for ``lockgate gate status``."""

from __future__ import annotations

import json
import os
import time
from collections import deque

from lockgate.core.version import BUILD, PACKAGE_FOLDER, __version__
from lockgate.store.files import VERSION

_LAST = 2000


class Measures:
    """Counts, and how long the last decisions took."""

    def __init__(self) -> None:
        """Nothing was done yet."""
        self.started_at = time.time()
        self.last_at = time.monotonic()
        """When the last request was answered, by the monotonic clock; at first, when it began."""
        self.answered = 0
        self.declined = 0
        """Requests that a hook was told to decide on by itself."""
        self.failed = 0
        self._seconds: deque[float] = deque(maxlen=_LAST)

    def count_answer(self, seconds: float) -> None:
        """Count an answer.

        Args:
            seconds: What the gate itself took for it.
        """
        self.answered += 1
        self.last_at = time.monotonic()
        self._seconds.append(seconds)

    def as_json(self, connections: int, consulting: int, code: str = "") -> str:
        """All of it as a JSON object.

        Args:
            connections: How many hooks are connected.
            consulting: For how many of them somebody else is asked.
            code: Which code this is.
        """
        taken = sorted(self._seconds)
        return json.dumps(
            {
                "pid": os.getpid(),
                "version": __version__,
                "program": PACKAGE_FOLDER,
                "code": code,
                "digest": BUILD.digest,
                "schema": VERSION,
                "started_at": self.started_at,
                "idle_seconds": round(time.monotonic() - self.last_at, 1),
                "answered": self.answered,
                "declined": self.declined,
                "failed": self.failed,
                "connections": connections,
                "waiting_for_others": consulting,
                "p50_ms": _percentile(taken, 0.5),
                "p99_ms": _percentile(taken, 0.99),
                "memory_mb": _resident_mb(),
            }
        )


def _percentile(taken: list[float], share: float) -> float | None:
    return round(taken[min(int(len(taken) * share), len(taken) - 1)] * 1000, 3) if taken else None


def _resident_mb() -> float | None:
    """Memory that this process holds, as ``proc_pid_statm(5)`` tells it; ``None`` where there is no such file."""
    try:
        with open("/proc/self/statm", "rb") as file:
            pages = int(file.read().split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return round(pages * os.sysconf("SC_PAGE_SIZE") / 1e6, 1)
