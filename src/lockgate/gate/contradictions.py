"""Compares answers and labels with what the audit tells of them, and the other way round.

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
from lockgate.gate.approvals.denials import TARGETS
from lockgate.gate.approvals.proof import UNSIGNED, is_proven, parse_body
from lockgate.gate.approvals.questions import without_call
from lockgate.gate.session import packages
from lockgate.store.audit.chain import records
from lockgate.store.audit.record import event_record

if TYPE_CHECKING:
    from typing import Any

    from lockgate.gate.approvals.proof import Approvers
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import ApprovalRow, SessionRow

ACCEPTED = "accepted"
"""The event of the record by which a person accepts contradictions that they have looked at."""
_TELLS = re.compile(f'"event":"(?:approve|deny|answered|retract|endorse|{ACCEPTED})"|"gave":\\["')
_TELLS_HERE = re.compile(f'{_TELLS.pattern}|"event":"{packages.INSTALLED}(?:-ended)?"')
"""The same, for this gate's own records: folders of packages are those of its machine."""
_YES = frozenset({"approved", "used"})
_NO = frozenset({"denied"})
_OVER = "over"
_LOST = "what the audit tells of, and the state had lost"
_LOST_PACKAGES = "the audit tells that a session with untrusted text has installed them, and that is not kept any more"
_MOST_TOLD = 20
"""Problems that the record of an acceptance tells."""


class Contradiction(Record):
    """A question or subject of which the store and the audit say something else."""

    problem: str
    approval: str = ""
    """The question's id; empty where it is about labels."""
    denied: tuple[str, str] = ("", "")
    """The session and the digest of the call to which a person said no, as the audit tells; empty where none was."""
    subject: Subject = Subject("")
    missing: frozenset[Label] = frozenset()
    """The labels that the audit tells that the subject has, and the store does not."""
    folder: str = ""
    """Where packages were installed that are not kept any more; empty where it is about something else."""
    is_of_all: bool = False
    """Whether it is about the whole state."""

    @property
    def text(self) -> str:
        """What is wrong, for a person. Names of sessions and agents may hold anything."""
        if self.is_of_all:
            return self.problem
        if self.folder:
            return f"packages in {self.folder}: {self.problem}"
        session, agent = self.subject
        who = f"agent {agent} of session {session}" if agent else f"session {session}"
        return f"{f'question {self.approval}' if self.approval else who}: {self.problem}"


class _Told(Record):
    """The audit's last record of one question."""

    session: str
    digest: str
    state: str
    at: float
    sealed: bool = False


class _Chains:
    """The records of all chains."""

    def __init__(self, tx: Transaction, approvers: Approvers) -> None:
        self.signatures = _Signatures(approvers)
        self.told: dict[str, _Told] = {}
        """The last record of each question."""
        self.gave: dict[Subject, dict[tuple[Label, str], float]] = {}
        """To each subject: labels, each with the call that gave it, and when."""
        self.packages: set[str] = set()
        """Folders in which packages were installed that nobody has endorsed."""
        self.since = 0.0
        """From when on nothing was removed from any of them."""
        self.latest = 0.0
        """When the newest record was made, by the clock of then."""
        gates = tx.gates()
        found = [each for gate in gates for each in self._of_gate(tx, gate.gate)]
        if len(gates) > 1:  # all have the time of the same database, and tell of the same sessions
            found.sort(key=lambda each: each[0])
        for at, text in found:
            self._add(parse_body(text), at)

    def began(self, row: SessionRow) -> float:
        """When a session began; long ago where that is later than all records, as of a clock that was ahead."""
        return row.started_at if row.started_at <= self.latest else 0.0

    def _of_gate(self, tx: Transaction, gate: str) -> Iterator[tuple[float, str]]:
        """When a gate has recorded what matters here, and how."""
        is_cut, last = tx.audit_checkpoint(gate=gate).seq > 0, 0.0
        tells = _TELLS_HERE if gate == tx.gate else _TELLS
        for row in records(tx, gate):
            if is_cut:
                self.since, is_cut = max(self.since, row.at), False
            if tells.search(row.body):
                yield row.at, row.body
            last = row.at
        self.latest = max(self.latest, last)

    def _add(self, body: Mapping[str, Any], at: float) -> None:
        match body.get("event"):
            case "outcome":
                self._labels_given(body).update(
                    {(label, str(body.get("call"))): at for label in _labels(body.get("gave"))}
                )
            case packages.INSTALLED:
                self.packages.update(_texts(body.get("folders")))
            case packages.ENDED if "commit" in body or self.signatures.may_loosen(body, at):
                self.packages.discard(str(body.get("folder")))
            case "endorse" | "retract" if not self.signatures.may_loosen(body, at):
                pass
            case "endorse":
                self._check_endorsement(self._labels_given(body), (Label.UNTRUSTED, str(body.get("call"))), at)
            case _:
                _add(self.told, body, at)

    def _check_endorsement(self, given: dict[tuple[Label, str], float], what: tuple[Label, str], at: float) -> None:
        # A record that says that it is older may have been made so for want of a key.
        if self.signatures.approvers is None or given.get(what, 0.0) <= at:
            given.pop(what, None)

    def _labels_given(self, body: Mapping[str, Any]) -> dict[tuple[Label, str], float]:
        return self.gave.setdefault(Subject(str(body.get("session", "")), str(body.get("agent", ""))), {})


