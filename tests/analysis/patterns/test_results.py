"""What the matches of one check come to."""

from __future__ import annotations

import pytest

from lockgate.analysis.patterns.model import GuardrailDecision, Kind, Mode, PatternMatch, Severity
from lockgate.analysis.patterns.results import Kept, most_precise


def kept(rule: str, start: int, end: int, *, detail: str = "") -> Kept:
    match = PatternMatch(
        rule,
        "t",
        Severity.CRITICAL,
        Mode.BLOCK,
        Kind.SECRET,
        "command",
        start,
        end,
        decision=GuardrailDecision.BLOCK,
        detail=detail,
    )
    return Kept(match, generic=False)


@pytest.mark.parametrize(("start", "end"), [(0, 40), (5, 30), (0, 60)])
@pytest.mark.parametrize("rule", ["known_secrets/plain", "canary/bait"])
def test_what_is_known_by_value_is_told_beside_its_format(rule: str, start: int, end: int) -> None:
    found = most_precise([kept("secrets/key", 0, 40), kept(rule, start, end, detail=".env: KEY")])
    assert {match.rule for match in found} == {"secrets/key", rule}


def test_a_value_is_told_once() -> None:
    found = most_precise([kept("secrets/part", 5, 30), kept("secrets/key", 0, 40)])
    assert [match.rule for match in found] == ["secrets/key"]
