"""Finds the authors of a result. It gives no label where a person trusts the author of each line."""

from __future__ import annotations

from lockgate.core.model import EffectKind, Label
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.authors.acts import note_act
from lockgate.gate.authors.lookup import hash_line, read_known, trust_of
from lockgate.gate.authors.objects import objects_of
from lockgate.gate.authors.words import find_foreign

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping
    from typing import Any

    from lockgate.configuration.load import Configuration
    from lockgate.core.events import ToolFinished
    from lockgate.core.model import Analysis, ToolCall
    from lockgate.core.questions import Need
    from lockgate.gate.authors.lookup import KnownObject
    from lockgate.gate.authors.service_object import ServiceObject
    from lockgate.gate.monitor.decide import DecisionInput, Ruling
    from lockgate.gate.parts import Parts


_RECORDED = 1000
"""Characters of the reason in the audit."""


class Vouching(Record):
    """Whether all words of a result are those of people whom a person trusts by owner, and why."""

    is_theirs: bool = False
    because: str = ""
    """In words for the audit, without anything of the result; empty where it was no question."""

    @property
    def record(self) -> dict[str, Any]:
        """What the audit has of it."""
        if not self.because:
            return {}
        from lockgate.patterns.redaction.credentials import redact

        return {"whose_words": redact(f"{'trusted' if self.is_theirs else 'strangers'}: {self.because}"[:_RECORDED])}


def vouch(
    parts: Parts, configuration: Configuration, event: ToolFinished, call: ToolCall, fresh: Callable[[], Analysis]
) -> Generator[Need, Any, Vouching]:
    """Find out whether all words of a result are those of people whom a person trusts by owner.

    Args:
        parts: What the gate is made of.
        configuration: What holds for the call.
        event: The result.
        call: The call, as the agent made it.
        fresh: Tells what the call can do.
    """
    from lockgate.gate.session.own_words import says_nothing, without_quiet_lines

    trust = trust_of(configuration.options.trust)
    if not trust.owners or event.untold or event.kept or event.background or event.agent:
        return Vouching()
    around = [parts.host_view(event.context, policy.rules) for policy in configuration.policies]
    objects = objects_of(call, fresh(), around[0])
    if not objects:
        return Vouching()
    quiet = fresh().quiet
    if says_nothing(event.text, quiet):
        return Vouching()
    unnamed = next((each for each in objects if not trust.names(each)), None)
    if unnamed is not None:
        return Vouching(because=f"{unnamed.name}: its owner is not named")
    known = _find_known_objects(parts, objects)
    if None in known:
        from lockgate.core.questions import ResultQuestion

        yield ResultQuestion(event.context, call, "", objects=objects, trust=trust)
        known = _find_known_objects(parts, objects)
    text = without_quiet_lines(event.text, quiet)
    return _judge(dict(zip((each.name for each in objects), known, strict=True)), text, parts.store.fleet_key)


def _judge(known: Mapping[str, KnownObject | None], text: str, key: bytes) -> Vouching:
    for name, each in known.items():
        if each is None or each.stranger:
            return Vouching(because=f"{name}: {each.stranger if each else 'it is not known'}")
    lines = frozenset(line for each in known.values() if each is not None for line in each.lines)
    foreign = find_foreign(text, lambda line: hash_line(key, line) in lines)
    told = [f"{name}: {', '.join(a.sentence for a in each.authors)}" for name, each in known.items() if each]
    return Vouching(not foreign, foreign or "; ".join(told))


def note_writing(question: DecisionInput, ruling: Ruling) -> None:
    """Note that a labelled agent may write as the person: what that person writes is not known to be theirs then."""
    if Label.UNTRUSTED in question.labels and any(e.kind is EffectKind.EGRESS for e in ruling.analysis.effects):
        note_act(question.tx, question.now)


def _find_known_objects(parts: Parts, objects: tuple[ServiceObject, ...]) -> list[KnownObject | None]:
    with parts.store.reading() as tx:
        now = parts.clock()
        return [read_known(tx, each.name, now) for each in objects]
