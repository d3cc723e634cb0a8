"""Being there for questions as long as somebody is who can answer: agents wait then, on this machine and on others."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from lockgate.core.errors import StoreError
from lockgate.gate.approvals.waiting import WATCHERS
from lockgate.gate.approvals.wakeups import WakeupSocket
from lockgate.service.http.context import DashboardContext

_AGAIN_SECONDS = 5.0
"""Between two tries to listen at a shared store that cannot be reached."""


class ApproverPresence:
    """A bell of this machine, and an ear at the store for the others, while it is begun and not ended."""

    def __init__(self, desk: DashboardContext, rung: Callable[[], None], heard: Callable[[str], None]) -> None:
        """Watch nothing yet.

        Args:
            desk: Where the store is.
            rung: Called in the event loop where something may have changed on this machine.
            heard: Called in the event loop with the id of a question that changed on another, or with an empty text.
        """
        self._desk, self._rung, self._heard = desk, rung, heard
        self._bell: WakeupSocket | None = None
        self._end = threading.Event()

    def tend(self, *, wanted: bool) -> None:
        """Begin or end, so that it is as wanted."""
        if wanted and self._bell is None:
            self._begin(asyncio.get_running_loop())
        elif not wanted and self._bell is not None:
            self._stop(asyncio.get_running_loop(), self._bell)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._bell = bell = WakeupSocket(self._desk.where.state, WATCHERS)
        bell.__enter__()
        if bell.socket is not None:
            loop.add_reader(bell.socket.fileno(), self._ring)
        self._end = threading.Event()
        threading.Thread(target=self._listen, args=(loop, self._end), daemon=True).start()

    def _stop(self, loop: asyncio.AbstractEventLoop, bell: WakeupSocket) -> None:
        if bell.socket is not None:
            loop.remove_reader(bell.socket.fileno())
        bell.__exit__(None, None, None)
        self._bell = None
        self._end.set()

    def _ring(self) -> None:
        if self._bell is not None:
            self._bell.quieten()
        self._rung()

    def _listen(self, loop: asyncio.AbstractEventLoop, end: threading.Event) -> None:
        """Listen at the store until the end: by a thread, for to reach a shared one can take a while."""

        def heard(approval: str) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._heard, approval)

        while not end.is_set():
            with suppress(StoreError), self._desk.store() as store:
                if store is not None:
                    with store.listen(heard, watching=True):
                        end.wait()
            end.wait(_AGAIN_SECONDS)
