"""A person's answer to a question: written into the store and the audit, and then told to whoever waits."""

from __future__ import annotations

from lockgate.audit.record import happened
from lockgate.escape import approvals, bells
from lockgate.escape.waiting import WATCHERS
from lockgate.events import Context
from lockgate.model import Subject
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.store.protocol import Store
    from lockgate.store.rows import ApprovalRow

REASON = 1000
"""Most characters of what a person says to the agent."""


def answer(
    store: Store, state: str, approval: str, *, approve: bool, by: str, reason: str = "", client: str = "cli"
) -> ApprovalRow:
    """Answer a question, and wake whoever waits for it.

    Args:
        store: The store.
        state: The state folder.
        approval: The question's id.
        approve: Whether the call may run.
        by: Who says so, as ``ann (terminal)``.
        reason: What the agent is told.
        client: Through which program of ours they say it, as the audit names it: ``cli`` or ``dashboard``.

    Raises:
        ApprovalError: There is no such question, or it was answered, or its time is over.
        StoreError: The store cannot be written.
    """
    with store.transaction() as tx:
        now = store.clock()
        row = approvals.decide(tx, approval, approve=approve, by=by, reason=reason[:REASON], now=now)
        person = Context(client, Subject(row.session, row.agent))
        facts = {"approval": row.approval, "digest": row.digest, "by": row.decided_by, "reason": row.reason}
        tx.append_audit(now, happened(person, "approve" if approve else "deny", facts))
    # Only what is committed can be read by whoever is woken.
    bells.ring(state, approval)
    bells.ring(state, WATCHERS)
    return row
