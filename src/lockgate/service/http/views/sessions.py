"""Sessions and their events, for the API."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from lockgate.core.model import LabelState, Subject, Taint, TaintState
from lockgate.gate.session import provenance
from lockgate.service.http.schemas import (
    Agent,
    Blocked,
    Delegate,
    Moment,
    SessionDetail,
    SessionPage,
    SessionSummary,
    SourceInfo,
)
from lockgate.service.http.views import record_values
from lockgate.service.http.views.calls import one_line
from lockgate.service.http.views.decisions import search
from lockgate.service.http.views.display_values import escape_text
from lockgate.store.protocol import Transaction
from lockgate.store.rows import AgentRow, ApprovalRow, AuditQuery, AuditRow, BriefRow, SessionRow
from lockgate.system import caller

MOST_MOMENTS = 500
"""Entries of a time line, the newest."""
_MOST_DECISIONS = 2000
"""Decisions of a session that its time line is made from, the newest."""
_MOST_LABELS = 2000
"""Labels of a session that its time line is made from, the newest."""
_SECONDS = 0.5
"""After which no older decisions are looked for."""
_MOST_SOURCES = 500
_EARLIER = 60.0
"""Seconds before a session's start from which on its records are looked for: its first call may come before it."""


def page(tx: Transaction, now: float, *, text: str, live: bool, limit: int, offset: int) -> SessionPage:
    """One page of the sessions.

    Args:
        tx: The transaction.
        now: Seconds since the epoch.
        text: Stands in the id, the folder or the client.
        live: Only those that have not ended.
        limit: The most.
        offset: How many are left out.
    """
    rows = [row for row in tx.sessions() if _has(row, text.lower())]
    quiet = silent(tx, rows, now)
    running = sorted((row for row in rows if not row.ended_at), key=lambda row: row.session in quiet)
    ordered = running if live else running + [row for row in rows if row.ended_at]
    pending = Counter(row.session for row in tx.approvals(state="pending"))
    chosen = ordered[offset : offset + limit]
    return SessionPage(
        items=_summaries(tx, chosen, pending, quiet),
        total=len(ordered),
        live=len(running),
        silent=len(quiet),
        next=offset + limit if offset + limit < len(ordered) else None,
    )


def _has(row: SessionRow, text: str) -> bool:
    return not text or any(text in field.lower() for field in (row.session, row.workspace, row.cwd, row.client))


def find(tx: Transaction, name: str) -> SessionRow | None:
    """The session of an id, as it is or as it is shown."""
    found = tx.session(name)
    if found is None and "\\" in name:
        found = next((row for row in tx.sessions() if escape_text(row.session) == name), None)
    return found


def _summaries(
    tx: Transaction, rows: Sequence[SessionRow], pending: Mapping[str, int], quiet: Collection[str]
) -> list[SessionSummary]:
    """What is told of each of some sessions, in as few questions to the store as of one."""
    labels = tx.labels_of_all([Subject(row.session) for row in rows])
    blocked = tx.times_blocked([row.session for row in rows])
    return [
        SessionSummary(
            session=row.session,
            client=row.client,
            cwd=row.cwd,
            workspace=row.workspace,
            parent=row.parent or None,
            how=row.how or None,
            started_at=record_values.moment(row.started_at),
            seen_at=record_values.moment(row.seen_at),
            ended_at=record_values.moment(row.ended_at),
            why=row.why or None,
            live=not row.ended_at,
            silent=row.session in quiet,
            state=LabelState.of(labels[Subject(row.session)]),
            labels=sorted(labels[Subject(row.session)]),
            blocked=blocked[row.session],
            pending=pending.get(row.session, 0),
        )
        for row in rows
    ]


def whole(tx: Transaction, row: SessionRow, now: float) -> SessionDetail:
    """One session with all that happened in it."""
    approvals, agents, briefs = tx.approvals(session=row.session), tx.agents(row.session), tx.briefs(row.session)
    waiting = sum(each.state == "pending" for each in approvals)
    (summary,) = _summaries(tx, [row], {row.session: waiting}, silent(tx, [row], now))
    labels = tx.labels_of_all([Subject(row.session, agent.agent) for agent in agents])
    moments = [*_life(row, agents, briefs), *_labels_and_decisions(tx, row, approvals)]
    moments.sort(key=lambda moment: moment.at or record_values.EPOCH)
    return SessionDetail(
        **summary.model_dump(),
        timeline=moments[-MOST_MOMENTS:],
        timeline_omitted=max(len(moments) - MOST_MOMENTS, 0),
        provenance=[source(taint) for taint in provenance(tx, Subject(row.session), limit=_MOST_SOURCES)],
        agents=[
            Agent(
                agent=agent.agent,
                type=agent.agent_type,
                parent=agent.parent,
                state="running" if agent.state == "running" else "ended",
                delegate=agent.delegate or None,
                labels=sorted(labels[Subject(row.session, agent.agent)]),
                started_at=record_values.moment(agent.started_at),
            )
            for agent in agents
        ],
        delegates=[_delegate(brief) for brief in briefs],
        blocked_calls=[
            Blocked(agent=agent, what=what, at=record_values.moment(at))
            for agent, what, at in tx.list_blocked(row.session)
        ],
    )


def _delegate(brief: BriefRow) -> Delegate:
    return Delegate(
        brief=brief.brief,
        state=brief.state,
        agent=brief.agent,
        text=brief.text,
        at=record_values.moment(brief.at),
    )


