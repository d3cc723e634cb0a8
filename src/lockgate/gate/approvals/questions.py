"""Questions to a person at another window: asked, answered, and used once. Each step runs in a transaction."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

from lockgate.core.errors import ApprovalError
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.approvals import denials, fetches
from lockgate.gate.approvals.proof import (
    ASKED,
    BECAUSE,
    FETCHES,
    NO_SUCH_NO,
    OTHERWISE,
    UNPROVEN,
    UNSIGNED,
    as_asked,
    digest_of_shown,
    digest_of_told,
    is_as_asked,
    is_no_recorded,
    is_proven,
    may_be_used,
    record_yes,
)
from lockgate.store.audit.record import event_record
from lockgate.store.rows import ApprovalRow

if TYPE_CHECKING:
    from typing import Any

    from lockgate.gate.approvals.proof import Approvers
    from lockgate.gate.approvals.signatures import Signer
    from lockgate.store.protocol import Transaction

EXPIRE_SECONDS = 300
"""Seconds that a person has, where no configuration says otherwise."""
_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
"""Without letters and digits that are taken for each other."""
_LENGTH = 10
"""49 bits: a guess in each second of five minutes hits with a chance of one in a trillion."""
IN_DIALOG = "dialog"
"""The name under which a question says that it is put in the client's own dialog: yes is said there alone."""
BY_TOOL = "by_tool"
"""The name under which a question says that the agent has it put by the client's own tool for questions."""
PUT_BY = "put_by"
"""The name under which such a question holds which call of that tool has put it."""
PAGES = "pages"
"""The name under which such a question holds what that tool shows, page by page, without its last line."""
REACHED = "reached"
"""The name under which a question tells the addresses behind names of remotes."""
TAKEN = "taken_over_by"
"""The name under which a question holds the later id of its call, where the client was ended meanwhile."""
TAKEN_AT = "taken_over_at"
"""The name under which a question holds when that was."""
YOUNG = 2.0
"""Seconds in which somebody who is about to wait for a question may not be seen to wait yet."""
WHOLE = "whole"
"""The name under which a question holds the whole call, as long as it is open."""


def seconds_of(configured: Mapping[str, Any] | None) -> float:
    """Seconds that a person has, by the configuration's ``approvals``."""
    return float((configured or {}).get("expire_seconds", EXPIRE_SECONDS))


def ask(
    tx: Transaction,
    context: Context,
    call: ToolCall,
    digest: str,
    basis: str,
    about: Mapping[str, Any],
    now: float,
    seconds: float,
    is_waited: Callable[[str], bool] = lambda _: True,
) -> ApprovalRow:
    """Put a question to a person. The same question about the same call is not put twice while its time runs.

    One about the same call that rests on something else is over with that: it could only be answered in vain.

    So a gate that was ended while it waited, and is asked again, finds the question that it had put. It also finds what
    a person has said meanwhile. A client that was ended names the same call anew when it goes on: then the question is
    known by what it is about, and that nobody waits for it any more.

    Args:
        tx: The transaction.
        context: Who makes the call.
        call: The call.
        digest: SHA-256 of the exact call, hexadecimal.
        basis: Digest of what the question rests on.
        about: What the person is shown.
        now: Seconds since the epoch.
        seconds: How long the person has.
        is_waited: Tells whether a process waits for the answer to a question.
    """
    subject = context.subject
    _end_overdue(tx, now)
    if same := _same_question(tx, subject, call, (digest, basis), now):
        return same
    if left := _take_over(tx, subject, call, (digest, basis), now, is_waited):
        return left
    row = ApprovalRow(
        _new_id(tx),
        subject.session,
        subject.agent,
        context.client,
        call.call_id,
        digest,
        basis,
        about,
        asked_at=now,
        expires_at=now + seconds,
    )
    row = as_asked(tx, row)
    tx.put_approval(row)
    return row


def _end_overdue(tx: Transaction, now: float) -> None:
    for row in tx.overdue_approvals(now):
        _end(tx, row._replace(state="expired", decided_at=row.decided_at or now))


def _same_question(
    tx: Transaction, subject: Subject, call: ToolCall, about: tuple[str, str], now: float
) -> ApprovalRow | None:
    """The question about this call that rests on the same. Those that rest on something else end."""
    for row in _about_call(tx, subject, call):
        same = (row.digest, row.basis) == about and not row.is_over(now)
        if same and (row.state == "denied" or is_as_asked(tx, row)):
            return row
        if row.state != "denied":
            _end(tx, row._replace(state="changed", decided_at=row.decided_at or now))
    return None


def _take_over(
    tx: Transaction,
    subject: Subject,
    call: ToolCall,
    about: tuple[str, str],
    now: float,
    is_waited: Callable[[str], bool],
) -> ApprovalRow | None:
    """The question about the same that was left behind, which is about this call from now on."""
    if not call.call_id:
        return None  # calls without an id cannot be told apart: each has a question of its own
    left = _find_left_behind(tx, subject, about, now, is_waited)
    if left is None:
        return None
    row = left._replace(about={**left.about, TAKEN: call.call_id, TAKEN_AT: now})
    tx.put_approval(row)
    return row


