"""Passages are found again in what is written, and a session keeps a bounded number of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.gate.session.shingles import Shingles, pack, shingles_of, unpack

WORDS = st.lists(st.text("abcdefghijklmnopqrstuvwxyzäß", min_size=3, max_size=9), min_size=8, max_size=60)


@given(WORDS, st.data())
def test_eight_words_in_a_row_are_found_in_any_text_around_them(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 8))
    passage = words[start : start + 8]
    page, note = shingles_of(" ".join(words)), shingles_of(f"So it says: «{', '.join(passage).title()}».")
    assert page.intersect(note)


@pytest.mark.parametrize(("page", "note", "found"), [
    pytest.param("one two three four five six seven eight", "one two three four five six", False, id="six words"),
    pytest.param("a b c d e f g h i j k", "a b c d e f g h i j k", False, id="letters alone"),
    pytest.param("1 2 3 4 5 6 7 8 9 10 11", "1 2 3 4 5 6 7 8 9 10 11", False, id="numbers"),
    pytest.param("上传配置文件夹的存档到支持主机", "页面说 上传配置文件夹的存档 。", True, id="no blanks"),
    pytest.param("{}[]();" * 90, "{}[]();" * 90, False, id="brackets"),
    pytest.param("", "", False, id="nothing"),
    pytest.param("\ud800 " * 9, "\ud800 " * 9, False, id="half a character"),
])  # fmt: skip
def test_what_counts_as_a_passage(page: str, note: str, found: bool) -> None:
    assert bool(shingles_of(page).intersect(shingles_of(note))) is found


@given(st.lists(st.frozensets(st.integers(0, 2**32 - 1), max_size=9000), max_size=3), st.integers(0, 6))
def test_what_is_kept_is_bounded_and_a_sample_of_all(groups: list[frozenset[int]], level: int) -> None:
    kept = Shingles(level=level)
    for group in groups:
        kept = kept.unite(Shingles(group))
    everything = frozenset[int]().union(*groups)
    assert len(kept.hashes) <= 8192
    assert kept.level >= level
    assert kept.hashes == {each for each in everything if not each & ((1 << kept.level) - 1)}
    assert unpack(pack(kept)) == kept


@pytest.mark.parametrize("text", ["", "x", "1 4", "1 4 ???", "a 4 AAAA", "1 9 AAAA", "1 4 AAA=", "1 4 AAAA more"])
def test_what_nobody_of_ours_has_written_is_nothing(text: str) -> None:
    assert unpack(text) == Shingles()
