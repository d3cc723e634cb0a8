"""Whether answers and labels are what the audit tells of them, and the other way round.

The chain by itself proves that no record was changed. It says nothing of a row that somebody has changed beside it. So
each answer that is kept must be one that was recorded, and each answer that was recorded must still be kept. Labels are
those that were sealed, and hold all that calls are recorded to have given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from lockgate.core.events import Context
from lockgate.core.model import Label, Subject, Taint
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.approvals.proof import is_proven, parsed_body
from lockgate.gate.approvals.questions import without_call
from lockgate.store.audit.chain import records
from lockgate.store.audit.record import happened
from lockgate.store.files import PUT_BACK

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import ApprovalRow

ACCEPTED = "accepted"
"""The event of the record by which a person accepts contradictions that they have looked at."""
_TELLS = re.compile(f'"event":"(?:approve|deny|answered|retract|endorse|{ACCEPTED})"|"gave":\\["')
_YES = frozenset({"approved", "used"})
_NO = frozenset({"denied"})
_OVER = "over"
_LOST = "what the audit tells of, and the state had lost"
_MOST_TOLD = 20
"""Problems that the record of an acceptance tells."""


class Contradiction(Record):
    """One question or subject of which the store and the audit say something else."""

    problem: str
    approval: str = ""
    """The question's id; empty where it is about labels."""
    denied: tuple[str, str] = ("", "")
    """The session and the digest of the call to which a person said no, as the audit tells; empty where none was."""
    subject: Subject = Subject("")
    missing: frozenset[Label] = frozenset()
    """The labels that the audit tells that the subject has, and the store does not."""
    is_of_all: bool = False
    """Whether it is about the whole state."""

    @property
    def text(self) -> str:
        """What is wrong, for a person. Names of sessions and agents may hold anything."""
        if self.is_of_all:
            return self.problem
        session, agent = self.subject
        who = f"agent {agent} of session {session}" if agent else f"session {session}"
        return f"{f'question {self.approval}' if self.approval else who}: {self.problem}"


class _Told(Record):
    """What the audit tells of one question last."""

    session: str
    digest: str
    state: str
    at: float
    sealed: bool = False


class _Chains:
    """What all chains tell."""

    def __init__(self, tx: Transaction) -> None:
        self.told: dict[str, _Told] = {}
        """Of each question, last."""
        self.gave: dict[Subject, dict[tuple[Label, str], float]] = {}
        """To each subject: labels, each with the call that gave it, and when."""
        self.since = 0.0
        """From when on nothing was removed from any of them."""
        for gate in tx.gates():
            is_cut = tx.audit_checkpoint(gate=gate.gate).seq > 0
            for row in records(tx, gate.gate):
                if is_cut:
                    self.since, is_cut = max(self.since, row.at), False
                if _TELLS.search(row.body):
                    self._add(parsed_body(row.body), row.at)

    def _add(self, body: Mapping[str, Any], at: float) -> None:
        match body.get("event"):
            case "outcome":
                self._given(body).update({(label, str(body.get("call"))): at for label in _labels(body.get("gave"))})
            case "endorse":
                self._given(body).pop((Label.UNTRUSTED, str(body.get("call"))), None)
            case _:
                _add(self.told, body, at)

    def _given(self, body: Mapping[str, Any]) -> dict[tuple[Label, str], float]:
        return self.gave.setdefault(Subject(str(body.get("session", "")), str(body.get("agent", ""))), {})


def contradictions(tx: Transaction) -> list[Contradiction]:
    """All that answers, labels and the audit say against each other, of every gate that uses the store."""
    put_back = tx.setting(PUT_BACK)
    if put_back is not None:
        # By its records it is consistent, and what is missing in it is what they cannot tell.
        says = f"{put_back}: it may have been put back from a copy, so every session of before has every label"
        return [Contradiction(says, is_of_all=True), *_unsealed(tx)]
    chains = _Chains(tx)
    rows = {row.approval: row for row in tx.approvals()}
    found = [_of_row(tx, row, chains.told.get(row.approval), chains.since) for row in rows.values()]
    found += [_of_record(tx, name, each) for name, each in chains.told.items() if name not in rows]
    found += _unsealed(tx)
    found += [_of_labels(tx, subject, gave) for subject, gave in chains.gave.items() if gave]
    return [each for each in found if each is not None]


def _unsealed(tx: Transaction) -> list[Contradiction]:
    return [Contradiction(problem, subject=subject) for subject, problem in tx.label_contradictions()]


def _of_labels(tx: Transaction, subject: Subject, gave: Mapping[tuple[Label, str], float]) -> Contradiction | None:
    session = tx.session(subject.session)
    # One that was forgotten may have been resumed since.
    told = frozenset(label for (label, _), at in gave.items() if session is not None and session.started_at <= at)
    missing = told - tx.labels(subject) if told else told
    if not missing:
        return None
    problem = f"the audit tells that it has read what makes it {' and '.join(sorted(missing))}, and it is not"
    return Contradiction(problem, subject=subject, missing=missing)


