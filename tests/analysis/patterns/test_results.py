"""Which of several matches in one place are told."""

from __future__ import annotations

from base64 import b64encode

from lockgate.analysis.patterns.model import Severity
from support.pattern_library import check, library, rule

TOKEN = "acme_" + "a1b2c3d4e5"
ACME = rule(r"acme_[a-z0-9]{10}", "acme")


def test_one_value_is_told_once() -> None:
    """By the rule that knows most of it; of equals, by the one that has proved it."""
    routable = rule(r"acme_[a-z0-9]{10}\.[a-z]{2}", "routable")
    proven = rule(r"4\d{15}", "card", validate=(("luhn", None),))
    number = rule(r"4\d{15}", "account")
    result = check(library(ACME, routable, number, proven), f"{TOKEN}.ab and {TOKEN} and 4929130842176658")
    assert [match.type for match in result.pattern_matches] == ["routable", "acme", "card"]


def test_a_stricter_match_within_another_is_told_too() -> None:
    wide = rule(r"key=\S+", "wide", severity=Severity.LOW)
    result = check(library(ACME, wide), f"key={TOKEN}")
    assert {match.type for match in result.pattern_matches} == {"acme", "wide"}


def test_what_one_encoded_text_holds_is_told_apart() -> None:
    other = rule(r"beta_[a-z0-9]{8}", "beta")
    result = check(library(ACME, other), b64encode(f"{TOKEN} {TOKEN} beta_12345678".encode()).decode())
    assert [match.type for match in result.pattern_matches] == ["acme", "beta"]
