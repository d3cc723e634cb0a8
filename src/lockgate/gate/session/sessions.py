"""Starts, continues and ends sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockgate.core.events import Context
from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.session.labels import flow
from lockgate.patterns.redaction.credentials import redact
from lockgate.store.files import Sets
from lockgate.store.rows import AuditQuery, SessionRow

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

TRIAL = "lockgate-doctor-"
"""How the session of the doctor's own call begins. Any client can say so: the store knows which ones are."""
FORK_CALL = "lockgate:fork"
"""What stands for a call id in the label of a fork whose parents are not named yet."""

BEGINNING_CALL = "lockgate:beginning"
"""What stands for a call id in the labels of a session that may be forgotten, until the client says that it begins."""

PROMPT_CALL = "lockgate:prompt"
"""What stands for a call id in the label of a session whose prompt may be anybody's, until the prompt has come."""

_SEEN = 1.0
"""Seconds to which it is kept when a session was seen last."""

_AHEAD = 60.0
"""Seconds after which a time that has not come yet was told by a clock that was ahead."""

_FRESH = ("startup", "clear")
"""How a session begins that has read nothing before."""

_LATELY = 1000
"""Records among which a refusal without a decision is looked for."""
_UNKNOWN = "has read what this state does not know: it may have been put back from a copy"
_MOST_UNKNOWN = 20
"""Calls that the record of it tells."""

_UNWATCHED = {
    "resume": "resumed a session that Lockgate did not watch",
    "compact": "compacted a session that Lockgate did not watch",
    "fork": "forked a session that Lockgate did not watch",
    "": "began before Lockgate watched it",
}
_FORGOTTEN = "may have begun before the state was put back from a copy"


def begin_session(
    tx: Transaction,
    context: Context,
    how: str,
    parents: tuple[str, ...],
    now: float,
    above: Sequence[str] = (),
    results: Callable[[], Sequence[str]] = tuple,
) -> SessionRow:
    """Begin a session, or go on with it.

    A session whose id is known keeps its labels, however the client says that it begins: only a new id is a fresh
    context. A new id is clean after ``startup`` and ``clear``; after ``fork`` it has what its parents have; after
    anything else it holds what Lockgate never saw, which is untrusted. One that a command of another session has
    started has what that session has.

    Args:
        tx: The transaction.
        context: The event's context.
        how: startup, resume, clear, compact or fork.
        parents: The sessions that a fork's transcript names.
        now: Seconds since the epoch.
        above: The processes that the client's own comes from, the nearest first.
        results: Tells the calls whose results the transcript of a fork holds.
    """
    session = context.subject.session
    known = tx.session(session)
    if known is not None:
        if not known.how:
            # Copilot CLI may tell of a session's beginning after its first prompt.
            tx.settle(session, BEGINNING_CALL, confirm=how != "startup")
        row = _go_on(known, context, now)._replace(how=known.how or how)
        tx.put_session(row)
        # A compaction is no beginning. Copilot CLI may tell of a session's first one after its prompt.
        if how != "compact" and (how != "startup" or known.how):
            _expect_prompt(tx, context, now)
        return row
    parent = ""
    if how == "clear":
        parent = _find_cleared(tx, context.process)
        if parent:
            tx.copy_addresses(parent, session, human_only=True)
    elif how == "fork" and parents:
        parent = _label_fork(tx, session, parents, results(), now)
    elif how == "fork":
        # The client writes the transcript, which names the parents, only later: untrusted until then.
        _note_unwatched(tx, session, how, now, TaintState.PENDING, FORK_CALL)
    elif how != "startup":
        _note_unwatched(tx, session, how, now)
    parent = parent or _inherit_from_starter(tx, context, above)
    _expect_prompt(tx, context, now)
    row = _new(context, how, now)._replace(parent=parent)
    tx.put_session(row)
    return row


def is_fork_open(tx: Transaction, session: str) -> bool:
    """Whether a session is a fork whose parents the client had not named when it began."""
    return _is_open(tx, session, FORK_CALL)


