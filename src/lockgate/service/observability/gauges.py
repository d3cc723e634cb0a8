"""Reads the current state for gauges: sessions, questions, the audit's ends, the resident gate."""

from __future__ import annotations

import time
from typing import Any

from lockgate.core.errors import StoreError
from lockgate.core.model import LabelState, Subject
from lockgate.core.record import Record
from lockgate.store.audit.chain import verify_store
from lockgate.store.protocol import Store

_SESSIONS = 1000
"""Sessions of which the labels are looked up: those that were seen last."""
_FRESH = 86400.0
"""Seconds for which a session without an end counts as open: its client may have been killed."""


class Gauges(Record):
    """The values of all gauges."""

    up: bool = False
    """Whether the store can be read."""
    sessions: dict[str, int] = {}  # noqa: RUF012 - never changed
    """Open sessions, by their labels: clean, untrusted, secret, both."""
    questions: int = 0
    """Questions that wait for a person."""
    first: int = 0
    """Number of the first record that is kept."""
    last: int = 0
    cut_at: float = 0.0
    """When the audit was last shortened; 0.0 for never."""
    gate: dict[str, Any] | None = None  # what the resident gate says of itself
    gate_up: bool = False


class Chain(Record):
    """Whether the audit chain holds, and when that was found out."""

    holds: bool
    at: float


def look(store: Store | None, state: str) -> Gauges:
    """See how things are. Never raises."""
    from lockgate.clients.wire import resident_control

    gate = resident_control.look(state)
    if store is None:
        return Gauges(gate=gate.facts or None, gate_up=gate.answers)
    try:
        with store.reading() as tx:
            now = store.clock()
            sessions = dict.fromkeys(("clean", "untrusted", "secret", "both"), 0)
            found = tx.sessions(limit=_SESSIONS)
            open_now = [Subject(row.session) for row in found if not row.ended_at and abs(now - row.seen_at) < _FRESH]
            for labels in tx.labels_of_all(open_now).values():
                sessions[LabelState.of(labels).value] += 1
            base = tx.audit_checkpoint()
            return Gauges(
                True,
                sessions,
                sum(not row.is_over(now) for row in tx.approvals(state="pending")),
                base.seq + 1,
                tx.audit_head().seq,
                base.at,
                gate.facts or None,
                gate.answers,
            )
    except StoreError:
        return Gauges(gate=gate.facts or None, gate_up=gate.answers)


def verify_chain(store: Store) -> Chain | None:
    """Check the whole chain; ``None`` where it cannot be read."""
    try:
        with store.reading() as tx:
            return Chain(verify_store(tx, store.key).ok, time.time())
    except StoreError:
        return None