def accept(tx: Transaction, found: Sequence[Contradiction], *, by: str, now: float) -> None:
    """Mend contradictions that a person has looked at, and record that.

    No answer counts that was not recorded, and no label goes.

    Args:
        tx: The transaction.
        found: What is against what.
        by: Who says so, as ``ann (terminal)``.
        now: Seconds since the epoch.
    """
    for each in found:
        row = tx.approval(each.approval) if each.approval else None
        if each.is_of_all:
            tx.put_setting(PUT_BACK, None)
        elif not each.approval:
            tx.mend_labels(each.subject, now)
            tx.add_taints(each.subject, [Taint(label, _LOST, "", "", now) for label in each.missing])
        elif row is not None:
            tx.put_approval(_mended(row, each))
    questions = [each for each in found if each.approval]
    ended = [each.approval for each in questions if not each.denied[0] or tx.approval(each.approval) is None]
    facts = {"approvals": ended, "problems": [each.text for each in found][:_MOST_TOLD], "by": by}
    tx.append_audit(now, happened(Context("cli", Subject("")), ACCEPTED, facts))


def _of_row(tx: Transaction, row: ApprovalRow, told: _Told | None, since: float) -> Contradiction | None:
    """What a question says against its records. What was recorded before a time may have been removed by retention."""
    problem, no = "", ("", "")
    if told is None:
        if row.state in _YES | _NO and row.decided_at >= since:
            problem = f"it is {row.state}, and the audit has no such answer"
    else:
        problem = _against(tx, row, told)
        no = (told.session, told.digest) if told.state in _NO else no
    return Contradiction(problem, row.approval, no) if problem else None


def _mended(row: ApprovalRow, found: Contradiction) -> ApprovalRow:
    """A question that is over; a no is said again to the call to which it was said."""
    session, digest = found.denied
    if session:
        return without_call(row._replace(state="denied", session=session, digest=digest))
    return without_call(row._replace(state="expired"))


def _is_of_another_call(row: ApprovalRow, told: _Told) -> bool:
    # A client's name may hold what is kept as its escape.
    session = told.session.encode("utf-8", "backslashreplace").decode()
    return (row.digest, row.session) != (told.digest, session)


def _against(tx: Transaction, row: ApprovalRow, told: _Told) -> str:
    if told.state in _YES | _NO and _is_of_another_call(row, told):
        return f"it is about another call, or of another session, than the one that was {told.state}"
    if row.state in _YES and told.state not in _YES:
        return f"it is {row.state}, and the audit tells that it was {told.state}"
    if row.state in _YES and told.sealed and not is_proven(tx, row):
        return "it is bound to another call than the yes that the audit has"
    if row.state == "approved" and told.state == "used":
        return "its yes was used already, and it can be used again"
    if row.state == "pending" and told.state != _OVER:
        return f"it is open, and the audit tells that it was {told.state}"
    if told.state in _NO and row.state not in _NO:
        return f"the audit tells that a person said no, and it is {row.state}"
    if row.state in _NO and told.state not in _NO:
        return f"it is {row.state}, and the audit tells that it was {told.state}"
    return ""


def _of_record(tx: Transaction, approval: str, told: _Told) -> Contradiction | None:
    """What a record says against the questions: its own is missing, though its session is still kept."""
    session = tx.session(told.session) if told.state in _YES | _NO else None
    # One that was forgotten may have been resumed since.
    if session is None or session.started_at > told.at:
        return None
    return Contradiction(f"it was {told.state}, and is missing", approval)


def _add(told: dict[str, _Told], body: Mapping[str, Any], at: float) -> None:
    event, name, session = (str(body.get(field, "")) for field in ("event", "approval", "session"))
    digest = str(body.get("digest", ""))
    if event == ACCEPTED:
        for accepted in _texts(body.get("approvals")):
            told.pop(accepted, None)
    elif event == "approve":
        told[name] = _Told(session, digest, "approved", at, "seal" in body)
    elif event == "deny":
        for denied in (name, *_texts(body.get("also"))):
            told[denied] = _Told(session, digest, "denied", at)
    elif event == "retract":
        taken_back = _Told(session, digest, "denied", 0.0)
        same = [key for key, each in told.items() if each._replace(at=0.0, sealed=False) == taken_back]
        told |= {key: told[key]._replace(state=_OVER) for key in same}
    elif event == "answered":
        _add_answered(told, body, _Told(session, digest, str(body.get("state", "")), at, "seal" in body))


def _add_answered(told: dict[str, _Told], body: Mapping[str, Any], answered: _Told) -> None:
    name = str(body.get("approval", ""))
    before = told.get(name)
    if answered.state in _YES | _NO:
        sealed = answered.sealed or (before is not None and before.sealed)
        told[name] = answered._replace(sealed=sealed)
    elif before is not None and before.state == "approved":
        # It ran out, or was void: a yes that was used stays used, whatever a second hook hears.
        told[name] = before._replace(state=_OVER)


def _labels(value: Any) -> list[Label]:
    return [label for label in Label if label.value in _texts(value)]


def _texts(value: Any) -> Iterator[str]:
    return iter([each for each in value if isinstance(each, str)] if isinstance(value, list) else [])
