"""What is kept of a pause that nobody began here, or that is over by the audit: the gate did not follow it."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.core.events import Context
    from lockgate.store.protocol import Transaction

EVENT = "forged-pause"
"""The event of the record."""
SETTING = "pause:forged"
"""When the last one was recorded, in seconds since the epoch; and what was wrong with it."""
_SHOWN_SECONDS = 24 * 3600.0
"""For so long a person is told of it without asking."""
_AGAIN_SECONDS = 600.0
"""For so long the same is not recorded again."""


def record_forged_pause(tx: Transaction, context: Context, problem: str, now: float) -> None:
    """Record that a call met one; nothing where there is no problem, or it was recorded just now.

    Args:
        tx: The transaction.
        context: Of the call.
        problem: What is wrong with the pause.
        now: The time.
    """
    from lockgate.store.audit.record import happened

    if problem and (problem != told_of_forged_pause(tx, now) or now - _last(tx)[0] > _AGAIN_SECONDS):
        tx.put_setting(SETTING, f"{now:.0f} {problem}")
        tx.append_audit(now, happened(context, EVENT, {"problem": problem}))


def told_of_forged_pause(tx: Transaction, now: float) -> str:
    """What to tell a person of the last one, for a day; without a full stop."""
    at, problem = _last(tx)
    return problem if now - at < _SHOWN_SECONDS else ""


def _last(tx: Transaction) -> tuple[float, str]:
    at, _, problem = (tx.setting(SETTING) or "").partition(" ")
    return (float(at), problem) if at.isascii() and at.isdigit() else (0.0, "")
