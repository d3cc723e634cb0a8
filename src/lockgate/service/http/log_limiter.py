"""A log that nobody can fill by asking and being refused, as often as any page in the person's browser likes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

MOST = 20
"""Lines that say the same, but for their facts, within :data:`SECONDS`."""
SECONDS = 60.0


class Sparing(logging.Filter):
    """Leaves out what was said too often, and has the next line of its kind tell how many were."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing was said yet.

        Args:
            clock: Seconds of a monotonic clock.
        """
        super().__init__()
        self._clock = clock
        self._said: dict[str, tuple[float, int]] = {}
        """Since when each text is counted, which is one of this program's own, and how often it was to be said."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        now = self._clock()
        since, count = self._said.get(record.msg, (now, 0))
        if now - since >= SECONDS:
            if count > MOST:
                record.facts = {**getattr(record, "facts", {}), "left_out": count - MOST}
            since, count = now, 0
        self._said[record.msg] = since, count + 1
        return count < MOST
