"""Starts and ends sub-agents and delegates: which labels they begin with, and which come back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockgate.core.events import Context
from lockgate.core.model import Label, Subject, TaintState
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.session.labels import BOTH, everyone, flow
from lockgate.gate.session.sessions import touch_session
from lockgate.store.rows import AgentRow, CallRow, SessionRow

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

SPAWNS = "spawns"
"""The fact of a call that says which type of sub-agent it spawns; empty where it names none."""
_SECRET = frozenset({Label.SECRET})


def ensure_subject(
    tx: Transaction,
    context: Context,
    now: float,
    *,
    history: Callable[[], bool] = lambda: False,
    above: Callable[[], Sequence[str]] = tuple,
) -> SessionRow:
    """Make the subject of an event known; to be called first for every event but a session's start.

    Args:
        tx: The transaction.
        context: The event's context.
        now: Seconds since the epoch.
        history: Tells whether a session that the store does not know has read or done something already; it is
            untrusted then.
        above: Tells the processes that the client's own comes from, the nearest first.
    """
    row = touch_session(tx, context, now, history=history, above=above)
    if context.subject.agent and tx.agent(context.subject) is None:
        begin_agent(tx, context, now)
    return row


def begin_agent(tx: Transaction, context: Context, now: float, *, delegate: str = "") -> AgentRow:
    """Begin a sub-agent with its parent's labels, or a delegate without any.

    The parent is whoever made the call that the client names, else whoever has an outstanding call that spawns an agent
    of this type: several could, then all of them are; nobody seems to, then the whole session is.

    Args:
        tx: The transaction.
        context: The event's context; its subject is the sub-agent.
        now: Seconds since the epoch.
        delegate: Id of the approved brief that it runs under. It counts only where the parent is untrusted already:
            else what the delegate brings back would come to a parent that is clean, and be laundered.
    """
    row = tx.agent(context.subject)
    if row is not None and row.state == "running":
        return row
    if row is not None:
        return _begin_again(tx, row)
    has_begun = bool(tx.labels(context.subject))  # and its row is gone, or something else has changed it
    row = AgentRow(context.subject.session, context.subject.agent, context.agent_type, started_at=now)
    row, parents = _with_parents(tx, row, context.spawned_by)
    brief = tx.brief(delegate) if delegate else None
    if brief is not None and brief.session == row.session:
        parents = [Subject(row.session, brief.parent)]
        row = row._replace(parent=brief.parent, parents=(), call_id=brief.call_id)
        if _is_untrusted(tx, parents[0]):
            row = row._replace(delegate=delegate)
    tx.put_agent(row)
    if not row.delegate:
        for parent in parents:
            flow(tx, parent, context.subject)
    if has_begun:
        _spread_labels(tx, context.subject)
    return row


def note_launch(tx: Transaction, session: str, call_id: str, agent: str) -> None:
    """Note that a call started a sub-agent in the background: the call has an answer, and goes on."""
    call = tx.call(session, call_id)
    if call is not None:
        tx.put_call(call._replace(facts={**call.facts, "spawned": agent}))


def end_agent(tx: Transaction, context: Context) -> None:
    """End a sub-agent: its parent gets its labels, pending ones too.

    Of a delegate only ``secret`` comes back: its parent is untrusted already, and stays so (where it is not, the
    delegate counts as an ordinary sub-agent). An agent that was never seen (a client's internal helper) has met nothing
    and brings nothing.
    """
    row = tx.agent(context.subject)
    if row is None:
        # Of one whose rows somebody has deleted the state only knows that it has begun: it has every label.
        _spread_labels(tx, context.subject)
        return
    return_labels(tx, row)
    tx.put_agent(row._replace(state="ended"))
    call = tx.call(row.session, row.call_id) if row.call_id else None
    if call is not None and call.facts.get("spawned") == row.agent:
        tx.put_call(call._replace(state="finished"))


def return_labels(tx: Transaction, row: AgentRow) -> None:
    """Give a sub-agent's labels to its parent; and to the parent's own parent, if the parent has ended."""
    _return_to(tx, row, Subject(row.session, row.agent), BOTH, {row.agent})


def return_labels_of(tx: Transaction, call: CallRow) -> None:
    """Give the labels of all sub-agents that a call spawned to their parents, who get the call's result."""
    spawned = call.facts.get("spawned")
    for row in tx.agents(call.session):
        if row.call_id == call.call_id or row.agent == spawned:
            return_labels(tx, row)
            tx.put_agent(row._replace(state="ended"))


def join_message(tx: Transaction, sender: Subject, recipient: Subject | None) -> None:
    """Pass labels on with a message.

    Args:
        tx: The transaction.
        sender: Who sends it.
        recipient: Who gets it; ``None`` or an agent that is not known: every running agent of the session.
            A delegate that gets a message is clean no longer.
    """
    if recipient is not None and (not recipient.agent or tx.agent(recipient) is not None):
        recipients = [recipient]
    else:
        running = [Subject(row.session, row.agent) for row in tx.agents(sender.session) if row.state == "running"]
        recipients = [Subject(sender.session), *running]
    for other in recipients:
        flow(tx, sender, other)


def _spread_labels(tx: Transaction, subject: Subject) -> None:
    """Give a sub-agent's labels to everyone in the session: nobody knows any more who started it."""
    for other in everyone(tx, subject.session):
        flow(tx, subject, other)


def _begin_again(tx: Transaction, row: AgentRow) -> AgentRow:
    # An ended agent goes on only because it was given more to do, and that comes from its parent. No brief covers it.
    again = row._replace(state="running", delegate="")
    tx.put_agent(again)
    for parent in row.parents or (row.parent,):
        flow(tx, Subject(row.session, parent), Subject(row.session, row.agent))
    return again


def _is_untrusted(tx: Transaction, subject: Subject) -> bool:
    """Whether a subject is untrusted for good: pending taint may yet be dropped."""
    taints = tx.taints(subject, limit=1)
    return any(taint.label is Label.UNTRUSTED and taint.state is TaintState.CONFIRMED for taint in taints)


def _with_parents(tx: Transaction, row: AgentRow, spawned_by: str) -> tuple[AgentRow, list[Subject]]:
    calls = _find_spawning(tx, row, spawned_by)
    if not calls:
        parents = everyone(tx, row.session)
    else:
        parents = [Subject(row.session, agent) for agent in dict.fromkeys(call.agent for call in calls)]
    call_id = calls[0].call_id if len(calls) == 1 else ""
    if len(parents) == 1:
        return row._replace(parent=parents[0].agent, call_id=call_id), parents
    return row._replace(parents=tuple(parent.agent for parent in parents), call_id=call_id), parents


def _find_spawning(tx: Transaction, row: AgentRow, spawned_by: str) -> list[CallRow]:
    """The calls that may have spawned an agent: the one that is named, else the outstanding ones."""
    named = tx.call(row.session, spawned_by) if spawned_by else None
    if named is not None:
        return [named]
    outstanding = [
        call
        for state in ("running", "asked")
        for call in tx.calls(row.session, state=state)
        if call.facts.get(SPAWNS) is not None
    ]
    exact = [call for call in outstanding if call.facts.get("spawned") == row.agent]
    if exact:
        return exact
    claimed = {other.call_id for other in tx.agents(row.session) if other.call_id}
    return [
        call
        for call in outstanding
        if call.call_id not in claimed
        and not call.facts.get("spawned")
        and (not row.agent_type or call.facts[SPAWNS] in ("", row.agent_type))
    ]


def _return_to(
    tx: Transaction,
    row: AgentRow,
    source: Subject,
    only: frozenset[Label],
    seen: set[str],
) -> None:
    for name in row.parents or (row.parent,):
        if name in seen:
            continue
        seen.add(name)
        parent = Subject(row.session, name)
        flowing = only & _SECRET if row.delegate and _is_untrusted(tx, parent) else only
        flow(tx, source, parent, only=flowing)
        above = tx.agent(parent) if name else None
        if above is not None and above.state == "ended":
            _return_to(tx, above, source, flowing, seen)
