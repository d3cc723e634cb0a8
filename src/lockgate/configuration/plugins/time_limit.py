"""Runs functions of plugins within a time limit.

Each call runs in a thread of its own, and what is ``async`` in an event loop of its own there: whatever a plugin does,
the gate goes on. Python cannot end a thread. One that is late is left behind, and its answer does not count any more.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from lockgate.core.record import Record

MOST_LATE = 8
"""Calls of one plugin that may be left behind; with more it is not asked any more, until some of them come back."""

_AFTER = 0.1
"""Seconds after which what is late is cancelled."""


class TimedOutcome(Record):
    """The outcome of a call: a value, or an error."""

    value: Any = None
    error: BaseException | None = None
    late: bool = False
    """Whether it has not come back in time."""


class AbandonedCalls:
    """Counts the calls of one plugin that were left behind and still run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = 0

    @property
    def too_many(self) -> bool:
        """Whether another call could be one too many."""
        return self._count >= MOST_LATE

    def add(self, change: int) -> None:
        """Count one more, or one less."""
        with self._lock:
            self._count += change


class _Call:
    """One call in its thread. Whether it is late is settled once, under a lock."""

    def __init__(self, work: Callable[[], Any], seconds: float, late: AbandonedCalls) -> None:
        self._work, self._until, self._late = work, time.monotonic() + seconds, late
        self._lock = threading.Lock()
        self._back = threading.Event()
        self._left = False
        self.outcome = TimedOutcome(late=True)

    def run(self) -> None:
        try:
            value = self._work()
            if hasattr(type(value), "__await__"):
                value = _await(value, self._until - time.monotonic())
            outcome = TimedOutcome(value)
        except BaseException as error:  # noqa: BLE001 - also SystemExit: a plugin decides about a call, and nothing else
            outcome = TimedOutcome(error=error)
        with self._lock:
            if self._left:
                self._late.add(-1)
            else:
                self.outcome = outcome
            self._back.set()

    def wait(self) -> TimedOutcome:
        self._back.wait(max(self._until - time.monotonic(), 0))
        with self._lock:
            if not self._back.is_set():
                self._left = True
                self._late.add(1)
        return self.outcome


def call(work: Callable[[], Any], seconds: float, late: AbandonedCalls) -> TimedOutcome:
    """Run a function, and what it gives to be awaited, for at most so many seconds. Never raises."""
    if late.too_many:
        return TimedOutcome(late=True)
    made = _Call(work, seconds, late)
    thread = threading.Thread(target=made.run, name="lockgate-plugin", daemon=True)
    try:
        thread.start()
    except RuntimeError as error:  # no more threads
        return TimedOutcome(error=error)
    return made.wait()


def _await(value: Awaitable[Any], seconds: float) -> Any:
    import asyncio

    async def run_bounded() -> Any:
        # What can be cancelled is, so that its thread ends too: once nobody waits for it any more.
        return await asyncio.wait_for(value, max(seconds, 0) + _AFTER)

    return asyncio.run(run_bounded())