class _Signatures:
    """The signatures that the configuration asks of approvers."""

    def __init__(self, approvers: Approvers) -> None:
        self.approvers = approvers
        self._since = 0.0
        if approvers is not None:
            from lockgate.gate.approvals import signatures

            self._since = signatures.begins(approvers)

    def are_due(self, at: float) -> bool:
        """Whether what was said at a time had to be signed."""
        return self.approvers is not None and at >= self._since

    def may_loosen(self, body: Mapping[str, Any], at: float) -> bool:
        """Whether a record that takes a no or a label back is signed, where it has to be."""
        if self.approvers is None or not self.are_due(at):
            return True
        from lockgate.gate.approvals import signatures

        facts = signatures.facts_in(body, at)
        return signatures.is_signed(self.approvers, str(body.get("event")), facts, body.get(signatures.SIGNED))


def contradictions(tx: Transaction, approvers: Approvers) -> list[Contradiction]:
    """All that answers, labels and the audit say against each other, of every gate that uses the store.

    Args:
        tx: The transaction.
        approvers: The ``approvers`` of the configuration: what loosens counts only where one of them has signed it.
    """
    put_back = tx.put_back()
    if put_back is not None and put_back.reason:
        # By its records it is consistent, and what is missing in it is what they cannot tell.
        says = f"{put_back.reason}: it may have been put back from a copy, so every session of before has every label"
        return [Contradiction(says, is_of_all=True), *_find_unsealed(tx)]
    chains = _Chains(tx, approvers)
    rows = {row.approval: row for row in tx.approvals()}
    found = [_compare_question(tx, row, chains) for row in rows.values()]
    found += [_compare_record(tx, name, each, chains) for name, each in chains.told.items() if name not in rows]
    found += _find_unsealed(tx)
    found += [_compare_labels(tx, subject, gave, chains) for subject, gave in chains.gave.items() if gave]
    kept = {each.folder for each in packages.list_standing(tx)}
    found += [Contradiction(_LOST_PACKAGES, folder=folder) for folder in sorted(chains.packages - kept)]
    return [each for each in found if each is not None]


def _find_unsealed(tx: Transaction) -> list[Contradiction]:
    return [Contradiction(problem, subject=subject) for subject, problem in tx.label_contradictions()]


def _compare_labels(
    tx: Transaction, subject: Subject, gave: Mapping[tuple[Label, str], float], chains: _Chains
) -> Contradiction | None:
    session = tx.session(subject.session)
    # One that was forgotten may have been resumed since.
    told = frozenset(label for (label, _), at in gave.items() if session is not None and chains.began(session) <= at)
    missing = told - tx.labels(subject) if told else told
    if not missing:
        return None
    problem = f"the audit tells that it has read what makes it {' and '.join(sorted(missing))}, and it is not"
    return Contradiction(problem, subject=subject, missing=missing)