def _find_left_behind(
    tx: Transaction, subject: Subject, about: tuple[str, str], now: float, is_waited: Callable[[str], bool]
) -> ApprovalRow | None:
    """The question about the same that nobody waits for any more, and that was not put in a client's dialog."""
    for row in _open(tx, subject.session):
        same = row.agent == subject.agent and (row.digest, row.basis) == about
        since = row.about.get(TAKEN_AT, row.asked_at)
        by_tool = BY_TOOL in row.about  # for such a question no process waits
        if not by_tool and isinstance(since, float) and now - since < YOUNG:
            continue
        if (
            same
            and not row.about.get(IN_DIALOG)
            and not row.is_over(now)
            and is_as_asked(tx, row)
            and (by_tool or not is_waited(row.approval))
        ):
            return row
    return None


def is_of(row: ApprovalRow, call_id: object) -> bool:
    """Whether a question is about the call that the client calls so now."""
    return _call_of(row) == call_id


def _about_call(tx: Transaction, subject: Subject, call: ToolCall) -> list[ApprovalRow]:
    """The questions about a call that were not used or ended."""
    states = ("pending", "approved", "denied") if call.call_id else ()
    rows = [row for state in states for row in tx.approvals(session=subject.session, state=state)]
    return [row for row in rows if (row.agent, _call_of(row)) == (subject.agent, call.call_id)]


def _call_of(row: ApprovalRow) -> object:
    """What the client calls the call now. The yes is bound to what it was called when it was asked about."""
    return row.about.get(TAKEN, row.call_id)


def _open(tx: Transaction, session: str) -> list[ApprovalRow]:
    """The questions of a session that wait, or whose yes nobody used."""
    return [row for state in ("pending", "approved") for row in tx.approvals(session=session, state=state)]


def _new_id(tx: Transaction) -> str:
    while True:
        name = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
        if tx.approval(name) is None:
            return name


def demand_open(row: ApprovalRow) -> None:
    """Make sure that a question can be answered.

    Raises:
        ApprovalError: It was answered, or its time is over.
    """
    if row.state != "pending":
        raise ApprovalError(f"this question is not open any more: it is {row.state}")


def decide(
    tx: Transaction,
    approval: str,
    *,
    approve: bool,
    by: str,
    reason: str,
    now: float,
    client: str = "cli",
    for_all: bool = False,
    signer: Signer | None = None,
    seen: Mapping[str, Any] | None = None,
) -> ApprovalRow:
    """Answer a question for a person, and record that.

    A no ends every other open question of the session about the same exact call: it was said to the call.

    Args:
        tx: The transaction.
        approval: The question's id.
        approve: Whether the call may run.
        by: Who says so, as ``ann (terminal)``.
        reason: What the agent is told.
        now: Seconds since the epoch.
        client: Through which program of ours they say it, as the audit names it.
        for_all: Whether a yes is for all fetches of the page's host.
        signer: The approver who signs a yes; they are named then as the one who says it.
        seen: What the person was shown of the question, where it was read before.

    Raises:
        ApprovalError: There is no such question, it was answered, or its time is over. Or a no to the same call stands
        that is to be approved. Or it is put in the client's own dialog, or cannot be answered for all.
    """
    row = _answerable(tx, approval, approve=approve, now=now, seen=seen)
    by = signer.by if signer is not None else by
    row = row._replace(state="approved" if approve else "denied", decided_at=now, decided_by=by, reason=reason)
    row = row.say_anew()
    person = Context(client, Subject(row.session, row.agent))
    facts: dict[str, Any] = {"approval": row.approval, "digest": row.digest, "by": by, "reason": reason}
    if not approve:
        tx.put_approval(row)
        facts |= _end_others(tx, row)
        tx.append_audit(now, event_record(person, "deny", facts))
        return row
    if for_all:
        row = fetches.for_all(row)
        facts[FETCHES] = row.about[FETCHES]
    row = record_yes(tx, row, event_record(person, "approve", facts), signer)
    tx.put_approval(row)
    return row


def _answerable(
    tx: Transaction, approval: str, *, approve: bool, now: float, seen: Mapping[str, Any] | None
) -> ApprovalRow:
    """The question with this id.

    Raises:
        ApprovalError: It cannot be answered, or not with a yes.
    """
    row = tx.approval(approval)
    if row is None:
        raise ApprovalError("there is no question with this id; see: lockgate approvals list")
    demand_open(row)
    if row.is_over(now):
        raise ApprovalError("the time for this question is over; the agent can ask again")
    if approve and row.about.get(IN_DIALOG):
        raise ApprovalError("this call is asked about in the client's window: say yes there")
    if approve and not (
        is_as_asked(tx, row) and digest_of_told(row.about if seen is None else seen) == digest_of_told(row.about)
    ):
        raise ApprovalError(
            "this question does not show the call that was asked about: an older Lockgate asked it, "
            "or something else has changed it. Do not trust what you see of it: the agent can make the call again. "
            "Where nothing was upgraded since, run: lockgate audit verify"
        )
    if approve and denials.exact(denials.list_denials(tx, row.session), row.digest):
        raise ApprovalError("a person said no to this call; to take that back: lockgate approvals retract")
    return row


