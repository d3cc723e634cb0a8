"""Decides on one request of a container, however it arrived."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Protocol, TypeVar

from lockgate.clients.wire.messages import LONGEST_WAIT, ContainerRequest, HostReply, read_request, write_reply
from lockgate.clients.wire.short_form import is_short, read_short, write_short
from lockgate.core.errors import BadInputError, LockgateError, RemoteError
from lockgate.core.events import Answer, ToolRequested
from lockgate.core.questions import Need, PersonQuestion
from lockgate.core.record import Record
from lockgate.gate import Monitor, Parts
from lockgate.gate.approvals import notification_text, waiting
from lockgate.service.containers.groups import ContainerGroup
from lockgate.service.containers.remote_gate import OpenRequest
from lockgate.service.containers.replays import Replays
from lockgate.service.containers.workers import Worker, Workers
from lockgate.store.opening import open_existing

T = TypeVar("T")
log = logging.getLogger("lockgate.service.containers")
_ADVISERS, _ADVISERS_OF_A_GROUP = 64, 8
"""Judges, rules and plugins that are waited for at a time, at most."""
MOST_OF_A_GROUP = 64
"""Requests of one group that are open at a time: waiting for their turn, a judge or a person."""


class Expected(Protocol):
    """The facts of a request that are known before it is read."""

    @property
    def id(self) -> str:
        """Its id; empty where the way knows none."""

    @property
    def report(self) -> bool:
        """Whether it is a report."""


class ReadRequest(Record):
    """A request that was read."""

    message: bytes
    name: str
    """The id that the answer is to carry."""
    case: OpenRequest | None
    short: bool = False
    problem: str = ""
    """Why it cannot be decided on; empty where it can."""


class ContainerDecisions:
    """Decides for all groups. Belongs to one event loop."""

    def __init__(self, workers: Workers) -> None:
        """Use the workers, which the caller starts and closes."""
        self._workers = workers
        self._replays = Replays()
        self._open: dict[str, int] = {}
        self._advisers = ThreadPoolExecutor(_ADVISERS, thread_name_prefix="lockgate-adviser")
        self._turns: dict[str, asyncio.Semaphore] = {}

    def has_room(self, group: str) -> bool:
        """Whether one more request of a group may be put."""
        return self._open.get(group, 0) < MOST_OF_A_GROUP

    async def decide(self, group: ContainerGroup, read: Callable[[], bytes], expected: Expected) -> bytes:
        """The sealed answer to a request.

        Args:
            group: Whose it is, as the way says that it came: the request itself has no say in it.
            read: Gives the message; called when it is the group's turn. May raise ``RemoteError``.
            expected: What the way knows of it already, which the message must not contradict.

        Raises whatever ``read`` raises.
        """
        self._open[group.name] = self._open.get(group.name, 0) + 1
        began = time.perf_counter()
        try:
            worker = self._workers.of(group.name)
            begun = await worker.do(group.name, partial(_begin, worker, self._replays, group, read, expected))
            asked = begun.request
            reply = await self._settle(worker, asked, begun.outcome)
        finally:
            self._open[group.name] -= 1
            if not self._open[group.name]:
                del self._open[group.name]
        _log_answer(group, asked, reply, time.perf_counter() - began)
        write = write_short if asked.short else write_reply
        return write(group.secret, asked.message, asked.name, reply)

    async def _run_apart(self, group: ContainerGroup, work: Callable[[], T]) -> T:
        """Run a blocking function in another thread. One group does not take all threads for itself."""
        turns = self._turns.setdefault(group.name, asyncio.Semaphore(_ADVISERS_OF_A_GROUP))
        async with turns:
            return await asyncio.get_running_loop().run_in_executor(self._advisers, work)

    def close(self) -> None:
        """End the threads. Their open questions stay unanswered."""
        self._advisers.shutdown(wait=False, cancel_futures=True)

    async def _settle(self, worker: Worker, asked: ReadRequest, outcome: _Outcome) -> HostReply:
        while not isinstance(outcome, HostReply):
            pending = outcome
            case = asked.case
            assert case is not None
            said = await self._ask(worker, case, pending.need)
            outcome = await worker.step(case, lambda _: _step(case, pending.deliberation, said))  # noqa: B023 - awaited here
        return outcome

    async def _ask(self, worker: Worker, case: OpenRequest, need: Need) -> Any:
        """Fetch an answer. The worker goes on with other requests meanwhile."""
        if not isinstance(need, PersonQuestion):
            consultants = await worker.step(case, lambda parts: parts.consultants)
            return await self._run_apart(case.group, partial(consultants.ask, need))
        state = self._workers.where.state
        await self._run_apart(case.group, partial(notification_text.start, self._workers.where, need))
        await waiting.wait_in_loop(state, need, lambda: open_existing(state))
        return None


class _Pending(Record):
    """A decision that waits for an answer."""

    need: Need
    deliberation: Generator[Need, Any, Answer]


_Outcome = HostReply | _Pending


class _FirstStep(Record):
    """A request that was read, and its first outcome."""

    request: ReadRequest
    outcome: _Outcome


def make_waiting_note(group: ContainerGroup, message: bytes, name: str) -> bytes:
    """The sealed note that an answer takes longer: somebody is being asked, or many requests wait."""
    return write_reply(group.secret, message, name, HostReply(Answer(), waiting=LONGEST_WAIT))


def refusal(group: ContainerGroup, message: bytes, name: str, why: str) -> bytes:
    """The sealed answer to a request that will not be decided on."""
    return write_reply(group.secret, message, name, HostReply(Answer(), failed=why))


# ---------------------------------------------------------------- in the worker's thread
def _begin(
    worker: Worker, replays: Replays, group: ContainerGroup, read: Callable[[], bytes], expected: Expected, parts: Parts
) -> _FirstStep:
    asked = _read_request(replays, group, read(), expected)
    if asked.case is None:
        return _FirstStep(asked, HostReply(Answer(), failed=asked.problem))
    return _FirstStep(asked, worker.run_for(asked.case, partial(_take_first_step, parts, asked.case)))


def _read_request(replays: Replays, group: ContainerGroup, message: bytes, expected: Expected) -> ReadRequest:
    short = is_short(message)
    try:
        if short:
            shown, request = read_short(message)
        else:
            request = read_request(group.secret, message)
            shown = request.id
        if expected.id and request.id != expected.id:
            raise RemoteError("the request has another id than its file")
        if request.report != expected.report:
            raise RemoteError("the request and the way that it came disagree on whether it is a report")
        replays.use(group.name, request)
        return ReadRequest(message, shown, OpenRequest(group, request), short)
    except (RemoteError, BadInputError) as error:
        return ReadRequest(message, expected.id or "0" * 32, None, short, str(error))


def _take_first_step(parts: Parts, case: OpenRequest) -> _Outcome:
    if case.request.report:
        return _report(parts, case)
    return _step(case, Monitor(parts).deliberate(case.event), None)


def _report(parts: Parts, case: OpenRequest) -> HostReply:
    if not isinstance(case.event, ToolRequested):
        return HostReply(Answer(), failed="only a call that runs can be reported")
    try:
        if not Monitor(parts).note_reported(case.event):
            log.warning("discrepancy", extra={"facts": {"group": case.group.name}})
    except Exception as error:  # noqa: BLE001 - whatever it was, it is said
        return _failure(case, error)
    return HostReply(Answer())


def _step(case: OpenRequest, deliberation: Generator[Need, Any, Answer], said: Any) -> _Outcome:
    """Take one step of a decision: to the answer, or to the next question."""
    try:
        return _Pending(deliberation.send(said), deliberation)
    except StopIteration as end:
        return HostReply(end.value, case.kept)
    except Exception as error:  # noqa: BLE001 - whatever it was, it is said
        return _failure(case, error)


def _failure(case: OpenRequest, error: Exception) -> HostReply:
    if isinstance(error, LockgateError):
        return HostReply(Answer(), failed=str(error))
    log.error("failed", exc_info=error, extra={"facts": {"group": case.group.name}})
    return HostReply(Answer(), failed=f"an internal error ({type(error).__name__})")


def _log_answer(group: ContainerGroup, asked: ReadRequest, reply: HostReply, seconds: float) -> None:
    """Log what was answered: never what was asked, which may hold anything."""
    request: ContainerRequest | None = asked.case.request if asked.case else None
    facts = {
        "group": group.name,
        "id": asked.name,
        "event": type(request.event).__name__ if request else "",
        "report": request.report if request else False,
        "verdict": "failed" if reply.failed else reply.answer.verdict.word,
        "ms": round(seconds * 1000, 1),
    }
    log.log(logging.WARNING if reply.failed else logging.INFO, "answered", extra={"facts": facts})
