"""Who is next: nobody waits behind somebody else's requests."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from lockgate.service.containers.workers import FairQueue


def _order(queue: FairQueue[int], count: int, cost: dict[str, float]) -> list[tuple[str, int]]:
    async def take() -> list[tuple[str, int]]:
        taken = []
        for _ in range(count):
            group, job = await queue.take()
            queue.charge(group, cost.get(group, 1.0))
            taken.append((group, job))
        return taken

    return asyncio.run(take())


def test_one_request_is_not_behind_a_hundred_of_another() -> None:
    queue: FairQueue[int] = FairQueue()
    for job in range(100):
        queue.put("flood", job)
    queue.put("quiet", 0)
    assert ("quiet", 0) in _order(queue, 2, {})


def test_who_asks_for_what_takes_long_is_asked_for_less_often() -> None:
    queue: FairQueue[int] = FairQueue()
    for job in range(50):
        queue.put("slow", job)
        queue.put("quick", job)
    first = [group for group, _ in _order(queue, 22, {"slow": 10.0, "quick": 1.0})]
    assert first.count("slow") <= 3


def test_time_cannot_be_saved_up() -> None:
    """Who was idle for long does not go before all others for as long."""
    queue: FairQueue[int] = FairQueue()
    for job in range(20):
        queue.put("busy", job)
    _order(queue, 20, {})
    for job in range(20):
        queue.put("busy", job)
        queue.put("late", job)
    first = [group for group, _ in _order(queue, 10, {})]
    assert 4 <= first.count("busy") <= 6


@given(st.lists(st.sampled_from("abc"), max_size=30), st.dictionaries(st.sampled_from("abc"), st.floats(0, 5)))
def test_each_job_is_taken_once_and_those_of_a_group_in_order(groups: list[str], cost: dict[str, float]) -> None:
    queue: FairQueue[int] = FairQueue()
    for job, group in enumerate(groups):
        queue.put(group, job)
    taken = _order(queue, len(groups), cost)
    assert sorted(job for _, job in taken) == list(range(len(groups)))
    for name in "abc":
        own = [job for group, job in taken if group == name]
        assert own == sorted(own)
