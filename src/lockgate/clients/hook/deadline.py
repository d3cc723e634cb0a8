"""A hook's deadline, held by a signal and by a thread outside of the interpreter. One in a process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from lockgate.clients.hook.options import DEADLINE

GRACE = 0.5
"""Seconds after the deadline until the process is ended from outside the interpreter."""
ANSWER = 10.0
"""Seconds for what comes after the decision: recording what other hooks refused, and writing the answer."""
MARGIN = 10.0
"""Seconds of the client's patience that are left for its own start of this process, and for reading the answer: while
nobody has answered, a refusal with a sentence must come before the client gives up."""


class Deadline:
    """The deadline of this process."""

    def __init__(self, refuse: Callable[[str], object]) -> None:
        """Set none yet.

        Args:
            refuse: Called when time is up, with why: it answers, and ends the process.
        """
        self._refuse = refuse
        self._allowed = DEADLINE
        self._lent = 0.0
        self._began = self._started = time.monotonic()
        self._nowhere = -1
        self.event: str | None = None
        """The event that is answered: how long the client waits depends on it."""

    def start(self, seconds: float, event: str | None, began: float) -> None:
        """Refuse when time is up, even where the code that runs then catches exceptions, or never returns from C.

        Args:
            seconds: For everything that this process does itself.
            event: The event.
            began: When its client began to wait, by the monotonic clock.
        """
        self.event, self._allowed, self._lent, self._began = event, seconds, 0.0, began
        self._started = time.monotonic()
        self._nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        self._arm(seconds)
        self._arm_outside(seconds)

    def bring_forward(self, allowed: float) -> None:
        """Shorten the deadline for a configuration. It cannot get longer than the client waits."""
        left = allowed + self._lent - (time.monotonic() - self._started)
        if left < _seconds_left():
            self._allowed = allowed
            self._arm(max(left, 0.001))

    def prolong(self, seconds: float) -> float:
        """Move the deadline, because somebody else is waited for: a judge, a person. Called before each wait.

        Args:
            seconds: How long that may take.

        Returns:
            How long it may really take: the client does not wait for ever, and after it there must be time to answer.
        """
        left = _seconds_left()
        lent = max(min(seconds, most(self.event) - (time.monotonic() - self._began) - left), 0.0)
        self._lent += lent
        self._arm(left + lent)
        self._arm_outside(left + lent)
        return lent

    def stop(self) -> None:
        """Stop the clock for the answer. From now on only a process that hangs is ended."""
        import signal

        signal.setitimer(signal.ITIMER_REAL, 0)
        self._arm_outside(ANSWER)

    def _arm(self, left: float) -> None:
        import signal

        def expire(*_: object) -> None:
            self._refuse(f"the decision took longer than {self._allowed + self._lent:g} s")

        signal.signal(signal.SIGALRM, expire)
        signal.setitimer(signal.ITIMER_REAL, left)

    def _arm_outside(self, left: float) -> None:
        """Start a thread outside the interpreter that ends the process with status 1. The shell around then blocks."""
        import faulthandler

        faulthandler.dump_traceback_later(left + GRACE, exit=True, file=self._nowhere)


def most(event: str | None) -> float:
    """Seconds after its begin in which a hook of an event can be sure that its client still waits."""
    from lockgate.clients.common.hook_command import hook_timeout

    return hook_timeout(event) - MARGIN


def _seconds_left() -> float:
    import signal

    return signal.getitimer(signal.ITIMER_REAL)[0]