def _end_others(tx: Transaction, no: ApprovalRow) -> dict[str, Any]:
    """End the other questions about the same call, which a no has answered too; they are told by its record."""
    others = [row for row in _open(tx, no.session) if row.digest == no.digest]
    for row in others:
        answered = row._replace(state="denied", decided_at=no.decided_at, decided_by=no.decided_by, reason=no.reason)
        tx.put_approval(answered.say_anew())
    return {"also": [row.approval for row in others]} if others else {}


def lapse(tx: Transaction, approval: str, *, reason: str, now: float) -> None:
    """End an open question that nobody was asked after all: that is no person's no."""
    row = tx.approval(approval)
    if row is not None and row.state == "pending":
        _end(tx, row._replace(state="expired", decided_at=now, reason=reason))


def settle(
    tx: Transaction,
    approval: str,
    *,
    subject: Subject,
    digest: str,
    basis: str,
    now: float,
    approvers: Approvers,
    shown: str = "",
    call_id: str | None = None,
    twice: bool = False,
) -> ApprovalRow:
    """Find out what came of a question, for the call that waited. It ends here, whatever was said.

    Args:
        tx: The transaction.
        approval: The question's id.
        subject: Who makes the call.
        digest: SHA-256 of the exact call, hexadecimal.
        basis: Digest of what the call's decision rests on now.
        now: Seconds since the epoch.
        approvers: The ``approvers`` of the configuration: a yes that none of them has signed is none.
        shown: Digest of the call as a person had to be shown it, empty where that is not known.
        call_id: What the client calls the call: another one may have found the question in the meantime.
        twice: Whether a second hook for the very same call hears what the first has heard: for a client that itself
            runs a call once, however many hooks it has. Whoever takes requests from elsewhere must not say so.

    Returns: The question in the state ``used`` (the call may run, once), ``denied``, ``expired`` or ``changed``. The
    last is so where what it rested on is not what it was, or another call has used it. It is ``unproven`` where the
    audit has no such answer: then something else has written the question.

    Raises:
        ApprovalError: There is no such question, or it is somebody else's.
    """
    row = _question_of(tx, approval, subject)
    if call_id not in (None, _call_of(row)):
        return row._replace(state="changed")
    if row.state == "used":
        again = twice and (row.digest, row.basis) == (digest, basis) and not row.is_over(now)
        return row if again and is_proven(tx, row, approvers, shown=shown) else row._replace(state="changed")
    if row.state == "pending" or (row.state == "approved" and row.is_over(now)):
        row = row._replace(state="expired", decided_at=row.decided_at or now)
    elif row.state == "approved":
        same = (row.digest, row.basis) == (digest, basis) and not _looks_otherwise_now(tx, row, shown)
        if because := _against(tx, row, approvers, shown if same else ""):
            return _end(tx, row._replace(state="expired", reason=because))._replace(state=UNPROVEN)
        row = row._replace(state="used" if same else "changed")
    elif row.state == "denied" and not is_no_recorded(tx, row):
        state = "expired" if row.is_changed else row.state
        return _end(tx, row._replace(state=state, decided_by="", reason=NO_SUCH_NO))._replace(state=UNPROVEN)
    return _end(tx, row)


def _looks_otherwise_now(tx: Transaction, row: ApprovalRow, shown: str) -> bool:
    """Whether a question shows what it showed when it was asked, and would show something else by now."""
    return bool(shown) and is_as_asked(tx, row) and digest_of_shown(row.about) != shown


def _against(tx: Transaction, row: ApprovalRow, approvers: Approvers, shown: str) -> str:
    """What speaks against the use of a yes; empty where nothing does."""
    if may_be_used(tx, row, approvers, shown):
        return ""
    if shown and may_be_used(tx, row, approvers, ""):
        return OTHERWISE
    return UNSIGNED if approvers is not None and is_proven(tx, row, None) else BECAUSE


def _question_of(tx: Transaction, approval: str, subject: Subject) -> ApprovalRow:
    """The question of a subject.

    Raises:
        ApprovalError: There is no such question, or it is somebody else's.
    """
    row = tx.approval(approval)
    if row is None:
        raise ApprovalError("the question to a person is gone")
    if (row.session, row.agent) != subject:
        raise ApprovalError("the question to a person is about somebody else's call")
    return row


def without_call(row: ApprovalRow) -> ApprovalRow:
    """A question that is over. What the person was shown is not kept longer: it may hold more than the audit does."""
    return row.drop_facts(WHOLE, PAGES, ASKED)


def _end(tx: Transaction, row: ApprovalRow) -> ApprovalRow:
    row = without_call(row)
    tx.put_approval(row)
    return row
