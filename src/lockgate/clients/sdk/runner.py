"""Runs a gate that belongs to one thread for a program with several threads or an event loop.

All steps of the gate run in one worker thread, one after another: SQLite's connection and the pattern library belong to
it. Between two steps nothing is held, so that a judge or a person who takes long keeps nobody else waiting.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from lockgate.core.errors import LockgateError
from lockgate.core.events import Answer, Event
from lockgate.core.questions import Deliberation, Need, PersonQuestion
from lockgate.gate import Monitor, Parts

T = TypeVar("T")

_ADVISERS = 64
"""Questions that may wait at once for a rule or a judge."""

SyncPerson = Callable[[PersonQuestion], None]
AsyncPerson = Callable[[PersonQuestion], Awaitable[None]]


class Driver:
    """Owns the worker thread and what is only used in it."""

    def __init__(self, make: Callable[[], Parts], waited: AsyncPerson) -> None:
        """Start the thread and make the parts in it. Raises what making them raises.

        Args:
            make: Makes the parts.
            waited: Waits in an event loop until a person has decided elsewhere, or the time is over.
        """
        self._waited = waited
        self._waiting: set[asyncio.Future[None]] = set()
        self._closed = False
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="lockgate-gate")
        self._advisers = ThreadPoolExecutor(_ADVISERS, thread_name_prefix="lockgate-adviser")
        try:
            self._parts = self._worker.submit(make).result()
        except BaseException:
            self._worker.shutdown()
            self._advisers.shutdown()
            raise
        self._monitor = Monitor(self._parts)
        self._unchanged = Monitor(self._parts._replace(contain=lambda *_: None))

    def close(self) -> bool:
        """End the threads, after the steps that have begun. Who waits in an event loop for a person waits no more.

        What is decided afterwards is an error, so that it is denied. A question to a person is left to expire.

        Returns:
            Whether this closed it: it may be closed already, or be another process's.
        """
        with self._lock:
            if self._closed or os.getpid() != self._process:
                return False
            self._closed = True
            ended = self._worker.submit(self._parts.store.close)
            waiting = list(self._waiting)
        for future in waiting:
            _wake(future)
        ended.result()
        self._worker.shutdown()
        self._advisers.shutdown(wait=False)
        return True

    def submit(self, work: Callable[[Parts], T]) -> Future[T]:
        """Run a function in the worker thread.

        Raises:
            LockgateError: The gate is closed.
        """
        return self._submit(lambda: work(self._parts))

    def _submit(self, step: Callable[[], T]) -> Future[T]:
        if os.getpid() != self._process:
            # Its threads and its connection stayed behind: whoever waited for them would wait for ever.
            raise LockgateError("the gate was opened by another process; open one in each, after the fork")
        with self._lock:
            if self._closed:
                raise LockgateError("the gate is closed")
            return self._worker.submit(step)

    # ---------------------------------------------------------------- one event
    def answer(self, event: Event, person: SyncPerson, *, rewrites: bool = True) -> Answer:
        """Answer an event, and block until it is answered.

        Args:
            event: The event.
            person: Has a person asked.
            rewrites: Whether the caller can run a call with another input: else none is contained.
        """
        deliberation = self._deliberation(event, rewrites)
        step: Callable[[], Need | Answer] = _stepper(deliberation, None)
        while True:
            outcome = self._submit(step).result()
            if isinstance(outcome, Answer):
                return outcome
            ask = None
            if isinstance(outcome, PersonQuestion):
                person(outcome)
            else:
                ask = self._advise(outcome)
            step = _stepper(deliberation, ask)

    async def answer_async(self, event: Event, person: AsyncPerson, *, rewrites: bool = True) -> Answer:
        """Do what :meth:`answer` does without blocking the event loop."""
        deliberation = self._deliberation(event, rewrites)
        step: Callable[[], Need | Answer] = _stepper(deliberation, None)
        while True:
            outcome = await asyncio.wrap_future(self._submit(step))
            if isinstance(outcome, Answer):
                return outcome
            ask = None
            if isinstance(outcome, PersonQuestion):
                await person(outcome)
            else:
                ask = await asyncio.wrap_future(self._advisers.submit(self._advise, outcome))
            step = _stepper(deliberation, ask)

    def _deliberation(self, event: Event, rewrites: bool) -> Deliberation:
        return (self._monitor if rewrites else self._unchanged).deliberate(event)

    def _advise(self, need: Need) -> Any:
        return self._parts.consultants.ask(need)

    def wait(self, question: PersonQuestion) -> None:
        """Block until a person has decided elsewhere, or the time is over."""
        self._parts.consultants.wait(question)

    async def wait_async(self, question: PersonQuestion) -> None:
        """Wait until a person has decided elsewhere, the time is over, or the gate is closed."""
        closing: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        decided = asyncio.ensure_future(self._waited(question))
        with self._lock:
            if self._closed:
                _wake(closing)
            self._waiting.add(closing)
        try:
            await asyncio.wait((decided, closing), return_when=asyncio.FIRST_COMPLETED)
            if decided.done():
                decided.result()
        finally:
            with self._lock:
                self._waiting.discard(closing)
            decided.cancel()
            closing.cancel()


def _wake(future: asyncio.Future[None]) -> None:
    """End a future of any event loop, from any thread."""

    def end() -> None:
        if not future.done():
            future.set_result(None)

    with suppress(RuntimeError):  # its event loop is closed
        future.get_loop().call_soon_threadsafe(end)


def _stepper(deliberation: Deliberation, ask: Any) -> Callable[[], Need | Answer]:
    def step() -> Need | Answer:
        try:
            need: Need = deliberation.send(ask)
        except StopIteration as end:
            answer: Answer = end.value
            return answer
        return need

    return step
