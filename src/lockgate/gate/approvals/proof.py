"""Proves a person's yes by its record in the audit chain, to which the question is bound.

A row that says "approved" is only a row: whoever can write the database can write it. So a yes is recorded with a keyed
hash of all that it is bound to. The question names that record, and a call runs only where the two agree. Where the
configuration names approvers, the record also has to hold the signature of one: another gate's seal nobody can check.
"""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.record import TYPE_CHECKING
from lockgate.store import chain_links
from lockgate.store.rows import AuditQuery
from lockgate.system.digests import canonical_json, json_object, sha256

if TYPE_CHECKING:
    from typing import Any

    from lockgate.gate.approvals.signatures import Signer
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import ApprovalRow, AuditRow

    Approvers = Mapping[str, Any] | None

ANSWER = "answer"
"""The name under which a question with a yes holds where that is recorded: the gate and the number of the record."""
FETCHES = "fetches"
"""The name under which a question that was answered so holds the host, and the labels at that time."""
FETCHES_OVER = "fetches_over"
"""The name under which such a question says that an endorsement has ended that."""
UNPROVEN = "unproven"
"""What became of a question that says "approved", where the audit does not."""
BECAUSE = "the audit has no record of this yes"
NO_SUCH_NO = "the audit has no record of this no"
OTHERWISE = "the person was shown another call than this one"
UNSIGNED = "no approver of the configuration has signed this yes"
ASKED = "as_asked"
"""The name under which a question holds what binds it to what it showed when it was asked: the gate and a seal."""
_AFTER = ("taken_over_by", "taken_over_at", "changed input", "prompted", "put_by")
_LATER = frozenset({ASKED, ANSWER, FETCHES, FETCHES_OVER, *_AFTER})
"""What a question is given after it was asked. All else is under its seal: reasons, effects and sources too."""
_SHOWN = ("tool", "cwd", "whole", "brief", "labels")
_TEXT = canonical_json(default=str, allow_nan=True)


def record_yes(tx: Transaction, row: ApprovalRow, body: Mapping[str, Any], signer: Signer | None = None) -> ApprovalRow:
    """Record a yes, and bind the question to the record. The question is still to be put, by the same transaction.

    Args:
        tx: The transaction.
        row: The question, with its answer.
        body: The record, without what proves the yes.
        signer: The approver who says it, where one does.
    """
    shown = digest_of_shown(row.about)
    proof: dict[str, Any] = {
        "basis": row.basis,
        "shown": shown,
        "seal": tx.hash_with_key(chain_links.PURPOSE_YES, _text_to_bind(row, shown)),
    }
    if signer is not None:
        import lockgate.gate.approvals.signatures as signatures

        signed = signer.sign(signatures.YES, signatures.facts_of(row, row.about.get(FETCHES), shown))
        proof[signatures.SIGNED] = {**signed, "shown": shown}
    link = tx.append_audit(row.decided_at, {**body, **proof})
    return row._replace(about={**row.about, ANSWER: [tx.gate, link.seq]})


def digest_of_shown(about: Mapping[str, Any]) -> str:
    """Digest of the call as a person is shown it. Somebody else may have written another call into the question."""
    return sha256(_TEXT({name: about.get(name) for name in _SHOWN}).encode()).hexdigest()


def digest_of_told(about: Mapping[str, Any]) -> str:
    """Digest of all that a question tells a person: the call, and why it is asked."""
    return sha256(_TEXT({name: value for name, value in about.items() if name not in _LATER}).encode()).hexdigest()


def as_asked(tx: Transaction, row: ApprovalRow) -> ApprovalRow:
    """A question that is asked now, bound to what it shows. It is still to be put."""
    return row._replace(about={**row.about, ASKED: [tx.gate, _seal_of_question(tx, row)]})


def is_as_asked(tx: Transaction, row: ApprovalRow) -> bool:
    """Whether an open question shows what it showed when it was asked.

    The seal of another gate nobody can check. The gate that decides compares what was shown with its own call.
    """
    match row.about.get(ASKED):
        case [str(gate), str(seal)]:
            return seal == _seal_of_question(tx, row) or any(each.gate == gate and not each.own for each in tx.gates())
        case _:
            return False


def _seal_of_question(tx: Transaction, row: ApprovalRow) -> str:
    what = (row.approval, row.session, row.agent, row.call_id, row.digest, row.basis, digest_of_told(row.about))
    return tx.hash_with_key(chain_links.PURPOSE_YES, chain_links.canonical({"asked": what}))


