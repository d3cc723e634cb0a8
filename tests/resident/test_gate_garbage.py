"""Garbage that points at itself goes, whether there is an idle second or not, and rarely by looking at everything."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterator

import pytest

from lockgate.service.resident import loop as garbage
from lockgate.service.resident.loop import GarbageCollector


class Ring:
    """Something that points at itself."""

    def __init__(self) -> None:
        self.me = self


@pytest.fixture(autouse=True)
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def generations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    seen: list[int] = []
    collect = gc.collect
    monkeypatch.setattr(gc, "collect", lambda generation=2: (seen.append(generation), collect(generation))[1])
    return seen


def ring() -> weakref.ref[Ring]:
    return weakref.ref(Ring())


def old_ring() -> weakref.ref[Ring]:
    """One that was in use while what was new was looked through."""
    made = Ring()
    gc.collect(1)
    return weakref.ref(made)


def test_what_is_new_goes_after_some_decisions() -> None:
    left, kept = ring(), GarbageCollector()
    for _ in range(garbage._NEW - 1):
        kept.note_decision()
    assert left() is not None
    kept.note_decision()
    assert left() is None


def test_what_is_older_goes_in_a_second_without_decisions(generations: list[int]) -> None:
    left, kept = old_ring(), GarbageCollector()
    generations.clear()
    kept.note_decision()
    kept.collect_if_idle()
    assert left() is not None
    kept.collect_if_idle()
    assert left() is None
    kept.collect_if_idle()
    assert generations == [2]


def test_what_is_older_goes_without_any_such_second(generations: list[int]) -> None:
    left, kept = old_ring(), GarbageCollector()
    generations.clear()
    for number in range(garbage._ALL):
        kept.note_decision()
        if number % 500 == 0:
            kept.collect_if_idle()
    assert left() is None
    assert generations.count(2) == 1
