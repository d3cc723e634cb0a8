"""Untrusted text, shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.display_text import BAR, add_bars, columns, visible, visible_block, wrap

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
        # Blanks that are no spaces, and so many spaces that the rest is out of sight.
        ("rm\u00a0-r", "rm\\xa0-r"),
        ("a\u2003b\u2800c", "a\\u{2003}b\\u{2800}c"),
        ("\u0600\U0001bca0", "\\u{600}\\u{1bca0}"),
        ("ls" + " " * 10_000 + "; rm x", "ls[... 10000 spaces ...]; rm x"),
        (" " * 40 + "deep", " " * 40 + "deep"),
        ("全角\u3000の空白", "全角\u3000の空白"),
        # Letters that pass for others.
        ("git push \u043erigin", "git push \\u{43e}rigin"),
        ("https://g\u0456thub.com/x", "https://g\\u{456}thub.com/x"),
        (
            "https://\u0430\u0440\u0440\u04cf\u0435.com/\u0439",
            "https://\\u{430}\\u{440}\\u{440}\\u{4cf}\\u{435}.com/\u0439",
        ),
        ("https://github.com\u2044evil.example", "https://github.com\\u{2044}evil.example"),
        ("\uff43url", "\\u{ff43}url"),
        ("a" + "\u0336" * 40, "a" + "\\u{336}" * 40),
    ],
)
def test_examples(text, shown):
    assert visible(text) == shown


@pytest.mark.parametrize(
    "text",
    [
        "отчёт.txt: первый https://example.org/отчёт",
        "Δt = αβ, 5 µs, naïve, kadın, tiếng Việt",  # noqa: RUF001
        "文件：ls；完",  # noqa: RUF001
        "שלום, नमस्ते, สวัสดี",
    ],
)
def test_languages_stay_as_they_are(text):
    assert visible(text) == text
    assert visible(visible(f"{text}\n{text}", 1000), 1000) == f"{text}\\n{text}"


def test_a_long_run_of_other_letters_is_looked_at_once():
    """Looked at from each of its letters, this takes a quarter of an hour: a gate would answer nobody."""
    run = "\u044f" * 300_000
    assert visible(run, len(run)) == run
    assert visible(f"{run}x", 9 * len(run)) == "\\u{44f}" * len(run) + "x"


def _rows_at_words(line: str, width: int) -> int:
    """How many rows a terminal's user interface takes that wraps at blanks, keeps them, and cuts longer words."""
    rows, used = 1, 0
    for number, word in enumerate(line.split(" ")):
        if number:
            rows, used = (rows + 1, 1) if used >= width else (rows, used + 1)
        if used and word and used + len(word) > width:
            rows, used = rows + 1, 0
        rows, used = (
            (rows + (len(word) - 1) // width, (len(word) - 1) % width + 1)
            if len(word) > width
            else (
                rows,
                used + len(word),
            )
        )
    return rows


@given(st.text(st.sampled_from("aaaaab  "), max_size=80) | st.text(st.sampled_from("ab \u4e2d"), max_size=60))
def test_a_wrapped_line_is_whole_and_takes_no_fewer_rows_than_a_terminal(line):
    pieces = wrap(line, 9)
    assert "".join(pieces) == line
    assert max(map(columns, pieces)) <= 9
    assert len(pieces) >= -(-columns(line) // 9)
    if line.isascii():
        assert len(pieces) >= _rows_at_words(line, 9)


@given(anything, st.integers(min_value=10, max_value=80))
def test_a_text_behind_bars_is_whole_and_no_line_begins_as_ours(text, width):
    block = visible_block(text)
    lines = add_bars(block, width)
    assert all(line.startswith("  |") and columns(line) <= width for line in lines)
    assert "".join(line[len(BAR) :].lstrip() for line in lines).replace(" ", "") == block.replace("\n", "").replace(
        " ", ""
    )
