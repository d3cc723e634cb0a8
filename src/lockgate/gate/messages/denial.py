"""What a person's no means for other calls that do the same to the same target."""

from __future__ import annotations

from lockgate.core.model import Reason, Tier, Verdict
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.approvals import denials
from lockgate.gate.findings import stricter

if TYPE_CHECKING:
    from lockgate.gate.monitor.decide import Question, Ruling

_UNASKED = frozenset({Verdict.ALLOW, Verdict.JUDGE})
"""Verdicts by which a call runs as it stands, and no person is asked. What is contained reaches no target."""


def asked_again(question: Question, ruling: Ruling) -> Ruling:
    """Have a person asked where one has said no to a call that did the same, also where a profile only observes."""
    effects = ruling.analysis.effects
    if ruling.decision.verdict not in _UNASKED:
        return ruling
    no = denials.alike(question.tx, question.noes, effects)
    if no is None:
        return ruling
    because = "a person said no to a call that does the same to the same target"
    reasons = tuple(
        Reason(effect._replace(because=because), effect.row, ruling.decision.column, Verdict.ASK)
        for effect in effects
        if denials.concerns(no, effect)
    )
    return ruling._replace(decision=stricter(ruling.decision, Verdict.ASK, reasons, Tier.PERSON), new_input=None)
