"""What the matches of one check come to: the most precise of them, one decision and one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockgate.analysis.patterns.model import Expired, GuardrailDecision, PatternMatch
from lockgate.analysis.patterns.severities import strictest
from lockgate.record import Record
from lockgate.text import visible


class Kept(Record):
    """A match, and how precise its rule is."""

    match: PatternMatch
    generic: bool


def decision_of_all(matches: Iterable[PatternMatch], expired: Iterable[Expired]) -> GuardrailDecision:
    """The strictest of all decisions. What is redacted is done with: it is worth a warning and no more."""
    decisions = [each.fallback for each in expired]
    decisions += [GuardrailDecision.WARN if each.redact else each.decision for each in matches]
    return strictest(decisions)


def most_precise(kept: Sequence[Kept]) -> list[PatternMatch]:
    """All matches but those of generic rules in a place where a more precise rule matches, strictest first."""
    precise = [each.match for each in kept if not each.generic]
    matches = [
        each.match for each in kept if not each.generic or not any(_overlap(each.match, other) for other in precise)
    ]
    return sorted(matches, key=lambda match: (-match.decision.rank, -match.severity, match.path, match.start))


def _overlap(one: PatternMatch, other: PatternMatch) -> bool:
    return one.path == other.path and one.kind is other.kind and one.start < other.end and other.start < one.end


def reason_of(matches: Sequence[PatternMatch], expired: Sequence[Expired]) -> str:
    """One sentence, with nothing in it that was matched."""
    if not matches:
        return f"{expired[0].group} could not be evaluated ({expired[0].because})"
    first = matches[0]
    coded = f", written as {' of '.join(first.encoding)}" if first.encoding else ""
    where = f" in {visible(first.path, 100)}" if first.path else ""
    others = len({match.rule for match in matches}) - 1
    more = f", and {others} more rule{'s' if others > 1 else ''}" if others else ""
    return f"{first.rule} matches{where}{coded}{more}"
