"""Patterns as the engine looks for them: shorter, and never blind for what the pattern itself matches."""

from __future__ import annotations

import re

import hyperscan
import pytest
import re2
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate.patterns.engine import anchors
from lockgate.patterns.engine.anchors import anchor_of
from support.stress import times

ANCHORS = [
    (r"a{20,}", r"a{4}", 4, 8192),
    (r"[a-z]{3,9}", r"[a-z]{3}", 3, 9),
    (r"ghp_[a-z]{36}", r"ghp_", 4, 40),
    (r"github_pat_[a-z]{22}", r"github_pat_", 11, 33),
    (r"x?ghp_[a-z]+\b", r"ghp_", 5, 8192),
    (r"\bghp_", r"\bghp_", 4, 4),
    (r"(?:\b|_)ghp_", r"ghp_", 5, 5),
    (r"(?i)(?P<key>[a-z]{0,40}(?:pass|secret))[^=]{0,9}=", r"(?i)(?P<key>(?:pass|secret))", 46, 56),
    (r"sk-[a-z]{20,40}", r"sk-[a-z]{4}", 7, 43),
    (r"sk-[a-z]{20}-", r"sk-[a-z]{4}", 7, 24),
    (r"a\s{0,9}=\s{2,9}b", r"a\s*=\s{2,}b", 21, 21),
    (r"ab{1,2}c", r"ab{1,2}c", 4, 4),
    (r"a[0-9]{3}-x", r"a[0-9]{3}-x", 6, 6),
    (r"(?:abcde|fg)hijk", r"(?:abcde|fg)hijk", 9, 9),
    (r"(?:abcde|fghij)[0-9]{9}", r"(?:abcde|fghij)", 5, 14),
    (r"abcd|efg+", r"abcd|efg", 4, 8192),
    (r"key={0,2}", r"key", 3, 5),
    (r"a(?:b|c)*", r"a", 1, 8192),
    (r"a[^[]*", r"a", 1, 8192),
    (r"a\)\}\\b", r"a\)\}\\b", 5, 5),
    (r"x?", r"x?", 8192, 8192),
    (r"\pL{2,}", r"\pL{2,}", 8192, 8192),
    (r"pará", r"pará", 5, 5),
    (r"[a-z0-9]{52}JQQJ[0-9]{4}", r"JQQJ", 56, 60),
    (r"(?P<value>[a-f0-9]{32}-us[0-9])", r"(?P<value>-us[0-9])", 36, 36),
    (r"\b(?P<value>[a-f0-9]{32}-us[0-9])", r"\b(?P<value>[a-f0-9]{11})", 11, 36),
    (r"\b(?P<key>[a-z]{0,9}pass)", r"\b(?P<key>[a-z]*pass)", 13, 13),
    (r"[0-9]{3}-[0-9]{2}", r"[0-9]{3}-[0-9]{2}", 6, 6),
    (r"(?:a|b)://[a-f]{9}@", r"(?:a|b)://[a-f]{5}", 9, 14),
    (r"ftp://[a-f]{9}@", r"ftp://[a-f]{2}", 8, 16),
]


@pytest.mark.parametrize(("pattern", "anchor", "before", "behind"), ANCHORS)
def test_anchors(monkeypatch: pytest.MonkeyPatch, pattern: str, anchor: str, before: int, behind: int) -> None:
    monkeypatch.setattr(anchors, "ENOUGH", 16.0)
    assert anchor_of(pattern)[:3] == (anchor, before, behind)


def test_anchors_that_begin_with_any_word_begin_where_words_do() -> None:
    assert anchor_of(r"[0-9]{3}-", alone=True).pattern == r"(?:\b|\\[nrt])[0-9]{3}-"
    assert anchor_of(r"(?:[a-f]{9}|\d{8})x", alone=True).pattern.startswith(r"(?:\b|")
    for pattern in (r"abc[0-9]", r"[a-z-]{9}", r"[^a]{20}", r"x?[0-9]{9}", r"[0-9]{20}abc"):
        assert anchor_of(pattern, alone=True) == anchor_of(pattern)


ATOM = st.sampled_from(
    [
        "a",
        "b",
        "ab",
        "-",
        "/",
        "[ab]",
        "[^a]",
        r"\d",
        "(?:ab|b)",
        "(?P<value>a[b-]+)",
        r"\b",
        "(a|b{1,2})",
        "(?:a?b|-1)",
    ]
)
TIMES = st.sampled_from(["", "", "+", "*", "?", "{2}", "{1,3}", "{2,}", "{0,5}", "*?", "+?"])


@st.composite
def patterns(draw: st.DrawFn) -> str:
    def part() -> str:
        atom = draw(ATOM)
        return atom + ("" if atom in (r"\b", "ab") else draw(TIMES))

    def several(most: int) -> str:
        return "".join(part() for _ in range(draw(st.integers(1, most))))

    text = several(5)
    for _ in range(draw(st.integers(0, 2))):
        text = f"(?:{text}|{several(3)}){draw(TIMES)}{several(2)}"
    named = text.split("(?P<value>")
    return "(?:".join(["(?P<value>".join(named[:2]), *named[2:]])


@given(patterns(), st.text("ab1-/", max_size=16), st.sampled_from([0.0, 3.0, 6.0, 12.0, 16.0, 24.0]), st.integers(1, 3))
@settings(max_examples=times(250))
@pytest.mark.stress
def test_within_a_match_there_is_one_of_the_anchor_and_the_window_is_wide_enough(
    pattern: str, text: str, enough: float, says: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(anchors, "ENOUGH", enough)
        patch.setattr(anchors, "_SAYS_ENOUGH", says)
        anchor = anchor_of(pattern)
    ends: list[int] = []
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    try:
        database.compile(expressions=[anchor.pattern.encode()], ids=[0], flags=[hyperscan.HS_FLAG_ALLOWEMPTY])
    except hyperscan.error as error:  # such as `a\\ba`
        assert "can never match" in str(error)
        assert re.search(pattern, text) is None
        return
    database.scan(text.encode(), match_event_handler=lambda _i, _s, end, _f, _c: ends.append(end))
    for match in re.finditer(pattern, text):
        if match.end() > match.start():
            assert match.end() - match.start() >= anchor.least
            within = [end for end in ends if match.start() <= end <= match.end()]
            assert any(end - anchor.before <= match.start() and match.end() <= end + anchor.behind for end in within)


def test_re2_looks_at_what_is_around_a_window() -> None:
    """The engine confirms in windows: RE2 must know the text around them."""
    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1
    assert re2.compile(rb"\bkey\b", options).search(b"akeyb", 1, 4) is None
    assert re2.compile(rb"^key", options).search(b"akey", 1) is None
    assert re2.compile(rb"key$", options).search(b"keyb", 0, 3) is None
    assert re2.compile(rb"(?m)^key$", options).search(b"a\nkey\nb", 2, 5).span() == (2, 5)
