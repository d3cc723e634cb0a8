"""A person's denials: which calls they cover, and how the person retracts one. Each runs in a transaction.

A no is final for the exact call, whoever of its session makes it and however often: only a person takes it back. What
does the same to the same target, spelt otherwise, is put to a person again, and never runs without their yes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockgate.core.errors import ApprovalError
from lockgate.core.model import Effect
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.rows import ApprovalRow, AuditQuery
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from lockgate.gate.approvals.proof import Approvers
    from lockgate.store.protocol import Transaction

_NOES = ("deny", "answered")
"""The events of records that tell of a no."""
TARGETS = "targets"
"""The name under which a question holds what it was asked for: kinds of effects on their targets, as digests."""


def list_denials(tx: Transaction, session: str) -> Sequence[ApprovalRow]:
    """The noes that stand in a session."""
    return tx.noes(session)


def exact(noes: Iterable[ApprovalRow], digest: str) -> ApprovalRow | None:
    """The latest no to the exact call, where there is one. One that something else has changed may be to any call."""
    mine = (row for row in noes if row.digest == digest or row.is_changed)
    return max(mine, key=lambda row: row.decided_at, default=None)


def targets(effects: Iterable[Effect]) -> list[str]:
    """What effects do to what, as digests: nothing of the call itself is kept by them."""
    return sorted({_target(effect) for effect in effects})


def alike(
    tx: Transaction, noes: Sequence[ApprovalRow], effects: Sequence[Effect], approvers: Approvers
) -> ApprovalRow | None:
    """The latest no to a call that did to the same targets what these effects do; none where a later yes was used.

    Args:
        tx: The transaction.
        noes: The noes that stand in the session.
        effects: All that the call can do.
        approvers: The ``approvers`` of the configuration: a yes counts only where one of them has signed it.
    """
    mine = frozenset(targets(effects))
    found = max((row for row in noes if _is_within(row, mine)), key=lambda row: row.decided_at, default=None)
    return None if found is None or was_allowed_since(tx, found, approvers) else found


def all_alike(
    tx: Transaction, noes: Sequence[ApprovalRow], effects: Sequence[Effect], approvers: Approvers
) -> list[ApprovalRow]:
    """All such noes."""
    mine = frozenset(targets(effects))
    return [row for row in noes if _is_within(row, mine) and not was_allowed_since(tx, row, approvers)]


def was_allowed_since(tx: Transaction, no: ApprovalRow, approvers: Approvers) -> bool:
    """Whether a proven yes to all that a no was said to came after it."""
    from lockgate.gate.approvals.proof import is_proven

    wanted = frozenset(_read_targets(no))
    yeses = tx.approvals(session=no.session, state="used")
    sealed = (row for row in yeses if not row.is_changed)
    same = [row for row in sealed if wanted <= frozenset(_read_targets(row))]
    if not same:
        return False
    told = [row.seq for event in _NOES for row in tx.find_audit(AuditQuery(event=event, text=no.approval), limit=1)]
    return any(_is_later(tx, row, no, told) and is_proven(tx, row, approvers) for row in same)


def _is_later(tx: Transaction, yes: ApprovalRow, no: ApprovalRow, told: Sequence[int]) -> bool:
    """Whether a proven yes came after a no: by their records, as a clock may have been set between them."""
    from lockgate.gate.approvals import proof

    match yes.about.get(proof.ANSWER):
        case [gate, int(seq)] if gate == tx.gate and told:
            return seq > max(told)
        case _:
            return yes.decided_at > no.decided_at


def concerns(no: ApprovalRow, effect: Effect) -> bool:
    """Whether a no was said to a call for what this effect does to its target."""
    return _target(effect) in _read_targets(no)


def retract(tx: Transaction, approval: str, *, by: str) -> ApprovalRow:
    """Take a no back for a person, and all others to the same call: it is asked about again when it is made again.

    Raises:
        ApprovalError: There is no such question, or it was not answered with no. Or it is another role's.
    """
    row = tx.approval(approval)
    if row is None:
        raise ApprovalError("there is no question with this id; see: lockgate approvals list --all")
    if row.state != "denied":
        raise ApprovalError(f"there is no refusal to take back: this question is {row.state}")
    for each in list_denials(tx, row.session):
        if each.digest == row.digest:
            tx.put_approval(each._replace(state="changed", reason=f"taken back by {by}"))
    left = tx.approval(approval)
    if left is not None and left.state == "denied":
        raise ApprovalError("a shared store lets only the gate of this session take the no back: do it there")
    return row


def _target(effect: Effect) -> str:
    text = "\0".join((effect.kind.value, effect.what, effect.address))
    return sha256(b"lockgate target\0" + text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _is_within(row: ApprovalRow, mine: frozenset[str]) -> bool:
    wanted = _read_targets(row)
    return bool(wanted) and mine.issuperset(wanted)


def _read_targets(row: ApprovalRow) -> list[str]:
    """What a question was asked for. A gate of a shared store may have written anything: what is no text is nothing."""
    found = row.about.get(TARGETS)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
