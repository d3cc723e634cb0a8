"""Waits for a person at another window: in a process that blocks, or in an event loop.

The store is polled slowly. Whoever answers wakes the waiting process (:mod:`lockgate.gate.approvals.wakeups`), and a
shared store tells of answers on other machines. The poll is for a wake-up that could not be set up, or was lost. The
transaction that decides reads what was answered, and whether in time
(:func:`lockgate.gate.approvals.questions.settle`). Nothing here does.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.approvals import wakeups
from lockgate.store.rows import AuditQuery

if TYPE_CHECKING:
    from typing import Any

    from lockgate.core.questions import PersonQuestion
    from lockgate.store.protocol import Store, Transaction

LOOK_SECONDS = 1.0
"""Between two reads of the store by a process that was not woken."""
WATCHERS = "watch"
"""The name under which ``lockgate approvals watch`` waits. No question has it as its id."""

_HEADLESS = "auto"
"""What holds where no configuration says."""

OpenStore = Callable[[], "Store | None"]
"""Opens the store for the thread that asks; ``None`` where there is none (any more)."""


def waits_for_person(
    state: str, options: Mapping[str, Any] | None, watched: Callable[[], bool] = lambda: False
) -> bool:
    """Whether a client that nobody sits before is to wait for a person elsewhere, by ``approvals.headless``.

    Args:
        state: The state folder.
        options: The configuration's ``approvals``.
        watched: Tells whether somebody on another machine watches for questions.
    """
    options = options or {}
    said = options.get("headless", _HEADLESS)
    if said != _HEADLESS:
        return bool(said == "wait")
    if options.get("notify_command") or options.get("webhook"):
        return True
    return wakeups.is_waited_for(state, WATCHERS) or watched()


TOLD_SECONDS = 600.0
"""For how long a program or a server that was told of a question counts as somebody who listens."""


def is_listened_to(state: str, options: Mapping[str, Any] | None, told: bool, watched: Callable[[], bool]) -> bool:
    """Whether a person is known to listen elsewhere, where a table takes one: being configured proves nothing.

    Args:
        state: The state folder.
        options: The configuration's ``approvals``; its ``headless`` chooses.
        told: Whether whoever is told of questions has taken one lately, as :func:`was_told` says.
        watched: Tells whether somebody on another machine watches for questions.
    """
    options = options or {}
    said = options.get("headless", _HEADLESS)
    if said != _HEADLESS:
        return bool(said == "wait")
    if told and (options.get("notify_command") or options.get("webhook")):
        return True
    return wakeups.is_waited_for(state, WATCHERS) or watched()


def was_told(tx: Transaction, now: float) -> bool:
    """Whether a program or a server took a question within ten minutes, as the audit has it."""
    import json

    query = AuditQuery(event="notified", since=now - TOLD_SECONDS, until=now + TOLD_SECONDS)
    return any(json.loads(row.body).get("problem") == "" for row in tx.find_audit(query, limit=20))


def wait(
    state: str,
    question: PersonQuestion,
    open_store: OpenStore,
    *,
    most: float | None = None,
    is_gone: Callable[[], bool] = lambda: False,
) -> None:
    """Block until a question is answered, its time is over, or nobody wants to know any more.

    Args:
        state: The state folder.
        question: The question, which the store has.
        open_store: Opens the store.
        most: Seconds after which to give up, where that is sooner.
        is_gone: Tells whether whoever asked is gone.
    """
    with (
        wakeups.WakeupSocket(state, question.approval) as wakeup,
        _AnswerWait(question, most, is_gone).follow(open_store, wakeup) as waiting,
    ):
        wakeups.wake(state, WATCHERS)
        while (seconds := waiting.seconds()) > 0:
            wakeup.wait(seconds)


async def wait_in_loop(state: str, question: PersonQuestion, open_store: OpenStore) -> None:
    """Do what :func:`wait` does in an event loop. Reading the store takes a fraction of a millisecond."""
    import asyncio

    loop = asyncio.get_running_loop()
    with (
        wakeups.WakeupSocket(state, question.approval) as wakeup,
        _AnswerWait(question).follow(open_store, wakeup) as waiting,
    ):
        wakeups.wake(state, WATCHERS)
        while (seconds := waiting.seconds()) > 0:
            if wakeup.socket is None:
                await asyncio.sleep(seconds)
                continue
            wakeup.socket.setblocking(False)
            with suppress(TimeoutError, OSError):
                await asyncio.wait_for(loop.sock_recv(wakeup.socket, 1), seconds)
                wakeup.drain()


class _AnswerWait:
    """The time that is left to wait for one question."""

    def __init__(
        self, question: PersonQuestion, most: float | None = None, is_gone: Callable[[], bool] = lambda: False
    ) -> None:
        self._question = question
        self._is_gone = is_gone
        self._most = most
        self._until = time.monotonic() if most is None else time.monotonic() + most
        self._store: Store | None = None

    @contextmanager
    def follow(self, open_store: OpenStore, wakeup: wakeups.WakeupSocket) -> Iterator[_AnswerWait]:
        with ExitStack() as stack:
            with suppress(StoreError):  # the transaction that decides will tell
                self._store = store = open_store()
                if store is not None:
                    stack.callback(store.close)
                    left = self._question.expires_at - store.clock()
                    # By a clock that nobody sets: one that is put back must not make it longer.
                    self._until = time.monotonic() + (left if self._most is None else min(left, self._most))
                    stack.enter_context(store.listen(self._on_change(wakeup)))
            yield self

    def _on_change(self, wakeup: wakeups.WakeupSocket) -> Callable[[str], None]:
        """A function that wakes this process when the store tells of this question, or may have missed it."""
        wake = wakeup.waker()
        return lambda approval: wake() if approval in ("", self._question.approval) else None

    def seconds(self) -> float:
        """Seconds until the next read; none where there is nothing more to wait for."""
        left = self._until - time.monotonic()
        return min(left, LOOK_SECONDS) if left > 0 and not self._is_gone() and self._is_open() else 0.0

    def _is_open(self) -> bool:
        if self._store is None:
            return False
        try:
            with self._store.reading() as tx:
                row = tx.approval(self._question.approval)
            return row is not None and row.state == "pending" and not row.is_over(self._store.clock())
        except StoreError as error:
            # Where another process holds it, the next look may tell; where it is newer, the one that decides tells.
            return not error.is_newer
