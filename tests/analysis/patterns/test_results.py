"""What the matches of one check come to."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.patterns.engine.results import MatchPrecision, most_precise
from lockgate.patterns.model import GuardrailDecision, Kind, Mode, PatternMatch, Severity
from lockgate.patterns.redaction.spans import redact_all

MATCH = PatternMatch("g/r", "t", Severity.HIGH, Mode.BLOCK, Kind.SECRET, "", 0, 8, redact=True, replacement="-")


class Path(str):
    """A path that counts how often it is compared."""

    __slots__ = ()
    compared = 0

    def __eq__(self, other: object) -> bool:
        Path.compared += 1
        return str.__eq__(self, other)

    __hash__ = str.__hash__


def kept(rule: str, start: int, end: int, *, detail: str = "") -> MatchPrecision:
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
    return MatchPrecision(match, generic=False)


@pytest.mark.parametrize(("start", "end"), [(0, 40), (5, 30), (0, 60)])
@pytest.mark.parametrize("rule", ["known_secrets/plain", "canary/bait"])
def test_what_is_known_by_value_is_told_beside_its_format(rule: str, start: int, end: int) -> None:
    found = most_precise([kept("secrets/key", 0, 40), kept(rule, start, end, detail=".env: KEY")])
    assert {match.rule for match in found} == {"secrets/key", rule}


def test_a_value_is_told_once() -> None:
    found = most_precise([kept("secrets/part", 5, 30), kept("secrets/key", 0, 40)])
    assert [match.rule for match in found] == ["secrets/key"]


PLACES = st.builds(
    lambda path, kind, start, size: MATCH._replace(path=path, kind=kind, start=start, end=start + size),
    st.sampled_from(("a", "b")),
    st.sampled_from((Kind.SECRET, Kind.PII)),
    st.integers(0, 12),
    st.integers(0, 6),
)


def _overlap(one: PatternMatch, other: PatternMatch) -> bool:
    return one.path == other.path and one.kind is other.kind and one.start < other.end and other.start < one.end


@given(st.lists(PLACES, max_size=8), st.lists(PLACES, max_size=8))
def test_a_generic_match_goes_where_a_more_precise_one_overlaps(
    precise: list[PatternMatch], generic: list[PatternMatch]
) -> None:
    # With a detail each is told, whatever else there is: only what this is about takes one away.
    told = [match._replace(detail="precise") for match in precise]
    vague = [match._replace(detail="generic") for match in generic]
    found = most_precise(
        [
            *(MatchPrecision(each, generic=False) for each in told),
            *(MatchPrecision(each, generic=True) for each in vague),
        ]
    )
    stays = [match for match in vague if not any(_overlap(match, other) for other in told)]
    assert sorted(map(repr, found)) == sorted(map(repr, [*told, *stays]))


def test_very_many_matches_are_not_compared_with_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "compared", 0)
    many = range(400)
    matches = [MATCH._replace(path=Path(f"x[{at}]")) for at in many]
    most_precise([MatchPrecision(match, generic=at % 2 == 0) for at, match in zip(many, matches, strict=True)])
    changed = redact_all([(Path(f"x[{at}]"), "password and more") for at in many], matches)
    assert changed == {f"x[{at}]": "- and more" for at in many}
    assert Path.compared < 40 * len(many)
