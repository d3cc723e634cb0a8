"""Untrusted text, shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.text import visible, visible_block

anything = st.text(st.characters(), max_size=300) | st.text(
    st.sampled_from("a\n\r\t\x1b\x00\u202e\u200b\u2066\ufeff\ud800"), max_size=60
)


@given(anything)
def test_nothing_that_moves_or_hides_is_left(text):
    shown = visible(text, 10_000)
    assert not {unicodedata.category(character) for character in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}
    assert shown.encode("utf-8").decode("utf-8") == shown


@given(anything)
def test_what_is_shown_is_shown_the_same_again(text):
    assert visible(visible(text)) == visible(text)


@given(anything, st.integers(min_value=60, max_value=400))
def test_the_limit_holds(text, limit):
    assert len(visible(text, limit)) <= limit


@given(anything)
def test_a_block_keeps_its_lines(text):
    assert "\r" not in visible_block(text)
    assert visible_block(text).count("\n") == text.count("\n")


@given(anything, st.integers(min_value=9, max_value=100))
def test_a_block_that_is_cut_says_so_and_shows_its_end(text, limit):
    shown = visible_block(f"begin{text}{'x' * limit}end", limit)
    assert f"\n[... {len(text) + 8} more characters ...]\n" in shown
    assert shown.endswith("end")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain é 文", "plain é 文"),
        ("a\nb", "a\\nb"),
        ("\x1b[31m", "\\e[31m"),
        ("\u202eabc", "\\u{202e}abc"),
        ("\x07", "\\x07"),
    ],
)
def test_examples(text, shown):
    assert visible(text) == shown
