"""What is kept of an answer without a proof: it did not come from the gate, and the hook did not follow it."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.core.events import Context
    from lockgate.store.protocol import Transaction

EVENT = "forged-answer"
"""The event of the record."""
SETTING = "gate:forged"
"""When the last one was heard, in seconds since the epoch; and which process was ended."""
_SHOWN_SECONDS = 24 * 3600.0
"""For so long a person is told of it without asking."""
_LONGEST = 300


def record_forged_answer(tx: Transaction, context: Context, process: str, now: float) -> None:
    """Record that one was heard.

    Args:
        tx: The transaction.
        context: Of whose hook.
        process: Which process had listened, where it was ended; else empty.
        now: The time.
    """
    from lockgate.store.audit.record import happened

    tx.put_setting(SETTING, f"{now:.0f} {process[:_LONGEST]}")
    tx.append_audit(now, happened(context, EVENT, {"ended": process[:_LONGEST]}))


def told_of_forged(tx: Transaction, now: float) -> str:
    """What to tell a person of the last one, for a day; without a full stop."""
    at, _, process = (tx.setting(SETTING) or "").partition(" ")
    if not (at.isascii() and at.isdigit() and now - float(at) < _SHOWN_SECONDS):
        return ""
    ended = f", and was ended: {process}" if process else ""
    return f"a process without the key of this installation answered in the gate's place{ended}; no hook followed it"
