"""Records forged answers and forged pauses, neither of which the gate followed. A person is told for a day."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.core.events import Context
    from lockgate.store.protocol import Transaction

_ANSWER, _PAUSE = "gate:forged", "pause:forged"
"""Settings that hold when the last one was met, in seconds since the epoch, and a text about it."""
_SHOWN_SECONDS = 24 * 3600.0
"""For so long a person is told of one without asking."""
_AGAIN_SECONDS = 600.0
"""For so long the same forged pause is not recorded again."""
_LONGEST = 300


def record_forged_answer(tx: Transaction, context: Context, process: str, now: float) -> None:
    """Record an answer without a proof: it did not come from the gate.

    Args:
        tx: The transaction.
        context: Of whose hook.
        process: Which process had listened, where it was ended; else empty.
        now: The time.
    """
    process = process[:_LONGEST]
    _record(tx, context, _ANSWER, ("forged-answer", "ended", process), now)


def record_forged_pause(tx: Transaction, context: Context, problem: str, now: float) -> None:
    """Record that a call met a pause that nobody began here, or that is over by the audit.

    Nothing is recorded where there is no problem, or where it was recorded just now.

    Args:
        tx: The transaction.
        context: Of the call.
        problem: What is wrong with the pause.
        now: The time.
    """
    if problem and (problem != tell_of_forged_pause(tx, now) or abs(now - _last(tx, _PAUSE)[0]) > _AGAIN_SECONDS):
        _record(tx, context, _PAUSE, ("forged-pause", "problem", problem), now)


def tell_of_forged_answer(tx: Transaction, now: float) -> str:
    """What to tell a person of the last forged answer, for a day; without a full stop."""
    at, process = _last(tx, _ANSWER)
    if abs(now - at) >= _SHOWN_SECONDS:
        return ""
    ended = f", and was ended: {process}" if process else ""
    return f"a process without the key of this installation answered in the gate's place{ended}; no hook followed it"


def tell_of_forged_pause(tx: Transaction, now: float) -> str:
    """What to tell a person of the last forged pause, for a day; without a full stop."""
    at, problem = _last(tx, _PAUSE)
    return problem if abs(now - at) < _SHOWN_SECONDS else ""


def _record(tx: Transaction, context: Context, setting: str, what: tuple[str, str, str], now: float) -> None:
    """Record one: its event, the name of what is told of it, and that."""
    from lockgate.store.audit.record import event_record

    event, name, text = what
    tx.put_setting(setting, f"{now:.0f} {text}")
    tx.append_audit(now, event_record(context, event, {name: text}))


def _last(tx: Transaction, setting: str) -> tuple[float, str]:
    """When the last one was met, 0 where none was, and the text about it."""
    at, _, text = (tx.setting(setting) or "").partition(" ")
    return (float(at), text) if at.isascii() and at.isdigit() else (0.0, "")
