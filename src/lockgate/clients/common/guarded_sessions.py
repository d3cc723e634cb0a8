"""Finds sessions with calls that the audit does not know: their client did not run the gate's hooks."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence

from lockgate.clients.common.session_logs import RanCall, SessionLog
from lockgate.core.record import Record

NEAR = 3600.0
"""Seconds between a call without an id and a record of its session, so that the call counts as guarded."""


class GateRecords(Record):
    """The calls of some days that the audit knows."""

    calls: frozenset[tuple[str, str]]
    """The calls that it knows: each one's session, and the client's id."""
    times: Mapping[str, Sequence[float]]
    """When it recorded something of each session, in order, in seconds since the epoch."""


class UnguardedSession(Record):
    """A session with calls that the audit does not know, on one surface of its client."""

    client: str
    session: str
    surface: str
    folder: str
    calls: int
    """Its calls that the audit does not know."""
    of: int
    """All its calls."""
    first: float
    last: float
    """When the first and the last of the unknown calls ran, in seconds since the epoch."""


def find_unguarded_sessions(logs: Iterable[SessionLog], known: GateRecords) -> list[UnguardedSession]:
    """The sessions that ran something without the gate, the last first.

    Several logs of one session, as of its sub-agents, count as one.
    """
    sessions: dict[tuple[str, str, str], tuple[SessionLog, list[RanCall], list[RanCall]]] = {}
    for log in logs:
        _, every, unknown = sessions.setdefault((log.client, log.session, log.surface), (log, [], []))
        every += log.calls
        unknown += (call for call in log.calls if not _is_known(call, known, log))
    found = [
        UnguardedSession(
            log.client,
            log.session,
            log.surface,
            log.folder,
            len(unknown),
            len(every),
            min(call.at for call in unknown),
            max(call.at for call in unknown),
        )
        for log, every, unknown in sessions.values()
        if unknown
    ]
    return sorted(found, key=lambda session: -session.last)


def _is_known(call: RanCall, known: GateRecords, log: SessionLog) -> bool:
    if call.call:
        return any((session, call.call) in known.calls for session in (log.session, *log.parents))
    times = known.times.get(log.session, ())
    place = bisect_left(times, call.at)
    return any(abs(at - call.at) <= NEAR for at in times[max(place - 1, 0) : place + 1])
