"""Waiting for a person: woken at once, never longer than the time, by a process that blocks and in an event loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.core.questions import PersonQuestion
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.approvals import waiting, wakeups
from lockgate.gate.approvals.answering import answer
from lockgate.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.slow

CONTEXT = Context("claude-code", Subject("s1"))
LONG = 60.0
"""Seconds that a question is open here. A test that waited so long has failed."""
WAKE = 20.0
"""Less than that, and more than a loaded machine takes."""
Wait = Callable[[str, PersonQuestion], None]


def _opened(state: str) -> Callable[[], SqliteStore | None]:
    return lambda: SqliteStore.open_existing(state, busy_seconds=20)


def _block(state: str, question: PersonQuestion) -> None:
    waiting.wait(state, question, _opened(state))


def _await(state: str, question: PersonQuestion) -> None:
    asyncio.run(waiting.wait_in_loop(state, question, _opened(state)))


@pytest.fixture(params=[_block, _await], ids=["sync", "async"])
def wait(request: pytest.FixtureRequest) -> Wait:
    found: Wait = request.param
    return found


@pytest.fixture
def state(tmp_path: Path) -> str:
    SqliteStore.open(str(tmp_path / "state")).close()
    return str(tmp_path / "state")


def _asked(store: SqliteStore, seconds: float = LONG, name: str = "c1") -> PersonQuestion:
    with store.transaction() as tx:
        row = approvals.ask(
            tx, CONTEXT, ToolCall("Bash", {"command": "x"}, "/", name), "d", "b", {}, time.time(), seconds
        )
    return PersonQuestion(CONTEXT, row.approval, row.expires_at)


def _later(state: str, question: PersonQuestion, **said: Any) -> threading.Thread:
    def say() -> None:
        until = time.monotonic() + WAKE
        while not wakeups.is_waited_for(state, question.approval) and time.monotonic() < until:
            time.sleep(0.005)
        store = SqliteStore.open(state, busy_seconds=20)
        answer(store, state, question.approval, by="ann", **said)
        store.close()

    thread = threading.Thread(target=say)
    thread.start()
    return thread


@pytest.mark.parametrize("approve", [True, False])
def test_an_answer_wakes_it(
    state: str, store: SqliteStore, wait: Wait, approve: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LOOK_SECONDS", LONG)  # so that nothing but the wakeup can
    question = _asked(store)
    began = time.monotonic()
    thread = _later(state, question, approve=approve)
    wait(state, question)
    thread.join()
    assert time.monotonic() - began < WAKE
    assert not wakeups.is_waited_for(state, question.approval)


def test_an_answer_that_was_there_before_is_not_waited_for(state: str, store: SqliteStore, wait: Wait) -> None:
    question = _asked(store)
    answer(store, state, question.approval, approve=True, by="ann")
    began = time.monotonic()
    wait(state, question)
    assert time.monotonic() - began < WAKE


def test_a_bell_that_rings_for_nothing_wakes_nobody_for_good(state: str, store: SqliteStore, wait: Wait) -> None:
    question = _asked(store, seconds=1.0)
    stop = threading.Event()

    def pester() -> None:
        while not stop.wait(0.01):
            wakeups.wake(state, question.approval)

    thread = threading.Thread(target=pester)
    thread.start()
    wait(state, question)
    stop.set()
    thread.join()
    assert time.time() >= question.expires_at


def test_it_ends_with_the_time(state: str, store: SqliteStore, wait: Wait) -> None:
    question = _asked(store, seconds=0.3)
    wait(state, question)
    assert time.time() >= question.expires_at
    wait(state, question._replace(expires_at=0.0))


def test_a_bell_that_was_lost_is_made_up_for(
    state: str, store: SqliteStore, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr("lockgate.gate.approvals.answering.wakeups.wake", lambda *_: 0)
    question = _asked(store)
    thread = _later(state, question, approve=True)
    began = time.monotonic()
    wait(state, question)
    thread.join()
    assert time.monotonic() - began < WAKE


def test_where_no_bell_can_hang_it_looks(
    state: str, store: SqliteStore, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "LOOK_SECONDS", 0.1)
    (Path(state) / wakeups.FOLDER).write_text("")
    question = _asked(store)
    timer = threading.Timer(0.2, lambda: _answered(state, question))
    timer.start()
    began = time.monotonic()
    wait(state, question)
    timer.join()
    assert time.monotonic() - began < WAKE


def _answered(state: str, question: PersonQuestion) -> None:
    store = SqliteStore.open(state, busy_seconds=20)
    answer(store, state, question.approval, approve=True, by="ann")
    store.close()


def test_a_clock_that_is_put_back_does_not_make_it_longer(
    state: str, store: SqliteStore, wait: Wait, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    question = _asked(store, seconds=0.3)
    monkeypatch.setattr(waiting.time, "time", lambda: real() - (3600 if put_back else 0))
    put_back = False
    vigil_began = time.monotonic()

    def jump() -> None:
        nonlocal put_back
        put_back = True

    timer = threading.Timer(0.1, jump)
    timer.start()
    wait(state, question)
    timer.join()
    assert time.monotonic() - vigil_began < WAKE


def test_a_hundred_wait_in_one_event_loop(state: str, store: SqliteStore) -> None:
    questions = [_asked(store, name=f"c{number}") for number in range(100)]

    async def all_of_them() -> None:
        tasks = [asyncio.create_task(waiting.wait_in_loop(state, question, _opened(state))) for question in questions]
        while not all(wakeups.is_waited_for(state, question.approval) for question in questions):
            await asyncio.sleep(0.01)
        for question in questions:
            answer(store, state, question.approval, approve=True, by="ann")
        await asyncio.wait_for(asyncio.gather(*tasks), WAKE)

    asyncio.run(all_of_them())


def test_a_wait_that_is_cancelled_leaves_no_bell(state: str, store: SqliteStore) -> None:
    question = _asked(store)

    async def cancelled() -> None:
        task = asyncio.create_task(waiting.wait_in_loop(state, question, _opened(state)))
        while not wakeups.is_waited_for(state, question.approval):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert not wakeups.is_waited_for(state, question.approval)


def test_waiting_costs_no_processor_time(state: str, store: SqliteStore) -> None:
    """A process that waits, measured by itself."""
    question = _asked(store, seconds=4.0)
    program = """
