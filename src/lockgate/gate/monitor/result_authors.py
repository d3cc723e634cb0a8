"""Whose words a result is, where a person trusts some authors: they give no label where each line is theirs."""

from __future__ import annotations

from lockgate.core.model import EffectKind, Label
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.authors.acts import note_act
from lockgate.gate.authors.lookup import known_line, known_of, trust_of
from lockgate.gate.authors.objects import objects_of
from lockgate.gate.authors.words import all_stand

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from typing import Any

    from lockgate.configuration.load import Configuration
    from lockgate.core.events import ToolFinished
    from lockgate.core.model import Analysis, ToolCall
    from lockgate.core.questions import Need
    from lockgate.gate.authors.lookup import KnownObject
    from lockgate.gate.authors.objects import ServiceObject
    from lockgate.gate.monitor.decide import DecisionInput, Ruling
    from lockgate.gate.parts import Parts


def vouch(
    parts: Parts, configuration: Configuration, event: ToolFinished, call: ToolCall, fresh: Callable[[], Analysis]
) -> Generator[Need, Any, bool]:
    """Whether all words of a result are those of people whom a person trusts by owner.

    Args:
        parts: What the gate is made of.
        configuration: What holds for the call.
        event: The result.
        call: The call, as the agent made it.
        fresh: Tells what the call can do.
    """
    trust = trust_of(configuration.options.trust)
    if not trust.owners or event.untold or event.kept or event.background or event.agent:
        return False
    around = [parts.host_view(event.context, policy.rules) for policy in configuration.policies]
    objects = objects_of(call, fresh(), around[0])
    if not objects or not all(map(trust.names, objects)):
        return False
    known = _known(parts, objects)
    if None in known:
        from lockgate.core.questions import ResultQuestion

        yield ResultQuestion(event.context, call, "", objects=objects, trust=trust)
        known = _known(parts, objects)
    lines = frozenset(line for each in known if each is not None for line in each.lines)
    if not all(each is not None and not each.stranger for each in known):
        return False
    key = parts.store.fleet_key
    return all_stand(event.text, lambda line: known_line(key, line) in lines)


def note_writing(question: DecisionInput, ruling: Ruling) -> None:
    """Note that a labelled agent may write as the person: what that person writes is not known to be theirs then."""
    if Label.UNTRUSTED in question.labels and any(e.kind is EffectKind.EGRESS for e in ruling.analysis.effects):
        note_act(question.tx, question.now)


def _known(parts: Parts, objects: tuple[ServiceObject, ...]) -> list[KnownObject | None]:
    with parts.store.reading() as tx:
        now = parts.clock()
        return [known_of(tx, each.name, now) for each in objects]
