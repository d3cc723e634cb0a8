"""How long a step of a gate may take: a timer that rings for all of them interrupts the one that does not end."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator

import pytest

from lockgate.service.resident import loop as limits
from lockgate.service.resident.loop import Limit, TookTooLong


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> Iterator[Limit]:
    """One of a fifth of a second."""
    monkeypatch.setattr(limits, "STEP_SECONDS", 0.2)
    monkeypatch.setattr(limits, "_AGAIN", 0.02)
    made = Limit()
    before = signal.signal(signal.SIGALRM, made.rang)
    yield made
    made.stop()
    signal.signal(signal.SIGALRM, before)


def seconds_until_interrupted(limit: Limit) -> float:
    began = time.monotonic()
    with pytest.raises(TookTooLong):
        try:
            limit.begin()
            while time.monotonic() - began < 10.0:
                pass
        finally:
            limit.end()
    return time.monotonic() - began


def is_set() -> bool:
    return signal.getitimer(signal.ITIMER_REAL)[0] > 0


def test_a_step_that_does_not_end_is_interrupted(limit: Limit) -> None:
    assert 0.2 <= seconds_until_interrupted(limit) < 5.0


def test_so_is_one_that_begins_while_the_timer_of_others_is_running(limit: Limit) -> None:
    for _ in range(3):
        limit.begin()
        time.sleep(0.05)
        limit.end()
    assert 0.2 <= seconds_until_interrupted(limit) < 5.0, "and not before it has had its time"


def test_steps_that_end_are_not_interrupted_however_many_there_are(limit: Limit) -> None:
    until = time.monotonic() + 0.6
    while time.monotonic() < until:
        limit.begin()
        limit.end()


def test_nothing_is_interrupted_between_two_steps_and_the_timer_ends(limit: Limit) -> None:
    limit.begin()
    limit.end()
    assert is_set()
    until = time.monotonic() + 10.0
    while is_set() and time.monotonic() < until:
        time.sleep(0.01)
    assert not is_set()
    assert seconds_until_interrupted(limit) < 5.0, "and is set again for the next one"


def test_a_step_is_interrupted_once(limit: Limit) -> None:
    limit.begin()
    with pytest.raises(TookTooLong):
        time.sleep(10.0)
    time.sleep(0.1)  # what is done about it
