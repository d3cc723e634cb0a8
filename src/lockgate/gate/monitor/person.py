"""Asks a person at another window, and reads their answer, within the transaction that decides."""

from __future__ import annotations

import json
from collections.abc import Mapping

from lockgate.core.model import Tier, Verdict
from lockgate.core.questions import PersonQuestion
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.approvals import denials, questions
from lockgate.gate.approvals.proof import UNPROVEN, digest_of_shown
from lockgate.gate.monitor.decide import DecisionInput, Ruling
from lockgate.store.audit import record
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from typing import Any

    from lockgate.gate.monitor.decide import PersonWord
    from lockgate.store.rows import ApprovalRow


def ask(question: DecisionInput, ruling: Ruling, approval: str, *, twice: bool = False) -> Ruling | PersonQuestion:
    """Ask a person, or find out what the one said who was asked.

    Args:
        question: The call, as it is decided now.
        ruling: What is decided about it without a person.
        approval: The question that was put before, empty where none was.
        twice: Whether two hooks of a client may wait for one call, as where they are installed twice.

    Returns:
        What is decided with the person's word; or the question that a person has to answer first, where none was put or
        what it rested on has changed.
    """
    tx, now, basis = question.tx, question.now, basis_of(question, ruling)
    if approval:
        row = _settle(question, approval, basis, shown=_find_shown_digest(question, ruling), twice=twice)
        if ruling.decision.verdict is not Verdict.ASK:
            return ruling._replace(approval=approval)
        if row.state == "used":
            decision = ruling.decision._replace(verdict=Verdict.ALLOW, tier=Tier.PERSON)
            return ruling._replace(decision=decision, approval=approval, person="used")
        if row.state != "changed":
            decision = ruling.decision._replace(verdict=Verdict.DENY, tier=Tier.PERSON)
            word: Any = row.state
            return ruling._replace(decision=decision, approval=approval, person=word, person_says=row.reason)
    seconds = questions.seconds_of(question.configuration.options.approvals)
    row = questions.ask(
        *(tx, question.context, question.call, question.digest, basis, about(question, ruling), now, seconds),
        is_waited=question.is_waited,
    )
    tx.append_audit(now, record.person_asked(question.context, row))
    return PersonQuestion(question.context, row.approval, row.expires_at, question.configuration.options.approvals)


def refuse(question: DecisionInput, ruling: Ruling, approval: str) -> Ruling | None:
    """Refuse a call that a person has said no to, whatever would be decided about it now; ``None`` for another call.

    Args:
        question: The call.
        ruling: What is decided about it without a person.
        approval: The question that this call waited for, empty where it waited for none.
    """
    no = denials.exact(question.noes, question.digest)
    if no is None:
        return None
    settled = _settle(question, approval, "") if approval else no
    decision = ruling.decision._replace(verdict=Verdict.DENY, tier=Tier.PERSON)
    refused = ruling._replace(decision=decision, new_input=None, asks_elsewhere=False)
    word: PersonWord = "denied" if no.approval == approval else "denied before"
    if settled.state == UNPROVEN:
        word = "unproven"
        return refused._replace(approval=approval, person=word, person_says=settled.reason)
    if no.is_changed:
        return refused._replace(approval=no.approval, person="unknown no")
    return refused._replace(approval=no.approval, person=word, person_says=no.reason)


def _find_shown_digest(question: DecisionInput, ruling: Ruling) -> str:
    """Digest of the call as a person had to be shown it."""
    return digest_of_shown(about(question, ruling))


def _settle(question: DecisionInput, approval: str, basis: str, *, shown: str = "", twice: bool = False) -> ApprovalRow:
    """What came of the question that a call waited for, recorded where that is news."""
    tx, now = question.tx, question.now
    before = tx.approval(approval)
    row = questions.settle(
        tx,
        approval,
        subject=question.context.subject,
        digest=question.digest,
        basis=basis,
        now=now,
        approvers=question.configuration.options.approvers,
        shown=shown,
        call_id=question.call.call_id,
        twice=twice,
    )
    # Where another call has found the question meanwhile, nothing has come of it yet.
    if row != before and (before is None or questions.is_of(before, question.call.call_id)):
        tx.append_audit(now, record.answer_record(question.context, row))
    return row


def basis_of(question: DecisionInput, ruling: Ruling) -> str:
    """Digest of all that a question to a person rests on: with another label or effect it is another question.

    Of the configuration it is what its files say, and not which version reads them: a question survives an upgrade that
    decides alike.
    """
    configured = question.configuration.digest.rpartition(".")[2]
    effects = sorted(
        repr((reason.row, reason.column.value, *reason.effect._replace(because="")))
        for reason in ruling.decision.reasons
    )
    text = "\0".join((configured, ruling.decision.column.value, ruling.brief, *effects))
    return sha256(b"lockgate basis\0" + text.encode("utf-8", "surrogatepass")).hexdigest()


def about(question: DecisionInput, ruling: Ruling) -> Mapping[str, Any]:
    """What the person is shown. Values that the pattern library found are masked in all of it."""
    call = question.mask.call(question.call)
    told = record.decision_record(
        question.context,
        call,
        question.digest,
        question.taints,
        question.mask.analysis(ruling.analysis),
        question.mask.decision(ruling.decision),
        found=question.found,
        cascade=record.cascade(ruling.decision, record.Timing(), question.opinion, ""),
    )
    # The record cuts long texts and tells contents of files by their hash; a person has to see what they approve.
    whole = json.loads(json.dumps(dict(call.tool_input), default=str))
    aims = denials.targets(reason.effect for reason in ruling.decision.reasons)
    return {**told, denials.TARGETS: aims, questions.WHOLE: whole, "brief": question.mask.text(ruling.brief)}
