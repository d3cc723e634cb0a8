"""Records a person's answer in the store and the audit, and then wakes whoever waits."""

from __future__ import annotations

from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.approvals import denials, questions, wakeups
from lockgate.gate.approvals.waiting import WATCHERS
from lockgate.store.audit.record import event_record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lockgate.configuration.bundles.keys import PrivateKey
    from lockgate.gate.approvals.signatures import Signer as Signer
    from lockgate.store.protocol import Store
    from lockgate.store.rows import ApprovalRow

REASON = 1000
"""Most characters of what a person says to the agent."""


def answer(
    store: Store,
    state: str,
    approval: str,
    *,
    approve: bool,
    by: str,
    reason: str = "",
    client: str = "cli",
    fetches: bool = False,
    signer: Signer | None = None,
    seen: Mapping[str, Any] | None = None,
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
        fetches: Whether a yes is for all fetches of the page's host, until the session has another label.
        signer: The approver who signs it, where the configuration names any: see :func:`signer_of`.
        seen: What the person was shown of the question, where it was read before.

    Raises:
        ApprovalError: There is no such question, or it was answered, or its time is over, or cannot be answered so.
        StoreError: The store cannot be written.
    """
    with store.transaction() as tx:
        row = questions.decide(
            tx,
            approval,
            approve=approve,
            by=by,
            reason=reason[:REASON],
            now=store.clock(),
            client=client,
            for_all=approve and fetches,
            signer=signer,
            seen=seen,
        )
    # Only what is committed can be read by whoever is woken.
    wakeups.wake(state, approval)
    wakeups.wake(state, WATCHERS)
    return row


def signer_of(approvers: Mapping[str, Any], key: PrivateKey, now: float) -> Signer:
    """The approver whose key this is, by the ``approvers`` of the configuration.

    Raises:
        ApprovalError: It is the key of none, or not of now.
    """
    from lockgate.gate.approvals import signatures

    return signatures.signer(approvers, key, now)


def take_back(
    store: Store, approval: str, *, by: str, client: str = "cli", signer: Signer | None = None
) -> ApprovalRow:
    """Take a no back for a person, and record that.

    Args:
        store: The store.
        approval: The question's id.
        by: Who says so, as ``ann (terminal)``.
        client: Through which program of ours, as the audit names it.
        signer: The approver who signs it, where the configuration names any.

    Raises:
        ApprovalError: There is no such question, or it was not answered with no.
        StoreError: The store cannot be written.
    """
    by = signer.by if signer is not None else by
    with store.transaction() as tx:
        row, now = denials.retract(tx, approval, by=by), store.clock()
        person = Context(client, Subject(row.session, row.agent))
        body = event_record(person, "retract", {"approval": row.approval, "digest": row.digest, "by": by})
        tx.append_audit(now, {**body, **sign_record(signer, "retract", body, now)})
    return row


def sign_record(signer: Signer | None, act: str, body: Mapping[str, Any], at: float) -> dict[str, Any]:
    """What an approver's signature adds to the record of something else than a yes; nothing where nobody signs."""
    if signer is None:
        return {}
    from lockgate.gate.approvals import signatures

    return {signatures.SIGNED: signer.sign(act, signatures.facts_in(body, at))}
