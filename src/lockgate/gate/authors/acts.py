"""Finds the times when an agent that had read strangers' words could write somewhere as the person.

They carry what the agent has read into a service, from which a later session would read it as a member's.
"""

from __future__ import annotations

import json

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.files import Sets

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.store.protocol import Transaction

_MOST = 500
LASTS = 3600.0
"""Seconds after which a call that was let run has written what it writes."""
_SKEW = 120.0
"""Seconds by which the service's clock may differ."""
Times = list[tuple[float, float]]
"""Spans of time, from and until; the first one begins at 0 where some are not kept any more."""


def note_act(tx: Transaction, now: float) -> None:
    """Note that an agent with a label may write somewhere from now on."""
    spans = acts(tx)
    if spans and spans[-1][0] - _SKEW <= now <= spans[-1][1]:
        spans[-1] = (spans[-1][0], now + LASTS)
    else:
        spans.append((now, now + LASTS))
    if len(spans) > _MOST:
        spans[:2] = [(0.0, spans[1][1])]
    tx.put_setting(Sets.ACTS, json.dumps(spans))


def acts(tx: Transaction) -> Times:
    """All times at which such an agent may have written; always, where that cannot be read, or was changed."""
    kept = tx.read_set(Sets.ACTS)
    if kept is None:
        return [(0.0, float("inf"))]
    try:
        return [(float(begin), float(end)) for begin, end in json.loads(kept.get(Sets.ACTS, "[]"))]
    except (ValueError, TypeError):
        return [(0.0, float("inf"))]


def is_within(moments: Sequence[float], times: Times) -> bool:
    """Whether one of some moments, as the service tells them, lies in one of the spans."""
    return any(begin - _SKEW <= moment <= end + _SKEW for begin, end in times for moment in moments)