def _is_open(tx: Transaction, session: str, call_id: str) -> bool:
    # With a limit, because this is asked before each call: pending taints are all there whatever it is.
    taints = tx.taints(Subject(session), limit=1)
    return any(taint.call_id == call_id and taint.state is TaintState.PENDING for taint in taints)


def settle_fork(
    tx: Transaction, session: str, parents: tuple[str, ...], results: Callable[[], Sequence[str]], now: float
) -> None:
    """Give a fork what its parents have, once its transcript names them. One that names none stays untrusted.

    Args:
        tx: The transaction.
        session: The fork.
        parents: The sessions that its transcript names.
        results: Tells the calls whose results its transcript holds.
        now: Seconds since the epoch.
    """
    row = tx.session(session)
    if row is None:
        return
    parent = _label_fork(tx, session, parents, results(), now) if parents else ""
    tx.settle(session, FORK_CALL, confirm=not parents)
    tx.put_session(row._replace(parent=parent))


def settle_prompt(tx: Transaction, session: str, *, said: bool) -> None:
    """Settle the label that stands for a prompt, where it is still open.

    Args:
        tx: The transaction.
        session: The session.
        said: Whether a prompt has come of which it is known whose words it is made of. They have labelled the session,
            so the label is dropped. Else it holds.
    """
    if _is_open(tx, session, PROMPT_CALL):
        tx.settle(session, PROMPT_CALL, confirm=not said)


def touch_session(
    tx: Transaction,
    context: Context,
    now: float,
    *,
    history: Callable[[], bool],
    above: Callable[[], Sequence[str]] = tuple,
) -> SessionRow:
    """Note that a session is alive. One whose beginning was not seen is made known.

    When it was seen last is kept to about a second: a session with many calls at once writes it for one of them.

    Args:
        tx: The transaction.
        context: The event's context.
        now: Seconds since the epoch.
        history: Tells whether the session has read or done something already; asked only where it is not known.
        above: Tells the processes that the client's own comes from; asked only where the session is not known.
    """
    known = tx.session(context.subject.session)
    if known is None:
        if history():
            _note_unwatched(tx, context.subject.session, "", now)
        elif _may_be_forgotten(tx, context):
            _add(tx, context.subject.session, _FORGOTTEN, now, TaintState.PENDING, BEGINNING_CALL)
        _expect_prompt(tx, context, now)
        row = _new(context, "", now)._replace(parent=_inherit_from_starter(tx, context, above()))
    else:
        if known.seen_at <= now < known.seen_at + _SEEN and _is_as_known(known, context):
            return known
        # An end that was told stays told: a call of the old context may still come back after a clear.
        row = _go_on(known, context, now)._replace(ended_at=known.ended_at, why=known.why)
    tx.put_session(row)
    return row


def label_unknown_results(
    tx: Transaction,
    context: Context,
    now: float,
    results_since: Callable[[Context, float], Sequence[str]],
    results_before: Callable[[Context, float], Sequence[str]] = lambda *_: (),
) -> list[str]:
    """Give a session every label where its transcript has results that the store does not know.

    The state was put back, or is another one than was there when the session began.

    To be called before anything else that an event does, for it notes that the session was seen.

    Args:
        tx: The transaction.
        context: The event's context.
        now: Seconds since the epoch.
        results_since: Tells the calls whose results a session's transcript holds that are newer than a time.
        results_before: Tells the same of those that are older. A session that has begun without any has none.

    Returns:
        Their calls.
    """
    session = context.subject.session
    known = tx.session(session) if context.transcript else None
    if known is None:
        return []
    is_told = known.how not in _FRESH or tx.labels(Subject(session)) >= frozenset(Label)
    unknown = [] if is_told else list(results_before(context, known.started_at))
    if not known.seen_at <= now < known.seen_at + _SEEN:
        calls = results_since(context, _last_known(known, now))
        unknown += [call for call in calls if tx.call(session, call) is None and not _is_undecided(tx, call)]
    if unknown:
        tx.add_taints(Subject(session), [Taint(label, _UNKNOWN, "", "", now) for label in Label])
    return unknown[:_MOST_UNKNOWN]


