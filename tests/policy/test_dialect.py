"""Patterns as JavaScript reads them. The expectations were confirmed with Node's ``RegExp`` without flags."""

from __future__ import annotations

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from lockgate.policy.lockbox.javascript_regex import DialectError, translate, translate_option


def finds(pattern: str, text: str) -> bool:
    return regex.search(translate(pattern), text, regex.ASCII | regex.VERSION0) is not None


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        pytest.param(r"^git\s+(push|rebase)", "git  push x", True, id="ordinary"),
        pytest.param(r"^op\s", "xop y", False, id="anchor"),
        pytest.param(r"list$", "list", True, id="end"),
        pytest.param(r"list$", "list\n", False, id="end-is-not-before-a-newline"),
        pytest.param(r"a.c", "a\rc", False, id="dot-stops-at-every-line-end"),
        pytest.param(r"a.c", "a\u2028c", False, id="dot-stops-at-line-separator"),
        pytest.param(r"a[^]c", "a\nc", True, id="any-character"),
        pytest.param(r"a[]", "a", False, id="no-character"),
        pytest.param(r"(?<x>a)\k<x>", "aa", True, id="named-reference"),
        pytest.param(r"(a)\1", "aa", True, id="numbered-reference"),
        pytest.param(r"(a)\1[0]", "aa0", True, id="reference-then-digit"),
        pytest.param(r"https?:\/\/", "https://", True, id="escaped-slash"),
        pytest.param(r"\A", "A", True, id="letter-a-and-not-start"),
        pytest.param(r"\Z", "x", False, id="letter-z-and-not-end"),
        pytest.param(r"\h", "h", True, id="letter-h-and-not-blank"),
        pytest.param(r"\x41\u0042", "AB", True, id="codes"),
        pytest.param(r"\cJ", "\n", True, id="control"),
        pytest.param(r"\d", "\u0663", False, id="digits-are-ascii"),
        pytest.param(r"\w", "\u00e9", False, id="words-are-ascii"),
        pytest.param(r"a\sb", "a\u2003b", True, id="white-space-is-not-only-ascii"),
        pytest.param(r"a\Sb", "a\u2003b", False, id="nor-is-its-opposite"),
        pytest.param(r"a[\s,]b", "a\u2003b", True, id="white-space-in-a-class"),
        pytest.param(r"a[\s\S]b", "a\nb", True, id="anything"),
        pytest.param(r"[[:alpha:]]", "a]", True, id="no-posix-classes"),
        pytest.param(r"[[:alpha:]]", "b", False, id="no-posix-class-b"),
        pytest.param(r"[a&&b]", "&", True, id="no-set-operations"),
        pytest.param(r"[\w-]+$", "a-b", True, id="dash-at-the-end"),
        pytest.param(r"[-a]b", "-b", True, id="dash-at-the-start"),
        pytest.param(r"[+--]", ",", True, id="range-to-dash"),
        pytest.param(r"[\]\\]", "]", True, id="escapes-in-a-class"),
        pytest.param(r"[.*$]", "x", False, id="a-class-takes-them-literally"),
        pytest.param(r"a{,3}b", "a{,3}b", True, id="not-a-quantifier"),
        pytest.param(r"a{2,3}?b", "aab", True, id="lazy"),
        pytest.param(r"x}]", "x}]", True, id="lone-closers"),
        pytest.param(r"(?!a)b(?=c)", "bc", True, id="lookahead"),
        pytest.param(r"(?<=a)b(?<!x)", "ab", True, id="lookbehind"),
        pytest.param(r"a #b", "a #b", True, id="no-comments"),
        pytest.param(r"", "x", True, id="empty"),
        pytest.param(r"é+", "éé", True, id="letters"),
    ],
)
def test_it_means_what_javascript_means(pattern: str, text: str, expected: bool) -> None:
    assert finds(pattern, text) is expected


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        (r"(?i)curl", "a group that JavaScript does not have, at 0"),
        (r"(?>a)", "a group that JavaScript does not have, at 0"),
        (r"(?P<a>b)", "a group that JavaScript does not have, at 0"),
        (r"(?#x)", "a group that JavaScript does not have, at 0"),
        (r"a++", "nothing to repeat at 2"),
        (r"*a", "nothing to repeat at 0"),
        (r"^*", "nothing to repeat at 1"),
        (r"a|*", "nothing to repeat at 2"),
        (r"\b+", "nothing to repeat at 2"),
        (r"a{2000}", "repetition of more than 1000"),
        (r"a{3,2}", "out of order"),
        (r"[abc", "has no end"),
        (r"abc" + "\\", "lone backslash"),
        (r"\u{41}", "u flag"),
        (r"\p{L}", "u flag"),
        (r"\x4", "u flag"),
        (r"\k<", "u flag"),
        (r"[\1]", "octal"),
        (r"\01", "octal"),
        ("a" * 1001, "at most 1000 characters"),
    ],
)
def test_what_javascript_does_not_have_is_said(pattern: str, problem: str) -> None:
    with pytest.raises(DialectError, match=problem.replace("(", r"\(")):
        translate(pattern)


@pytest.mark.parametrize(
    ("pattern", "word", "matches"),
    [
        ("--help", "--help", True),
        ("--help", "--helper", False),
        (r"\-h", "-h", True),
        (r"\s--help(\s|$)", "--help", True),
        (r"(^|\s)--version$", "--version", True),
        (r"--(help|version)\b", "--version", True),
    ],
)
def test_a_pattern_about_an_option_is_for_a_whole_word(pattern: str, word: str, matches: bool) -> None:
    assert bool(regex.fullmatch(translate_option(pattern), word, regex.ASCII)) is matches


@pytest.mark.parametrize("pattern", ["help", "^--help", "mytool --help", "(--help|-h)", "."])
def test_a_pattern_about_something_else_is_not(pattern: str) -> None:
    assert translate_option(pattern) == ""


@given(st.text(alphabet="ab\\[](){}^$.|?*+-<>=!:0129duxkcpPwsB,", max_size=14))
def test_a_pattern_is_translated_or_refused(pattern: str) -> None:
    try:
        expression = translate(pattern)
    except DialectError as error:
        assert str(error)
        return
    try:
        regex.compile(expression, regex.ASCII | regex.VERSION0)
    except regex.error:
        # What is left to the compiler: parentheses and references that do not exist, ranges out of order.
        assert any(mark in pattern for mark in "()[\\")
