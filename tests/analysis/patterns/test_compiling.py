"""Patterns as the engine looks for them: shorter, and never blind for what the pattern itself matches."""

from __future__ import annotations

import re

import hyperscan
import pytest
import re2
from hypothesis import given
from hypothesis import strategies as st

from lockgate.analysis.patterns.compiling import least

LEAST = [
    (r"a{20,}", r"a{20}"),
    (r"a{3,9}?", r"a{3}"),
    (r"(?P<value>[a-z]{3,9})", r"(?P<value>[a-z]{3})"),
    (r"ghp_[a-z]+\b", r"ghp_[a-z]"),
    (r"key={0,2}", r"key"),
    (r"key[=]*", r"key"),
    (r"key\.?", r"key"),
    (r"a(?:b|c)*", r"a(?:b|c)*"),
    (r"a[^[]*", r"a[^[]*"),
    (r"a\)", r"a\)"),
    (r"a\}", r"a\}"),
    (r"a\\b", r"a\\b"),
    (r"(ab){2,}", r"(ab){2}"),
    (r"x?", r"x?"),
    (r"a|b+", r"a|b"),
    (r"\pL{2,}", r"\pL{2,}"),
    (r"é{2,}", r"é{2}"),
    (r"aé*", r"aé*"),
]


@pytest.mark.parametrize(("pattern", "expected"), LEAST)
def test_least(pattern: str, expected: str) -> None:
    assert least(pattern) == expected


ATOM = st.sampled_from(["a", "b", "[ab]", "[^a]", r"\d", "(?:ab|b)", "(?P<value>a[b-]+)", r"\b", "(a|b{1,2})"])
TIMES = st.sampled_from(["", "+", "*", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    def part() -> str:
        atom = draw(ATOM)
        return atom + ("" if atom == r"\b" else draw(TIMES))

    text = "".join(part() for _ in range(draw(st.integers(1, 4))))
    if draw(st.booleans()):
        text = f"(?:{text}|{part()})"
    return text + part()


@given(patterns(), st.text("ab1-", max_size=12))
def test_where_a_pattern_matches_its_least_form_matches_not_later(pattern: str, text: str) -> None:
    if pattern.count("?P<value>") > 1:
        pattern = pattern.replace("?P<value>", "?:")
    match = re.search(pattern, text)
    if match is None:
        return
    shorter = re.compile(least(pattern)).match(text, match.start())
    assert shorter is not None
    # Hyperscan tells all ends; there is one within the match.
    ends: list[int] = []
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(expressions=[least(pattern).encode()], ids=[0], flags=[hyperscan.HS_FLAG_ALLOWEMPTY])
    database.scan(text.encode(), match_event_handler=lambda _i, _s, end, _f, _c: ends.append(end))
    assert any(match.start() <= end <= match.end() for end in ends)


def test_re2_looks_at_what_is_around_a_window() -> None:
    """The engine confirms in windows: RE2 must know the text around them."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    assert re2.compile(rb"\bkey\b", options).search(b"akeyb", 1, 4) is None
    assert re2.compile(rb"^key", options).search(b"akey", 1) is None
    assert re2.compile(rb"key$", options).search(b"keyb", 0, 3) is None
    assert re2.compile(rb"(?m)^key$", options).search(b"a\nkey\nb", 2, 5).span() == (2, 5)