def _last_known(row: SessionRow, now: float) -> float:
    """Since when results of a session may be unknown: since it was seen, or where that has not come yet it began."""
    return next((at for at in (row.seen_at, row.started_at) if at <= now + _AHEAD), 0.0)


def _is_undecided(tx: Transaction, call: str) -> bool:
    """Whether a call was refused by a hook that could not decide: that is recorded later, and nowhere else."""
    head = tx.audit_head().seq
    return bool(tx.find_audit(AuditQuery(event="undecided", call=call), after=max(0, head - _LATELY), limit=1))


def end_session(tx: Transaction, context: Context, why: str, now: float) -> None:
    """End a session. Its labels stay: it may be resumed."""
    session = context.subject.session
    known = tx.session(session) or _new(context, "", now)
    tx.put_session(_go_on(known, context, now)._replace(ended_at=now, why=why or "other"))
    for agent in tx.agents(session):
        if agent.state == "running":
            tx.put_agent(agent._replace(state="ended"))


def _new(context: Context, how: str, now: float) -> SessionRow:
    return SessionRow(
        context.subject.session,
        client=context.client,
        cwd=redact(context.cwd),
        workspace=context.workspace,
        how=how,
        process=context.process,
        started_at=now,
        seen_at=now,
    )


def _go_on(known: SessionRow, context: Context, now: float) -> SessionRow:
    return known._replace(
        client=context.client or known.client,
        cwd=redact(context.cwd) or known.cwd,
        workspace=context.workspace or known.workspace,
        process=context.process or known.process,
        # What is far ahead was told by a clock that was: it would stay the last one seen, and its transcript unread.
        seen_at=now if known.seen_at > now + _AHEAD else max(now, known.seen_at),
        ended_at=0.0,
        why="",
    )


def _is_as_known(known: SessionRow, context: Context) -> bool:
    """Whether :func:`_go_on` would change nothing but when the session was seen, and that it has not ended."""
    return (
        context.process == known.process
        and (context.cwd in ("", known.cwd) or redact(context.cwd) == known.cwd)
        and context.workspace in ("", known.workspace)
        and context.client in ("", known.client)
    )


def _note_unwatched(
    tx: Transaction,
    session: str,
    how: str,
    now: float,
    state: TaintState = TaintState.CONFIRMED,
    call_id: str = "",
) -> None:
    _add(tx, session, _UNWATCHED.get(how, f"{how}: a session that Lockgate did not watch"), now, state, call_id)


def _add(tx: Transaction, session: str, source: str, now: float, state: TaintState, call_id: str) -> None:
    # A state that was put back has forgotten sessions, which may have read anything.
    labels = tuple(Label) if tx.put_back() else (Label.UNTRUSTED,)
    tx.add_taints(Subject(session), [Taint(label, source, "", call_id, now, state) for label in labels])


def _may_be_forgotten(tx: Transaction, context: Context) -> bool:
    """Whether a session that is not known may be one that a state which was put back has forgotten.

    Its transcript does not tell: it may have been taken away as well.
    """
    found = tx.put_back()
    try:
        return found is not None and not (context.made_at and float(context.made_at) > found.since)
    except ValueError:  # no client writes it so
        return True


def _expect_prompt(tx: Transaction, context: Context, now: float) -> None:
    """Label a session in a CI job before its prompt has come: a client may have no event for prompts."""
    if not context.job:
        return
    from lockgate.gate.session.jobs import strangers_in

    if source := strangers_in(tx, context, now):
        taint = Taint(Label.UNTRUSTED, source, "prompt:job", PROMPT_CALL, now, TaintState.PENDING)
        tx.add_taints(Subject(context.subject.session), [taint])


class StateWarning(Record):
    """A warning about the state that a person reads as long as it holds."""

    short: str
    """In a status line."""
    says: str
    """What is wrong, without a full stop."""
    note: str
    """The same in whole sentences."""
    mend: str
    """The command that helps."""


