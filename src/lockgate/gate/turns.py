"""Calls of one message: what one of them is expected to bring, its model had not read when it wrote the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.model import Label, Taint, TaintState, ToolCall
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.events import Context
    from lockgate.store.protocol import Transaction


def out_beside(tx: Transaction, context: Context, call: ToolCall, taints: Sequence[Taint]) -> Mapping[str, float]:
    """The calls whose results have not come, and would not count if their model had written them in the same message.

    Not one that keeps in a file what it brings: another call can use it there, and nobody has to read a result. None of
    a sub-agent: no file tells in which message it made a call.

    Returns:
        The id of each, and when it was let run, in seconds since the epoch.
    """
    if context.subject.agent or not call.call_id:
        return {}
    out: dict[str, float] = {}
    for taint in filter(_is_own_pending, taints):
        out[taint.call_id] = min(taint.at, out.get(taint.call_id, taint.at))
    rows = {call_id: tx.call(context.subject.session, call_id) for call_id in out}
    out = {call_id: at for call_id, at in out.items() if (row := rows[call_id]) and not row.facts.get("keeps")}
    return out if len(without(taints, frozenset(out))) < len(taints) else {}


def without(taints: Sequence[Taint], turn: frozenset[str]) -> Sequence[Taint]:
    """Taints without what calls of the same message are expected to bring.

    All of them where strangers' text is left: then a stranger may have written the message, with calls that need nobody
    to read their results to work together.
    """
    left = [taint for taint in taints if not (taint.call_id in turn and _is_own_pending(taint))]
    return taints if any(taint.label is Label.UNTRUSTED for taint in left) else left


def _is_own_pending(taint: Taint) -> bool:
    return bool(taint.call_id) and taint.state is TaintState.PENDING and not taint.origin