import sys, time
from lockgate.core.questions import PersonQuestion
from lockgate.gate.approvals import waiting
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.store.sqlite.store import SqliteStore
state, approval, until = sys.argv[1], sys.argv[2], float(sys.argv[3])
before = time.process_time()
waiting.wait(state, PersonQuestion(Context("c", Subject("s1")), approval, until), lambda: SqliteStore.open(state))
print(time.process_time() - before)
"""
    argv = [sys.executable, "-c", program, state, question.approval, str(question.expires_at)]
    done = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert float(done.stdout) < 0.5


@pytest.mark.parametrize(
    ("options", "watched", "waits"),
    [
        (None, False, False),
        ({}, False, False),
        ({"headless": "auto"}, False, False),
        ({}, True, True),
        ({"headless": "auto"}, True, True),
        ({"notify_command": ["true"]}, False, True),
        ({"webhook": {"url": "https://example.com"}}, False, True),
        ({"headless": "wait"}, False, True),
        ({"headless": "deny"}, True, False),
        ({"headless": "deny", "notify_command": ["true"]}, True, False),
    ],
)
def test_who_waits_where_nobody_sits_before_the_client(
    state: str, options: dict[str, Any] | None, watched: bool, waits: bool
) -> None:
    if not watched:
        assert waiting.waits_for_person(state, options) is waits
        return
    with wakeups.WakeupSocket(state, waiting.WATCHERS):
        assert waiting.waits_for_person(state, options) is waits
