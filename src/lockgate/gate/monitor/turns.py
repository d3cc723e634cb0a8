"""Calls of one message: the model had read no result of one when it wrote the others."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from lockgate.core.model import Label, Taint, TaintState, ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.session.calls import KEEPS

if TYPE_CHECKING:
    from lockgate.core.events import Context
    from lockgate.store.protocol import Transaction

_SECONDS = 600.0
"""How long after a call was let run another one of its message may begin. Most are asked for at once."""


def find_calls_in_turn(
    context: Context, call: ToolCall, taints: Sequence[Taint], verdict: Verdict, now: float
) -> Mapping[str, float]:
    """The calls of which it matters whether their model has written them in the same message.

    None for a sub-agent: no file tells in which message it made a call.

    Args:
        context: Whose call it is.
        call: The call.
        taints: What counts for it.
        verdict: What they lead to. A call that is only contained does not wait for a file because of what has come.
        now: The time, in seconds since the epoch.

    Returns:
        The id of each, and when it was let run, in seconds since the epoch.
    """
    if context.subject.agent or not call.call_id:
        return {}
    found: dict[str, float] = {}
    for taint in taints:
        matters = taint.state is TaintState.PENDING or verdict > Verdict.CONTAIN
        if matters and _has_own_call(taint) and abs(now - taint.at) < _SECONDS:
            found[taint.call_id] = min(taint.at, found.get(taint.call_id, taint.at))
    return found if _taints_left(taints, found.keys()) is not taints else {}


def drop_own_turn(tx: Transaction, session: str, taints: Sequence[Taint], turn: Collection[str]) -> Sequence[Taint]:
    """A session's taints without what calls of the same message bring, or have brought.

    All of them where strangers' text is left: then a stranger may have written the message, with calls that need nobody
    to read their results to work together. With those of a call that keeps in a file what it brings: another call can
    use it there, and nobody has to read a result.
    """
    rows = {call_id: tx.call(session, call_id) for call_id in turn}
    return _taints_left(taints, {call_id for call_id, row in rows.items() if row and not row.facts.get(KEEPS)})


def _taints_left(taints: Sequence[Taint], turn: Collection[str]) -> Sequence[Taint]:
    left = [taint for taint in taints if not (taint.call_id in turn and _has_own_call(taint))]
    is_untrusted = any(taint.label is Label.UNTRUSTED for taint in left)
    return taints if is_untrusted or len(left) == len(taints) else left


def _has_own_call(taint: Taint) -> bool:
    return bool(taint.call_id) and not taint.origin