def is_proven(
    tx: Transaction, row: ApprovalRow, approvers: Approvers, *, unused: bool = False, shown: str = ""
) -> bool:
    """Whether the audit has the yes that a question says it had.

    Args:
        tx: The transaction.
        row: The question.
        approvers: The ``approvers`` of the configuration: one of them must have signed it. ``None``: it names none.
        unused: Whether it must be one that was not used when it was written.
        shown: Digest of the call as a person had to be shown it; empty where that is not known any more.
    """
    match row.about.get(ANSWER):
        case [str(gate), int(seq)] if seq > 0:
            found = tx.audit(after=seq - 1, limit=1, gate=gate)
        case _:
            return False
    if not found or found[0].seq != seq:
        return False
    link = found[0]
    if chain_links.link_digest(link.previous, link.seq, link.at, link.body) != link.digest:
        return False
    body = parse_body(link.body)
    if not _says(tx, row, gate, body, unused=unused) or (shown and body.get("shown") != shown):
        return False
    return approvers is None or _is_signed(tx, row, gate, body, approvers, shown)


def may_be_used(tx: Transaction, row: ApprovalRow, approvers: Approvers, shown: str) -> bool:
    """Whether the audit has the yes of a question, and does not tell that it was used already."""
    if not is_proven(tx, row, approvers, unused=True, shown=shown):
        return False
    query = AuditQuery(event="answered", text=row.approval)
    later = _later(tx, row, query)
    if later is None:
        return False
    if approvers is not None:  # a session may have gone on elsewhere, and used it there
        since = query._replace(since=row.asked_at)
        others = [each.gate for each in tx.gates() if not each.own]
        later += [found for gate in others for found in tx.find_audit(since, gate=gate)]
    return all(parse_body(each.body).get("approval") != row.approval for each in later)


def is_no_recorded(tx: Transaction, row: ApprovalRow) -> bool:
    """Whether the audit of any gate tells that a person said no to a question: no words are theirs otherwise."""
    for gate in tx.gates():
        for event in ("deny", "answered"):
            for link in tx.find_audit(AuditQuery(event=event, text=row.approval), gate=gate.gate):
                body = parse_body(link.body)
                is_no = body.get("state", "denied") == "denied"
                if is_no and row.approval in (body.get("approval"), *_names(body.get("also"))):
                    return True
    return False


def _names(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _is_signed(
    tx: Transaction, row: ApprovalRow, gate: str, body: Mapping[str, Any], approvers: Mapping[str, Any], shown: str
) -> bool:
    """Whether the record of a yes is signed by an approver; or is of this machine's own dialog, where that may do."""
    if body.get("event") != "approve":
        return gate == tx.gate and approvers.get("dialog") == "allowed"
    import lockgate.gate.approvals.signatures as signatures

    signed = body.get(signatures.SIGNED)
    if not isinstance(signed, Mapping) or (shown and signed.get("shown") != shown):
        return False
    facts = signatures.facts_of(row, row.about.get(FETCHES), str(signed.get("shown", "")))
    return signatures.is_signed(approvers, signatures.YES, facts, signed)


def is_endorsed_since(tx: Transaction, row: ApprovalRow) -> bool:
    """Whether a result of the session was endorsed since a proven yes: what was said for its labels is over then.

    So it is where records since then are missing: that of an endorsement may be one of them.
    """
    return _later(tx, row, AuditQuery(event="endorse", session=row.session), limit=1) != []


def _later(tx: Transaction, row: ApprovalRow, query: AuditQuery, *, limit: int = 0) -> list[AuditRow] | None:
    """The records of this gate that meet a query, after that of a yes; ``None`` where some of them are missing."""
    gate, seq = row.about[ANSWER]
    if gate == tx.gate:
        return None if chain_links.read_to_head(tx, seq) is None else tx.find_audit(query, after=seq, limit=limit)
    # Records of other gates have other numbers, and the time of the same database.
    return tx.find_audit(query._replace(since=row.asked_at), limit=limit)


def _says(tx: Transaction, row: ApprovalRow, gate: str, body: Mapping[str, Any], *, unused: bool) -> bool:
    """Whether a record tells of exactly this yes. Another gate's has a seal that only that gate can make."""
    used = (body.get("event"), body.get("state")) == ("answered", "used")
    yes = body.get("event") == "approve" or (used and not unused)
    told = tuple(body.get(name) for name in ("approval", "session", "agent", "digest", "basis", FETCHES))
    bound = (row.approval, row.session, row.agent, row.digest, row.basis, row.about.get(FETCHES))
    if not yes or told != bound:
        return False
    return gate != tx.gate or body.get("seal") == tx.hash_with_key(
        chain_links.PURPOSE_YES, _text_to_bind(row, body.get("shown"))
    )


def _text_to_bind(row: ApprovalRow, shown: object) -> str:
    """All that a yes is bound to. A record of an older version does not tell what was shown."""
    times = (float(at) for at in (row.asked_at, row.expires_at, row.decided_at))
    what = (row.approval, row.session, row.agent, row.call_id, row.digest, row.basis, row.decided_by)
    return chain_links.canonical({"yes": [*what, *times, row.about.get(FETCHES), *([] if shown is None else [shown])]})


def parse_body(text: str) -> Mapping[str, Any]:
    """What a record says. One that is no JSON object says nothing."""
    return json_object(text) or {}