def state_warnings(tx: Transaction, now: float) -> list[StateWarning]:
    """What a person is told about the state now."""
    from lockgate.gate.session.forgeries import tell_of_forged_answer, tell_of_forged_pause

    found = []
    if reason := _put_back_reason(tx):
        short = "STATE PUT BACK (lockgate audit verify)"
        found.append(StateWarning(short, reason, put_back_note(tx), "lockgate audit accept"))
    if says := tell_of_forged_answer(tx, now):
        note = f"Lockgate: {says}. Find out what started it; look: lockgate audit show."
        found.append(StateWarning("GATE FORGED (lockgate doctor)", says, note, "lockgate audit show"))
    if says := tell_of_forged_pause(tx, now):
        note = f"Lockgate: {says}. Find out what wrote it; look: lockgate audit show. Remove it: lockgate resume."
        found.append(StateWarning("PAUSE FORGED (lockgate doctor)", says, note, "lockgate resume"))
    if tx.read_set(Sets.CANARIES) is None:
        says = "something else than Lockgate has taken away, changed or put back a canary"
        note = f"Lockgate: {says}. Look: lockgate canary list, lockgate audit verify. Then: lockgate audit accept."
        found.append(StateWarning("CANARY LOST (lockgate audit verify)", says, note, "lockgate audit accept"))
    return found


def put_back_note(tx: Transaction) -> str:
    """What to tell while the state is not believed to be the one of before; said until a person has looked."""
    reason = _put_back_reason(tx)
    if not reason:
        return ""
    says = "Every session of before has every label. Look: lockgate audit verify. Then: lockgate audit accept."
    return f"Lockgate: {reason}. {says}"


def _put_back_reason(tx: Transaction) -> str:
    found = tx.put_back()
    return found.reason if found is not None else ""


_SHELL_HOSTS = frozenset({"cursor"})
"""Clients that show terminals of the person's own: what is started there is the person's."""
_MOST_SESSIONS = 20


def _inherit_from_starter(tx: Transaction, context: Context, above: Sequence[str]) -> str:
    """Give a session that a command of another session has started what that one has.

    Returns:
        The other session; empty where no process above is the client of one.
    """
    session = context.subject.session
    for process in above:
        others = [row for row in tx.sessions(process=process, limit=_MOST_SESSIONS) if row.session != session]
        starters = [row for row in others if not row.ended_at] or others[:1]
        if any(row.client in _SHELL_HOSTS for row in starters):
            return ""
        for row in starters:
            flow(tx, Subject(row.session), Subject(session), settled=True, origin=f"session {row.session}")
        if starters:
            return starters[0].session
    return ""


def is_started_by_agent(row: SessionRow | None) -> bool:
    """Whether a command of another session has started this one: what it is asked to do is that agent's words."""
    return row is not None and bool(row.parent) and row.how in ("", "startup")


def _find_cleared(tx: Transaction, process: str) -> str:
    """The session that the same client process cleared last, if any."""
    if not process:
        return ""
    ended = [row for row in tx.sessions(process=process) if row.why == "clear"]
    return max(ended, key=lambda row: row.ended_at).session if ended else ""


def _label_fork(tx: Transaction, session: str, parents: tuple[str, ...], results: Sequence[str], now: float) -> str:
    """Give a fork what its parents have; the parent where there is one.

    Whoever changes its transcript could name others as its parents. So it has every label where it holds a result that
    none of them has.
    """
    known = [parent for parent in dict.fromkeys(parents) if parent != session and tx.session(parent) is not None]
    for parent in known:
        flow(tx, Subject(parent), Subject(session), settled=True, origin=f"session {parent}")
        tx.copy_addresses(parent, session, human_only=False)
    if not known or len(known) < len({parent for parent in parents if parent != session}):
        _note_unwatched(tx, session, "fork", now)
    elif any(_is_nobodys(tx, known, call) for call in results):
        tx.add_taints(Subject(session), [Taint(label, _UNKNOWN, "", "", now) for label in Label])
    return known[0] if len(known) == 1 else ""


def _is_nobodys(tx: Transaction, sessions: Sequence[str], call: str) -> bool:
    """Whether no session of some has made a call."""
    return all(tx.call(session, call) is None for session in sessions) and not _is_undecided(tx, call)