def accept_contradictions(tx: Transaction, found: Sequence[Contradiction], *, by: str, now: float) -> None:
    """Mend contradictions that a person has looked at, and record that.

    No answer counts that was not recorded, and no label goes.

    Args:
        tx: The transaction.
        found: What is against what.
        by: Who says so, as ``ann (terminal)``.
        now: Seconds since the epoch.
    """
    about_labels = [each for each in found if not (each.is_of_all or each.folder or each.approval)]
    # Each part of the list of who has begun may be told, and one mending writes all of them.
    tx.mend_labels(dict.fromkeys(each.subject for each in about_labels), now)
    for each in found:
        row = tx.approval(each.approval) if each.approval else None
        if each.is_of_all:
            tx.accept_put_back()
        elif each.folder:
            packages.put_back(tx, each.folder, now)
        elif not each.approval:
            tx.add_taints(each.subject, [Taint(label, _LOST, "", "", now) for label in each.missing])
        elif row is not None:
            tx.put_approval(_mend(row, each))
    questions = [each for each in found if each.approval]
    ended = [each.approval for each in questions if not each.denied[0] or tx.approval(each.approval) is None]
    facts = {"approvals": ended, "problems": [each.text for each in found][:_MOST_TOLD], "by": by}
    tx.append_audit(now, event_record(Context("cli", Subject("")), ACCEPTED, facts))


def _compare_question(tx: Transaction, row: ApprovalRow, chains: _Chains) -> Contradiction | None:
    """What a question says against its records. What was recorded before a time may have been removed by retention."""
    problem, no, told = "", ("", ""), chains.told.get(row.approval)
    if told is None:
        if row.state in _YES | _NO and row.decided_at >= chains.since:
            problem = f"it is {row.state}, and the audit has no such answer"
    else:
        problem = _against(tx, row, told, chains.signatures)
        if row.state in _NO and row.is_changed:
            problem = problem or "something else has changed what a person said no to"
        no = (told.session, told.digest) if told.state in _NO else no
    return Contradiction(problem, row.approval, no) if problem else None


def _mend(row: ApprovalRow, found: Contradiction) -> ApprovalRow:
    """A question that is over; a no is said again to the call to which it was said."""
    session, digest = found.denied
    if session:
        row = row.drop_facts(TARGETS).say_anew() if row.is_changed else row
        return without_call(row._replace(state="denied", session=session, digest=digest))
    return without_call(row._replace(state="expired"))


def _is_of_another_call(row: ApprovalRow, told: _Told) -> bool:
    # A client's name may hold what is kept as its escape.
    session = told.session.encode("utf-8", "backslashreplace").decode()
    return (row.digest, row.session) != (told.digest, session)


def _against(tx: Transaction, row: ApprovalRow, told: _Told, signatures: _Signatures) -> str:
    if told.state in _YES | _NO and _is_of_another_call(row, told):
        return f"it is about another call, or of another session, than the one that was {told.state}"
    if row.state in _YES and told.state not in _YES:
        return f"it is {row.state}, and the audit tells that it was {told.state}"
    if row.state in _YES and told.sealed and not is_proven(tx, row, None):
        return "it is bound to another call than the yes that the audit has"
    # By the record's time, too: whoever writes the row could call the yes older than any key.
    due = signatures.are_due(max(row.asked_at, row.decided_at, told.at))
    if row.state in _YES and due and not is_proven(tx, row, signatures.approvers):
        return UNSIGNED
    if row.state == "approved" and told.state == "used":
        return "its yes was used already, and it can be used again"
    if row.state == "pending" and told.state != _OVER:
        return f"it is open, and the audit tells that it was {told.state}"
    if told.state in _NO and row.state not in _NO:
        return f"the audit tells that a person said no, and it is {row.state}"
    if row.state in _NO and told.state not in _NO:
        return f"it is {row.state}, and the audit tells that it was {told.state}"
    return ""


def _compare_record(tx: Transaction, approval: str, told: _Told, chains: _Chains) -> Contradiction | None:
    """What a record says against the questions: its own is missing, though its session is still kept."""
    session = tx.session(told.session) if told.state in _YES | _NO else None
    # One that was forgotten may have been resumed since.
    if session is None or chains.began(session) > told.at:
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
        same = [key for key in same if told[key].at <= at]
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
