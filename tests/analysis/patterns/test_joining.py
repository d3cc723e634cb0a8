"""Pieces that are put together are found as what they become."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from spotting import all_views, find_spots

from lockgate.patterns.decoding import Budget, decode
from lockgate.patterns.decoding.candidates import ONCE, SPOT_PATTERNS

KEY = "sk-" + "ant-api03-Zx81kQ0v"
PIECES = ("sk-" + "ant-", "api03-", "Zx81kQ0v")
MATHEMATICAL = "".join(chr(0x1D5BA + ord(letter) - 97) for letter in "sk")


def quoted(between: str, quote: str = '"') -> str:
    return quote + (quote + between + quote).join(PIECES) + quote


JOINED = {
    "plus": f"key = {quoted(' + ')};",
    "plus, close": f"key={quoted('+', chr(39))}",
    "dot": f"$key = {quoted(' . ', chr(39))};",
    "two dots": f"local key = {quoted(' .. ')}",
    "tilde": f"{{{{ {quoted(' ~ ')} }}}}",
    "ampersand": f"key = {quoted(' & ')}",
    "bars": f"SELECT {quoted(' || ', chr(39))}",
    "nothing": f"key = ({quoted(' ')})",
    "lines": f"key = ({quoted(chr(10) + '       ')})",
    "plus and lines": f"key = {quoted(' +' + chr(10) + '       ')};",
    "backslash and lines": f"key = {quoted(' ' + chr(92) + chr(10) + '       ')};",
    "f-strings": "key = " + 'f"' + '" f"'.join(PIECES) + '"',
    "both quotes": "key = \"sk-\" + 'ant-' + \"api03-\" + 'Zx81kQ0v'",
    "close in a shell": "curl -H 'sk-''ant-'\"api03-\"'Zx81kQ0v'",
    "within a word": "curl -H s'k'-an\"t\"-api03-Zx81kQ0v",
    "a quoted beginning": 'KEY="sk-"ant-api03-Zx81kQ0v',
    "nothing between quotes": "s''k-a\"\"nt-api03-Zx81kQ0v",
    "a template": "`${'" + "'}${'".join(PIECES) + "'}`",
    "character by character": "k = " + "+".join(f'"{letter}"' for letter in KEY),
    "character by character in a mapping": "{'k':" + "+".join(f"'{letter}'" for letter in KEY) + "}",
    "joined list": "key = [" + quoted(", ") + '].join("");',
    "joined list of characters": "[" + ",".join(f"'{letter}'" for letter in KEY) + "].join('')",
    "Python's join": 'key = "".join([' + quoted(", ") + "])",
    "Python's join of a tuple": "key = ''.join((" + quoted(", ") + "))",
    "concat": "SELECT CONCAT(" + quoted(", ", "'") + ")",
    "reversed": f'key = "{KEY[::-1]}"[::-1]',
    "reversed by methods": f"'{KEY[::-1]}'.split('').reverse().join('')",
    "reversed by rev": f"echo {KEY[::-1]} | rev",
    "a character that nobody sees": "\u200b".join(PIECES),
    "soft hyphens": "\u00ad".join(KEY),
    "word joiners": "\u2060".join(KEY),
    "grapheme joiners": "\u034f".join(KEY),
    "fillers": "\u3164".join(KEY),
    "variation": "\U000e0101".join(KEY),
    "tags": "".join(chr(0xE0000 + ord(letter)) for letter in KEY),
    "colours": "\x1b[01;31m\x1b[K" + "\x1b[m\x1b[K".join(PIECES) + "\x1b[0m",
    "as a terminal resets": "\x1b(B\x1b[m" + "\x1b(B".join(PIECES),
    "direction": "\u202e" + "\u2066".join(PIECES),
    "fullwidth": "".join(chr(ord(letter) + 0xFEE0) for letter in KEY),
    "mathematical": MATHEMATICAL + KEY[2:],
    "spaced out": " ".join(KEY),
    "a line that goes on": "sk-ant-\\\napi03-Zx81kQ0v",
}


@pytest.mark.parametrize("around", [("", ""), ("\nsome words ", " and more\n"), ("é ", " ü")])
@pytest.mark.parametrize("name", JOINED)
def test_pieces_are_found_as_what_they_become(name: str, around: tuple[str, str]) -> None:
    before, behind = around[0].encode(), around[1].encode()
    run = JOINED[name].encode()
    text = before + run + behind
    assert KEY.encode() not in text
    view = next(view for view in all_views(text) if KEY.encode() in view.data)
    at = view.data.index(KEY.encode())
    start, end = view.span(at, at + len(KEY))
    assert len(before) <= start <= end <= len(before) + len(run)
    assert end - start >= len(KEY)
    assert view.is_changed(at, at + len(KEY))


def test_what_stands_before_a_value_stays_before_it() -> None:
    view = next(view for view in all_views(b'password = "hunter2" + "abcdef"') if b"hunter2abcdef" in view.data)
    assert b'password = "hunter2abcdef"' in view.data
    at = view.data.index(b"hunter2")
    assert view.span(at, at + 7) == (12, 19)
    assert not view.is_changed(at, at + 7)


def test_what_is_in_pieces_may_be_encoded() -> None:
    assert any(b"the value itself" in view.data for view in all_views(b'x = "dGhlIHZhb" + "HVlIGl0c2VsZg=="'))


@pytest.mark.parametrize(
    "text",
    [
        'print("a", "b", sep=" ")',
        '{"key": "value", "other": ["a", "b"]}',
        "it's the user's; don't",
        "x = a + b + 'c' + d",
        "r'abc', b\"def\", f'ghi'",
        '"""Docs."""',
        "' '.join(names)",
        "0 1 0 1 0 1",
        "revert the revision",
        "naïve «quoted»",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert all_views(text.encode()) == []


def test_a_spot_at_the_very_end_ends() -> None:
    assert all_views(b'"abcd"+"e' * 20_000)


@pytest.mark.parametrize("text", [b"a\"b'", b'"+', b'"', b"'a'b", b"\\"])
def test_quotes_alone_are_no_more_spots_than_joints(text: bytes) -> None:
    assert len(find_spots(text * (100_000 // len(text)))) <= 25_000


def test_spots_are_named_as_decoders_are() -> None:
    assert set(SPOT_PATTERNS) >= ONCE
    for name in SPOT_PATTERNS:
        assert list(decode(b"", name, [], Budget(0, lambda: False))) == []


@given(st.text("abcdefgh-_0123", min_size=12, max_size=40), st.lists(st.integers(1, 11), min_size=1, max_size=4))
def test_a_word_is_found_however_it_is_cut(word: str, cuts: list[int]) -> None:
    places = [0, *sorted(set(cuts)), len(word)]
    pieces = [word[start:end] for start, end in pairwise(places)]
    text = "value = " + " + ".join(f'"{piece}"' for piece in pieces) + "\n"
    assert any(word.encode() in view.data for view in all_views(text.encode()))
