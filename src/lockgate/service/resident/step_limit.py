"""How long one step of a gate may take: one that does not end is interrupted, by a signal."""

from __future__ import annotations

import signal
import time

STEP_SECONDS = 2.0
"""How long one step of a decision may take. A hook decides by itself before that, and refuses soon after."""
_AGAIN = 0.1
"""Seconds between two rings from then on: by so much more a step may take."""
_NONE = float("inf")


class TookTooLong(BaseException):
    """A step did not end. It is no ``Exception``, so that no code under way takes it for one of its own."""


class Limit:
    """Has a timer ring as long as there are steps, which looks at how long the one under way has taken.

    To set a timer before each step, and to stop it afterwards, would be two calls of the system for each.
    """

    def __init__(self) -> None:
        """No step is under way."""
        self._began = _NONE
        self._rings = False

    def begin(self) -> None:
        """A step begins."""
        self._began = time.monotonic()  # first: a ring that sees no step is the last one
        if not self._rings:
            self._rings = True
            signal.setitimer(signal.ITIMER_REAL, STEP_SECONDS, _AGAIN)

    def end(self) -> None:
        """The step has ended."""
        self._began = _NONE

    def rang(self, *_: object) -> None:
        """What the signal calls.

        Raises:
            TookTooLong: The step under way has taken too long; once, as for a timer of its own.
        """
        if self._began == _NONE:
            self.stop()
        elif time.monotonic() - self._began >= STEP_SECONDS:
            self._began = _NONE
            raise TookTooLong

    def stop(self) -> None:
        """Have nothing ring any more, until a step begins."""
        self._rings = False
        signal.setitimer(signal.ITIMER_REAL, 0)
