"""Who is next: the group that has had the least of the worker's time.

Whoever asks for much waits behind its own requests, and nobody else does (start-time fair queueing: a group that was
idle begins where the busy ones are, and cannot save time up).
"""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

T = TypeVar("T")


class FairQueue(Generic[T]):
    """Jobs of many groups. Those of one group keep their order. Belongs to one event loop."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[T]] = {}
        self._spent: dict[str, float] = {}
        self._now = 0.0
        self._filled = asyncio.Event()

    def put(self, group: str, job: T) -> None:
        """Add a job behind those of its group."""
        if group not in self._waiting:
            self._waiting[group] = deque()
            self._spent[group] = max(self._spent.get(group, 0.0), self._now)
        self._waiting[group].append(job)
        self._filled.set()

    async def take(self) -> tuple[str, T]:
        """The next job with its group, once there is one."""
        while not self._waiting:
            self._filled.clear()
            await self._filled.wait()
        group = min(self._waiting, key=self._spent.__getitem__)
        self._now = self._spent[group]
        jobs = self._waiting[group]
        job = jobs.popleft()
        if not jobs:
            del self._waiting[group]
        return group, job

    def charge(self, group: str, seconds: float) -> None:
        """Say how much of the worker's time a group's job took."""
        self._spent[group] = self._spent.get(group, 0.0) + seconds
        if len(self._spent) > 4096:
            self._spent = {name: spent for name, spent in self._spent.items() if name in self._waiting}

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))
