"""The clock of a check: about the processor time of the thread that asks, and cheap."""

from __future__ import annotations

import threading
import time

from hypothesis import given
from hypothesis import strategies as st

from lockgate.configuration.pattern_library.opening import ProcessorTime

_STEPS = st.lists(st.tuples(st.floats(0, 0.02), st.floats(0, 1)), min_size=1, max_size=40)
"""What passes between two questions in seconds, and which part of it the thread ran."""
_MOST = 0.005


@given(_STEPS)
def test_it_is_at_most_a_few_milliseconds_too_much(steps: list[tuple[float, float]]) -> None:
    passed = ran = 0.0
    clock = ProcessorTime(lambda: ran, lambda: passed)
    for passing, part in steps:
        passed += passing
        ran += passing * part
        assert ran - 1e-9 <= clock() <= ran + _MOST + 1e-9


def test_the_system_is_asked_once_in_a_while() -> None:
    asked: list[float] = []
    now = 0.0

    def exact() -> float:
        asked.append(now)
        return now

    clock = ProcessorTime(exact, lambda: now)
    for _ in range(1000):
        now += 0.0001
        clock()
    assert 10 <= len(asked) <= 25


def test_what_another_thread_ran_is_not_counted() -> None:
    clock = ProcessorTime()
    told: list[float] = []

    def rest() -> None:
        began = clock()
        for _ in range(20):
            time.sleep(0.01)
            told.append(clock() - began)

    resting = threading.Thread(target=rest)
    resting.start()
    began = clock()
    until = time.monotonic() + 60.0
    while resting.is_alive() or (clock() - began <= 0.02 and time.monotonic() < until):
        clock()
    assert clock() - began > 0.02  # this one was busy, as far as others let it
    assert max(told) < 0.1  # of 0.2 seconds, and whatever the busy one used


def test_a_thread_that_has_the_number_of_one_that_ended_begins_anew() -> None:
    clock = ProcessorTime()
    went_back: list[float] = []

    def work() -> None:
        began = clock()
        until = time.thread_time() + 0.02
        while time.thread_time() < until:
            pass
        went_back.append(clock() - began)

    for _ in range(10):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert min(went_back) > 0.01
