"""What a client's own ways forbid, beside the rules that a person has configured."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lockgate.configuration.load import Configuration
from lockgate.core.questions import Objection, RulesQuestion
from lockgate.gate import Monitor


def with_objections(gate: Monitor, objections: Callable[[RulesQuestion], Sequence[Objection]]) -> Monitor:
    """The same gate, which asks the client's module about each call too, before all other rules."""
    parts = gate.parts
    consultants = parts.consultants

    def has_rules(_: Configuration) -> bool:
        return True

    def rules(question: RulesQuestion) -> Sequence[Objection]:
        asked_for = consultants.rules(question) if any(question.sets) else ()
        return (*objections(question), *asked_for)

    return Monitor(parts._replace(consultants=consultants._replace(has_rules=has_rules, rules=rules)))
