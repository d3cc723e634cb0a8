"""Questions to a person who is elsewhere: asked, answered, and used once. Pure functions over a transaction."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from lockgate.errors import ApprovalError
from lockgate.events import Context
from lockgate.model import ToolCall
from lockgate.record import TYPE_CHECKING
from lockgate.store.rows import ApprovalRow

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Transaction

EXPIRE_SECONDS = 300
"""Seconds that a person has, where no configuration says otherwise."""
_ALPHABET = "23456789abcdefghjkmnpqrstvwxyz"
"""Without letters and digits that are taken for each other."""
_LENGTH = 10
"""49 bits: a guess in each second of five minutes hits with a chance of one in a trillion."""


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
) -> ApprovalRow:
    """Put a question to a person. The same question that is still open is not put twice.

    Args:
        tx: The transaction.
        context: Who makes the call.
        call: The call.
        digest: SHA-256 of the exact call, hexadecimal.
        basis: Digest of what the question rests on.
        about: What the person is shown.
        now: Seconds since the epoch.
        seconds: How long the person has.
    """
    subject = context.subject
    for row in tx.approvals(session=subject.session, state="pending"):
        same = (row.agent, row.call_id, row.digest, row.basis) == (subject.agent, call.call_id, digest, basis)
        if same and call.call_id and row.expires_at > now:
            return row
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
    tx.put_approval(row)
    return row


def _new_id(tx: Transaction) -> str:
    while True:
        name = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
        if tx.approval(name) is None:
            return name


def decide(tx: Transaction, approval: str, *, approve: bool, by: str, reason: str, now: float) -> ApprovalRow:
    """Answer a question for a person.

    Raises:
        ApprovalError: There is no such question, or it was answered, or its time is over.
    """
    row = tx.approval(approval)
    if row is None:
        raise ApprovalError("there is no question with this id; see: lockgate approvals list")
    if row.state != "pending":
        raise ApprovalError(f"this question is not open any more: it is {row.state}")
    if row.expires_at <= now:
        tx.put_approval(row._replace(state="expired", decided_at=now))
        raise ApprovalError("the time for this question is over; the agent can ask again")
    row = row._replace(state="approved" if approve else "denied", decided_at=now, decided_by=by, reason=reason)
    tx.put_approval(row)
    return row


def settle(tx: Transaction, approval: str, *, digest: str, basis: str, now: float) -> ApprovalRow:
    """Find out what came of a question, for the call that waited. It ends here, whatever was said.

    Returns:
        The question in the state ``used`` (the call may run, once), ``denied``, ``expired``, or ``changed``, where what
        it rested on is not what it was.

    Raises:
        ApprovalError: There is no such question.
    """
    row = tx.approval(approval)
    if row is None:
        raise ApprovalError("the question to a person is gone")
    if row.state == "pending":
        row = row._replace(state="expired", decided_at=now)
    elif row.state == "approved" and row.expires_at <= now:
        row = row._replace(state="expired")
    elif row.state == "approved":
        row = row._replace(state="used" if (row.digest, row.basis) == (digest, basis) else "changed")
    elif row.state == "used":
        row = row._replace(state="changed")  # by another hook for the same call: it is let run once
    tx.put_approval(row)
    return row
