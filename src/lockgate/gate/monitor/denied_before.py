"""Applies a person's denial to other calls that do the same to the same target."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.core.model import Effect, Reason, Tier, Verdict
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.approvals import denials
from lockgate.gate.findings import stricter

if TYPE_CHECKING:
    from typing import Any

    from lockgate.core.model import PolicyDecision
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import ApprovalRow

_UNASKED = frozenset({Verdict.ALLOW, Verdict.JUDGE})
"""Verdicts by which a call runs as it stands, and no person is asked. What is contained reaches no target."""


def ask_again(
    tx: Transaction,
    noes: Sequence[ApprovalRow],
    effects: Sequence[Effect],
    decision: PolicyDecision,
    approvers: Mapping[str, Any] | None,
) -> PolicyDecision | None:
    """The decision by which a person is asked about a call, where one has said no to a call that did the same.

    This holds also where a profile only observes. Returns ``None`` where the decision stays as it is.
    """
    no = denials.alike(tx, noes, effects, approvers) if decision.verdict in _UNASKED else None
    if no is None:
        return None
    because = "a person said no to a call that does the same to the same target"
    reasons = tuple(
        Reason(effect._replace(because=because), effect.row, decision.column, Verdict.ASK)
        for effect in effects
        if denials.concerns(no, effect)
    )
    return stricter(decision, Verdict.ASK, reasons, Tier.PERSON)
