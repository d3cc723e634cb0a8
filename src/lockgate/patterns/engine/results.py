"""Combines the matches of one check into the most precise ones, one decision and one sentence."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from lockgate.core.display_text import visible
from lockgate.core.record import Record
from lockgate.patterns.model import Expired, GuardrailDecision, Kind, PatternMatch
from lockgate.patterns.severities import strictest


class MatchPrecision(Record):
    """A match, and how precise its rule is."""

    match: PatternMatch
    generic: bool


def decision_of_all(matches: Iterable[PatternMatch], expired: Iterable[Expired]) -> GuardrailDecision:
    """The strictest of all decisions. What is redacted is done with: it is worth a warning and no more."""
    decisions = [each.fallback for each in expired]
    decisions += [GuardrailDecision.WARN if each.redact else each.decision for each in matches]
    return strictest(decisions)


def most_precise(kept: Sequence[MatchPrecision]) -> list[PatternMatch]:
    """One match for each value, strictest first.

    Left out are the matches of generic rules where a more precise rule matches. So are those within another that is
    told and is at least as strict: a key of which two rules know one part or all is one key. A known secret and a
    canary are told beside what its format says: each says what the other cannot.
    """
    precise = _Places(each.match for each in kept if not each.generic)
    matches = [each.match for each in kept if not each.generic or not precise.overlaps(each.match)]
    told: list[PatternMatch] = []
    widest: dict[tuple[str, Kind], PatternMatch] = {}
    for match in sorted(matches, key=_widest_first):
        if match.detail:
            told.append(match)
            continue
        cover = widest.get((match.path, match.kind))
        if cover is not None and _covers(cover, match):
            continue
        told.append(match)
        if cover is None or match.end > cover.end:
            widest[match.path, match.kind] = match
    return sorted(told, key=lambda match: (-match.decision.rank, -match.severity, match.path, match.start))


def _widest_first(match: PatternMatch) -> tuple[str, int, int, int, int, bool, str]:
    strict = (-match.decision.rank, -match.severity, not match.validated)
    return (match.path, match.start, -match.end, *strict, match.rule)


def _covers(cover: PatternMatch, match: PatternMatch) -> bool:
    """Whether nothing is lost where a match, which begins no earlier, is left out.

    What one encoded text holds has the place of that text: there, only the same rule or the same value counts.
    """
    if match.end > cover.end or match.decision.rank > cover.decision.rank or match.severity > cover.severity:
        return False
    if match.redact and not cover.redact:
        return False
    plain = not match.encoding and not cover.encoding
    return plain or match.rule == cover.rule or match.fingerprint == cover.fingerprint


class _Places:
    """The places of matches, found in a few steps: there may be thousands of matches, and as many questions."""

    def __init__(self, matches: Iterable[PatternMatch]) -> None:
        spans: dict[tuple[str, Kind], list[tuple[int, int]]] = {}
        for match in matches:
            spans.setdefault((match.path, match.kind), []).append((match.start, match.end))
        self._starts: dict[tuple[str, Kind], list[int]] = {}
        self._furthest: dict[tuple[str, Kind], list[int]] = {}
        """For each start, where the furthest of the matches ends that begin there or before."""
        for place, of_place in spans.items():
            of_place.sort()
            self._starts[place] = [start for start, _ in of_place]
            self._furthest[place] = list(accumulate((end for _, end in of_place), max))

    def overlaps(self, match: PatternMatch) -> bool:
        """Whether one of them overlaps a match, in the same text and of the same kind."""
        place = (match.path, match.kind)
        before = bisect_left(self._starts.get(place, ()), match.end)
        return before > 0 and self._furthest[place][before - 1] > match.start


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
