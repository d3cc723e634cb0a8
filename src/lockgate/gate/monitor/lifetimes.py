"""Handles the beginnings and ends of sessions and agents, and changes of the client's settings."""

from __future__ import annotations

from lockgate.core.events import AgentStarted, AgentStopped, Answer, ConfigChanged, SessionEnded, SessionStarted
from lockgate.core.model import Verdict
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate import session
from lockgate.gate.monitor import bases
from lockgate.gate.parts import Parts
from lockgate.gate.session.upgrade_notes import take_note
from lockgate.store.audit import record

if TYPE_CHECKING:
    from lockgate.configuration.load import Configuration
    from lockgate.store.protocol import Transaction


def session_started(parts: Parts, event: SessionStarted) -> Answer:
    """A session begins or goes on."""
    configuration = parts.configure(event.context)
    problems = (*configuration.problems, *parts.guard.prepare(event.context))
    head = bases.BaseCommit(*parts.head(event.context))
    with parts.store.transaction() as tx:
        now = parts.clock()
        parts.read_on(tx, event.context, now)
        note = take_note(tx)
        row = session.begin_session(
            tx,
            event.context,
            event.how,
            event.parents,
            now,
            parts.above(event.context),
            lambda: parts.results_since(event.context, 0.0),
        )
        has_read = [session.has_read_untrusted(tx, each) for each in (row.session, row.parent)]
        bases.note(tx, row, head, untrusted=has_read[0], parent_untrusted=has_read[1])
        _drop_old(tx, parts.store.key, configuration, now)
        tx.append_audit(now, record.event_record(event.context, "session", {"how": event.how, "parent": row.parent}))
    if not problems:
        return Answer(to_person=note)
    from lockgate.gate.messages import calls

    return Answer(to_person="\n".join(filter(None, (note, calls.problems(problems)))))


def _drop_old(tx: Transaction, key: bytes, configuration: Configuration, now: float) -> None:
    """Drop sessions and records that are older than the configuration has them kept."""
    days, audit_days = configuration.options.retention_days, (configuration.options.audit or {}).get("retention_days")
    if days is None and audit_days is None:
        return
    from lockgate.store.audit import pruning

    then = pruning.settle_time(tx, now)
    if days is not None:
        tx.prune(then - days * 86400)
    if audit_days is not None:
        pruning.retain(tx, key, audit_days, then, now)


def session_ended(parts: Parts, event: SessionEnded) -> Answer:
    """A session ends, and with it what its contained commands have left running."""
    from lockgate.gate.monitor import rooms

    with parts.store.transaction() as tx:
        now = parts.clock()
        parts.read_on(tx, event.context, now)
        session.end_session(tx, event.context, event.why, now)
        ended = [name for name, _, _ in rooms.names_in(tx, event.context.subject.session)]
        tx.append_audit(now, record.event_record(event.context, "session-end", {"why": event.why}))
    parts.end_rooms(ended)
    return Answer()


def agent_started(parts: Parts, event: AgentStarted) -> Answer:
    """A sub-agent begins."""
    from lockgate.gate.delegates import briefs

    context = event.context
    with parts.store.transaction() as tx:
        now = parts.clock()
        known = tx.agent(context.subject) is not None
        if known or context.agent_type not in briefs.DELEGATE_TYPES:
            parts.make_known(tx, context, now)
            session.begin_agent(tx, context, now)
        # A delegate begins with its first call: only then does the client say which call started it.
        tx.append_audit(now, record.event_record(context, "agent", {"type": context.agent_type, "again": known}))
    return Answer()


def agent_stopped(parts: Parts, event: AgentStopped) -> Answer:
    """A sub-agent ends."""
    from lockgate.gate.delegates import briefs

    context = event.context
    with parts.store.transaction() as tx:
        now = parts.clock()
        if tx.approvals(session=context.subject.session, state="pending"):
            from lockgate.gate.monitor import dialog

            dialog.close_unanswered(tx, context, now)
        session.end_agent(tx, context)
        briefs.record_end(tx, context.subject)
        tx.append_audit(now, record.event_record(context, "agent-end", {"type": context.agent_type}))
    return Answer()


def config_changed(parts: Parts, event: ConfigChanged) -> Answer:
    """The client's own settings changed: what would switch the gate off is refused.

    So is what has the client run something, where somebody in the session has read untrusted text: it may have come
    with a branch, and what it starts would pass by the gate.
    """
    from lockgate.gate.findings import is_enforced

    held = bool(event.acting) and is_enforced(parts.configure(event.context))
    with parts.store.transaction() as tx:
        now = parts.clock()
        parts.enter(tx, event.context, now)
        harm = event.harm
        if held and not harm and session.has_read_untrusted(tx, event.context.subject.session):
            harm = f"this session has read untrusted text, and the file now has {event.acting}"
        what = {"source": event.source, "file": event.file, "harm": harm}
        tx.append_audit(now, record.event_record(event.context, "client-settings", what))
    if not harm:
        return Answer()
    from lockgate.gate.messages import calls

    text = calls.settings_changed(harm, event.file)
    return Answer(Verdict.DENY, to_agent=text, to_person=text)
