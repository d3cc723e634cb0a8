"""Tells all gates that an approver looks at the dashboard, so that agents may wait for an answer."""

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
"""Seconds between two tries to listen at a shared store that cannot be reached."""


class ApproverPresence:
    """Listens for questions of this machine by a socket, and for those of others by the store, from begin to end."""

    def __init__(
        self, dashboard: DashboardContext, on_change: Callable[[], None], on_remote: Callable[[str], None]
    ) -> None:
        """Watch nothing yet.

        Args:
            dashboard: Where the store is.
            on_change: Called in the event loop where something may have changed on this machine.
            on_remote: Called there with the id of a question that changed on another machine, or with an empty text.
        """
        self._dashboard, self._on_change, self._on_remote = dashboard, on_change, on_remote
        self._wakeup: WakeupSocket | None = None
        self._end = threading.Event()

    def set_wanted(self, *, wanted: bool) -> None:
        """Begin to listen where that is wanted, and end where it is not. Must be called in the event loop."""
        if wanted and self._wakeup is None:
            self._begin(asyncio.get_running_loop())
        elif not wanted and self._wakeup is not None:
            self._stop(asyncio.get_running_loop(), self._wakeup)

    def _begin(self, loop: asyncio.AbstractEventLoop) -> None:
        self._wakeup = wakeup = WakeupSocket(self._dashboard.where.state, WATCHERS)
        wakeup.__enter__()
        if wakeup.socket is not None:
            loop.add_reader(wakeup.socket.fileno(), self._woken)
        self._end = threading.Event()
        threading.Thread(target=self._listen, args=(loop, self._end), daemon=True).start()

    def _stop(self, loop: asyncio.AbstractEventLoop, wakeup: WakeupSocket) -> None:
        if wakeup.socket is not None:
            loop.remove_reader(wakeup.socket.fileno())
        wakeup.__exit__(None, None, None)
        self._wakeup = None
        self._end.set()

    def _woken(self) -> None:
        if self._wakeup is not None:
            self._wakeup.drain()
        self._on_change()

    def _listen(self, loop: asyncio.AbstractEventLoop, end: threading.Event) -> None:
        """Listen at the store until the end. A thread runs this, because reaching a shared store can take long."""

        def tell(approval: str) -> None:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._on_remote, approval)

        while not end.is_set():
            with suppress(StoreError), self._dashboard.store() as store:
                if store is not None:
                    with store.listen(tell, watching=True):
                        end.wait()
            end.wait(_AGAIN_SECONDS)
