"""Refuses a message of a container that was used before, where a second use would change something again.

A request's seal says who wrote it, not when. A second report of a call with an id changes nothing. A call without an id
is different: an old report that the call brought nothing would drop the labels that the next call brings.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lockgate.clients.wire.messages import ContainerRequest
from lockgate.core.errors import RemoteError
from lockgate.core.events import AgentStarted, AgentStopped, Event, ToolFailed, ToolFinished, ToolRefused

WINDOW = 300.0
"""Seconds that the time in an id may differ from the host's: clocks differ, and a request may wait."""
_MOST = 20_000
"""Ids that are remembered of a group. Requests beyond them are refused until some ids have grown old."""
_PRECISION = 0.001
"""Seconds to which an id tells its time."""


class Replays:
    """Remembers the ids that were used, by group. One thread at a time uses those of a group."""

    def __init__(self, now: Callable[[], float] = time.time, up: Callable[[], float] = time.monotonic) -> None:
        """Remember none yet. A request from before this moment counts as used: another host may have seen it.

        Args:
            now: Seconds since the epoch.
            up: Seconds of a clock that nobody sets.
        """
        self._now, self._up = now, up
        self._began = up()
        self._used: dict[str, dict[str, float]] = {}

    def use(self, group: str, request: ContainerRequest) -> None:
        """Mark a request as used. One that may be used again is not remembered.

        Raises:
            RemoteError: It was used already, or nobody can know.
        """
        if not counts_once(request.event):
            return
        now, at = self._now(), request.made_at
        if abs(now - at) > WINDOW:
            raise RemoteError(f"its time is not within {WINDOW:g} seconds of the host's clock: do both clocks agree?")
        # By the clock of now: it may have been set since.
        if at < now - (self._up() - self._began) - _PRECISION:
            raise RemoteError("this was asked before the host started")
        used = self._used.setdefault(group, {})
        if request.id in used:
            raise RemoteError("this id was used already")
        if len(used) >= _MOST:
            used = self._used[group] = {name: at for name, at in used.items() if at + WINDOW >= now}
            if len(used) >= _MOST:
                raise RemoteError("too many results at a time; slow down")
        used[request.id] = at


def counts_once(event: Event) -> bool:
    """Whether an event would change something again if it came again."""
    if isinstance(event, ToolFinished | ToolFailed | ToolRefused):
        return not event.call.call_id
    return isinstance(event, AgentStarted | AgentStopped)
