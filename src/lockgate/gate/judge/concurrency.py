"""Limits how many questions are under way at once, over all processes of this machine.

A slot is a locked file. The lock goes with the process, however that ends, so none is lost.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from lockgate.core.errors import JudgeError
from lockgate.gate.judge.settings import FOLDER
from lockgate.system.ownership import make_folders

_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.1
"""Seconds between two looks: little beside the second that an answer takes."""


class Slots:
    """The slots of a state folder."""

    def __init__(self, state: str, count: int) -> None:
        self._folder = os.path.join(state, FOLDER)
        self._count = count

    @asynccontextmanager
    async def hold(self) -> AsyncIterator[None]:
        """Hold a slot; waits for one for as long as the caller lets it.

        Raises:
            JudgeError: The state folder cannot be used.
        """
        import asyncio

        pause = _FIRST_PAUSE
        while (slot := self._take()) is None:
            await asyncio.sleep(pause)
            pause = min(pause * 1.5, _LONGEST_PAUSE)
        try:
            yield
        finally:
            os.close(slot)

    def _take(self) -> int | None:
        """The descriptor of a free slot, or ``None``."""
        try:
            make_folders(self._folder)
            # Each begins elsewhere, so that many do not all knock at the first.
            for place in range(self._count):
                slot = self._lock((os.getpid() + place) % self._count)
                if slot is not None:
                    return slot
        except OSError as error:
            raise JudgeError(f"the state folder cannot be used ({error.strerror})") from None
        return None

    def _lock(self, number: int) -> int | None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(os.path.join(self._folder, f"slot-{number}"), flags, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor
