"""Worker threads that decide on requests, and the order in which groups get their turn.

A group belongs to one worker, so that its requests are decided on in their order: what a container reports is known
before its next request is looked at. A step ends where somebody else has to be asked, so nobody waits for a judge or a
person but who asked.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Generic, TypeVar
from zlib import crc32

from lockgate.gate import Parts
from lockgate.service.containers.remote_gate import OpenRequest, remote_parts
from lockgate.system.folders import Folders

T = TypeVar("T")

_Job = tuple[Callable[[Parts], Any], "asyncio.Future[Any]"]


class Worker:
    """One thread with a gate of its own. Belongs to one event loop."""

    def __init__(self, where: Folders) -> None:
        """Open the gate in the thread. Raises what that raises."""
        self._case: OpenRequest | None = None
        self._queue: FairQueue[_Job] = FairQueue()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="lockgate-gate")
        try:
            self._parts = self._thread.submit(remote_parts, where, self._current).result()
        except BaseException:
            self._thread.shutdown()
            raise

    def _current(self) -> OpenRequest:
        assert self._case is not None
        return self._case

    def close(self) -> None:
        """End the thread."""
        self._thread.submit(self._parts.store.close).result()
        self._thread.shutdown()

    async def run(self) -> None:
        """Do what is asked, until cancelled."""
        while True:
            group, (work, done) = await self._queue.take()
            if done.cancelled():
                continue
            began = time.perf_counter()
            try:
                result = await asyncio.wrap_future(self._thread.submit(work, self._parts))
            except Exception as error:  # noqa: BLE001 - it is told to whoever waits
                if not done.cancelled():
                    done.set_exception(error)
            else:
                if not done.cancelled():
                    done.set_result(result)
            self._queue.charge(group, time.perf_counter() - began)

    async def do(self, group: str, work: Callable[[Parts], T]) -> T:
        """Run a function in the thread, when it is the group's turn."""
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._queue.put(group, (work, done))
        return await done

    async def step(self, case: OpenRequest, work: Callable[[Parts], T]) -> T:
        """Do one step of a decision."""
        return await self.do(case.group.name, partial(self._with, case, work))

    def _with(self, case: OpenRequest, work: Callable[[Parts], T], parts: Parts) -> T:
        return self.run_for(case, partial(work, parts))

    def run_for(self, case: OpenRequest, work: Callable[[], T]) -> T:
        """Run something in the thread itself, as a part of a decision."""
        self._case = case
        try:
            return work()
        finally:
            self._case = None

    def __len__(self) -> int:
        return len(self._queue)


class Workers:
    """All workers."""

    def __init__(self, where: Folders, count: int) -> None:
        """Open them. Raises what opening the state raises."""
        self.where = where
        self._all: Sequence[Worker] = [Worker(where) for _ in range(count)]

    def of(self, group: str) -> Worker:
        """The worker of a group."""
        return self._all[crc32(group.encode()) % len(self._all)]

    def run(self) -> list[asyncio.Task[None]]:
        """Start them. The tasks end when they are cancelled."""
        return [asyncio.create_task(worker.run(), name="lockgate-worker") for worker in self._all]

    def close(self) -> None:
        """End the threads."""
        for worker in self._all:
            worker.close()


class FairQueue(Generic[T]):
    """Jobs of many groups. Next is the group that has had the least of the worker's time. Belongs to one event loop.

    Whoever asks for much waits behind its own requests (start-time fair queueing). A group that was idle begins where
    the busy ones are, and cannot save time up. The jobs of one group keep their order.
    """

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