def source(taint: Taint) -> SourceInfo:
    """Where a label came from."""
    return SourceInfo(
        label=taint.label,
        source=taint.source,
        tool=taint.tool,
        call=taint.call_id,
        at=record_values.moment(taint.at),
        state="pending" if taint.state is TaintState.PENDING else "confirmed",
        origin=taint.origin or None,
    )


# -- the time line


def _labels_and_decisions(tx: Transaction, row: SessionRow, approvals: list[ApprovalRow]) -> Iterator[Moment]:
    since = max(min(row.started_at, row.seen_at) - _EARLIER, 0.0) if row.started_at else 0.0
    query = AuditQuery(session=row.session, event="decision", since=since)
    found = search(tx, query, limit=_MOST_DECISIONS, seconds=_SECONDS)
    decisions = [(each, record_values.body_of(each.body)) for each in found.rows]
    of_call = {record_values.text(about.get("call")): each.seq for each, about in reversed(decisions)}
    of_call.pop("", None)
    for agent, taint in reversed(tx.newest_taints(row.session, _MOST_LABELS)):
        yield _label(agent, taint, of_call.get(taint.call_id))
    for record, about in decisions:
        yield from _stop(record, about)
    for approval in approvals:
        yield from _question(approval, of_call.get(approval.call_id))


def _label(agent: str, taint: Taint, decision: int | None) -> Moment:
    return Moment(
        at=record_values.moment(taint.at),
        kind="label",
        agent=agent,
        text=taint.source,
        label=taint.label,
        pending=taint.state is TaintState.PENDING,
        origin=taint.origin or None,
        tool=taint.tool,
        call=taint.call_id,
        decision=decision,
    )


def _stop(record: AuditRow, about: Mapping[str, Any]) -> Iterator[Moment]:
    """A call that was asked about or refused; nothing of a decision that let it run."""
    verdict = record_values.verdict(about.get("verdict"))
    if verdict in ("deny", "ask"):
        tool = record_values.text(about.get("tool"))
        yield Moment(
            at=record_values.moment(record.at),
            kind="stopped",
            agent=record_values.text(about.get("agent")),
            text=one_line(tool, about.get("input")),
            verdict=verdict,
            because=_first_reason(about),
            tool=tool,
            call=record_values.text(about.get("call")),
            decision=record.seq,
        )


def _first_reason(about: Mapping[str, Any]) -> str:
    reasons = about.get("reasons")
    first = reasons[0] if isinstance(reasons, list) and reasons else None
    return record_values.text(first.get("because")) if isinstance(first, dict) else ""


def _life(row: SessionRow, agents: Sequence[AgentRow], briefs: Sequence[BriefRow]) -> Iterator[Moment]:
    """How the session, its agents and its delegates began and ended."""
    how = f"by {row.how}" if row.how else "before Lockgate watched it"
    yield Moment(at=record_values.moment(row.started_at), kind="began", agent="", text=f"the session began {how}")
    for agent in agents:
        what = f"a sub-agent began: {agent.agent_type}"
        yield Moment(at=record_values.moment(agent.started_at), kind="agent", agent=agent.agent, text=what)
    for brief in briefs:
        yield Moment(
            at=record_values.moment(brief.at), kind="delegate", agent=brief.agent, text=brief.text, call=brief.call_id
        )
    if row.ended_at:
        yield Moment(
            at=record_values.moment(row.ended_at), kind="ended", agent="", text=f"it ended: {row.why or 'other'}"
        )


def _question(row: ApprovalRow, decision: int | None) -> Iterator[Moment]:
    tool = record_values.text(row.about.get("tool"))
    line = one_line(tool, row.about.get("input"))
    asked = Moment(
        at=record_values.moment(row.asked_at),
        kind="asked",
        agent=row.agent,
        text=line,
        tool=tool,
        call=row.call_id,
        decision=decision,
        approval=row.approval,
    )
    yield asked
    if row.decided_at:
        who = f" by {row.decided_by}" if row.decided_by else ""
        reason = f": {row.reason}" if row.reason else ""
        answer = Moment(**{**asked.model_dump(), "at": record_values.moment(row.decided_at), "kind": "answered"})
        yield answer.model_copy(update={"text": escape_text(f"{row.state}{who}{reason}")})


_RECENT = 60.0
"""Seconds after a sign of life within which nothing else is asked."""
_LONG = 86400.0
"""Seconds without a sign after which a session is silent, whatever its process does."""


def silent(tx: Transaction, rows: Sequence[SessionRow], now: float) -> frozenset[str]:
    """The sessions that have not ended and give no sign: their client's process is gone, or they were silent for long.

    Args:
        tx: A look at the store.
        rows: The sessions in question.
        now: Seconds since the epoch.
    """
    # A store that other machines use says of no process on which of them it is.
    local = all(gate.own for gate in tx.gates())
    return frozenset(row.session for row in rows if not row.ended_at and is_silent(row, now, local=local))


def is_silent(row: SessionRow, now: float, *, local: bool) -> bool:
    """Whether an open session was not seen for long, or its client is gone where that can be known."""
    quiet = abs(now - row.seen_at)
    return quiet > _LONG or (quiet > _RECENT and local and is_gone(row.process))


def is_gone(process: str) -> bool:
    """Whether a process has ended for certain.

    Args:
        process: ``pid:start-time``, the start in clock ticks since boot, as the gate notes it; it may be empty where
            the system tells none.
    """
    pid, _, started = process.partition(":")
    if not pid.isascii() or not pid.isdigit() or not 0 < int(pid) < 2**31:
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass  # it is another user's
    found = caller.process(int(pid))
    return bool(started) and found is not None and found.started != started
