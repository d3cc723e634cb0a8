"""When a process that decides all the time looks for garbage: seldom, and never at length while somebody waits.

What decisions leave is freed at once, but for what points at itself. To look through all that a gate remembers takes
tens of milliseconds; to look through what is new since the last time takes less than one.
"""

from __future__ import annotations

import gc

_NEW = 1000
"""Decisions after which what is new is looked through."""
_ALL = 50_000
"""Decisions after which everything is, where there was no second without one."""


class Garbage:
    """Stands in for the interpreter's own rule, which must be switched off (``gc.disable``)."""

    def __init__(self) -> None:
        """Nothing was decided yet."""
        self._since_new = self._since_all = self._since_look = 0

    def decided(self) -> None:
        """Told after each answer."""
        self._since_new += 1
        self._since_all += 1
        self._since_look += 1
        if self._since_all >= _ALL:
            self._collect_all()
        elif self._since_new >= _NEW:
            self._since_new = 0
            gc.collect(1)

    def looked(self) -> None:
        """Told once a second: if nothing was decided since the last time, nobody is in a hurry."""
        if self._since_all and not self._since_look:
            self._collect_all()
        self._since_look = 0

    def _collect_all(self) -> None:
        self._since_new = self._since_all = 0
        gc.collect()
