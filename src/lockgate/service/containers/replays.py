"""Messages that take a label away, or let a sub-agent begin anew: each of them counts once.

A request's seal says who wrote it, not when. For a call that its client gave an id a second report changes nothing; for
others the report of an earlier call that brought nothing, put again, would drop what the next one brings.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from lockgate.clients.wire.messages import ContainerRequest
from lockgate.core.errors import RemoteError
from lockgate.core.events import AgentStarted, AgentStopped, Event, ToolFailed, ToolFinished, ToolRefused

WINDOW = 300.0
"""Seconds that the time in an id may differ from the host's: clocks differ, and what waits its turn grows older."""
_MOST = 20_000
"""Ids that are remembered of a group. One that needs more is refused until some have grown old."""


_PRECISION = 0.001
"""Seconds to which an id tells its time."""


class Replays:
    """The ids that were used, by group. Those of one group are looked at by one thread at a time."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        """Know none. What was written before this was made counts as used: another host may have seen it."""
        self._now = now
        self._since = now() - _PRECISION
        self._used: dict[str, dict[str, float]] = {}

    def check(self, group: str, request: ContainerRequest) -> None:
        """Note a request.

        Raises:
            RemoteError: It was used already, or nobody can know.
        """
        if not counts_once(request.event):
            return
        now, at = self._now(), request.made_at
        if abs(now - at) > WINDOW:
            raise RemoteError(f"its time is not within {WINDOW:g} seconds of the host's clock: do both clocks agree?")
        if at < self._since:
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
