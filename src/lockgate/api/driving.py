"""Running a gate that belongs to one thread for a program that has several, or an event loop.

All steps of the gate run in one worker thread, one after another: SQLite's connection and the pattern library belong to
it. Between two steps nothing is held, so that a judge or a person who takes long keeps nobody else waiting.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

from lockgate.deliberation import Need, PersonQuestion
from lockgate.events import Answer, Event
from lockgate.gate import Monitor, Parts

T = TypeVar("T")

_ADVISERS = 64
"""Questions that may wait at once for a rule, a judge or a person."""

SyncPerson = Callable[[PersonQuestion], None]
AsyncPerson = Callable[[PersonQuestion], Awaitable[None]]


class Driver:
    """Owns the worker thread and what is only used in it."""

    def __init__(self, make: Callable[[], Parts]) -> None:
        """Start the thread and make the parts in it. Raises what making them raises."""
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="lockgate-gate")
        self._advisers = ThreadPoolExecutor(_ADVISERS, thread_name_prefix="lockgate-adviser")
        try:
            self._parts = self._worker.submit(make).result()
        except BaseException:
            self._worker.shutdown()
            self._advisers.shutdown()
            raise
        self._monitor = Monitor(self._parts)

    def close(self) -> None:
        """End the threads, after the steps that have begun. Questions that wait are left to expire."""
        self._worker.submit(self._parts.store.close).result()
        self._worker.shutdown()
        self._advisers.shutdown(wait=False, cancel_futures=True)

    def submit(self, work: Callable[[Parts], T]) -> Future[T]:
        """Have something done in the worker thread."""
        return self._worker.submit(work, self._parts)

    # ---------------------------------------------------------------- one event
    def answer(self, event: Event, person: SyncPerson) -> Answer:
        """Answer an event, and block until it is answered."""
        deliberation = self._monitor.deliberate(event)
        step: Callable[[], Need | Answer] = _stepper(deliberation, None)
        while True:
            outcome = self._worker.submit(step).result()
            if isinstance(outcome, Answer):
                return outcome
            said = None
            if isinstance(outcome, PersonQuestion):
                person(outcome)
            else:
                said = self._advise(outcome)
            step = _stepper(deliberation, said)

    async def answered(self, event: Event, person: AsyncPerson) -> Answer:
        """Answer an event without blocking the event loop."""
        deliberation = self._monitor.deliberate(event)
        step: Callable[[], Need | Answer] = _stepper(deliberation, None)
        while True:
            outcome = await asyncio.wrap_future(self._worker.submit(step))
            if isinstance(outcome, Answer):
                return outcome
            said = None
            if isinstance(outcome, PersonQuestion):
                await person(outcome)
            else:
                said = await asyncio.wrap_future(self._advisers.submit(self._advise, outcome))
            step = _stepper(deliberation, said)

    def _advise(self, need: Need) -> Any:
        return self._parts.consultants.said(need)

    def wait(self, question: PersonQuestion) -> None:
        """Block until a person has decided elsewhere, or the time is over."""
        self._parts.consultants.wait(question)

    async def waited(self, question: PersonQuestion) -> None:
        """Wait until a person has decided elsewhere, or the time is over."""
        await asyncio.wrap_future(self._advisers.submit(self.wait, question))


def _stepper(deliberation: Any, said: Any) -> Callable[[], Need | Answer]:
    def step() -> Need | Answer:
        try:
            need: Need = deliberation.send(said)
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        return need

    return step
