"""Known values in texts: every form anywhere, nothing else, nothing in clear, nothing damaged that passes."""

from __future__ import annotations

import base64
import json
from multiprocessing.pool import ThreadPool
from pathlib import Path
from urllib.parse import quote

import hyperscan
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lockgate.patterns.engine.known_index import MOST_ENTRIES, Index, build, pack_marks, unpack_marks
from lockgate.patterns.known_values.encodings import FORMS
from lockgate.patterns.known_values.values import (
    SHORTEST,
    DamagedIndex,
    KnownHit,
    KnownKind,
    KnownValue,
    Marker,
    Named,
    windows,
)

SALT = bytes(range(32))
KEY = b"k9Lr+8fQ2z" + b"LmXw71bTTn" + b"4/pZ03vHs6" + b"YcGd1eJu5A"  # in pieces: this file is scanned too
LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/!$%_-"


def index_of(*values: bytes, salt: bytes = SALT) -> Index:
    marker = Marker(salt)
    entries = [marker.entry(Named(f"n{number}", value)) for number, value in enumerate(values)]
    return Index(build(entries, salt, hyperscan), salt, hyperscan)


@pytest.fixture(scope="module")
def index() -> Index:
    return index_of(KEY)


FORM_CASES = {
    "plain": (KEY, "plain"),
    "reversed": (KEY[::-1], "reversed"),
    "base64": (base64.b64encode(KEY), "base64"),
    "base64 without padding": (base64.b64encode(KEY).rstrip(b"="), "base64"),
    "base64 of a longer text, 1": (base64.b64encode(b"a" + KEY + b"\n"), "base64"),
    "base64 of a longer text, 2": (base64.b64encode(b"ab" + KEY + b" and more"), "base64"),
    "base64, url-safe": (base64.urlsafe_b64encode(b"?>?>" + KEY), "base64"),
    "hex": (KEY.hex().encode(), "hex"),
    "hex, upper case": (KEY.hex().upper().encode(), "hex"),
    "url-encoded": (quote(KEY, safe="").encode(), "url-encoded"),
    "url-encoded, lower case": (quote(KEY, safe="").lower().encode(), ""),
}


@pytest.mark.parametrize(("text", "form"), FORM_CASES.values(), ids=FORM_CASES)
def test_each_form_is_found(index: Index, text: bytes, form: str) -> None:
    # What lowers the whole text also lowers the key, which is then another one.
    hits = index.scan(b"before " + text + b" behind")
    assert [hit.form.partition(" ")[0] for hit in hits] == ([form] if form else [])
    assert all(hit.name == "n0" and hit.kind is KnownKind.SECRET for hit in hits)


def test_lower_case_escapes_are_found(index: Index) -> None:
    text = quote(KEY, safe="").replace("%2B", "%2b").replace("%2F", "%2f").encode()
    assert [hit.form for hit in index.scan(text)] == ["url-encoded"]


def test_a_hit_says_where(index: Index) -> None:
    assert index.scan(b"x=" + KEY + b";") == [KnownHit(2, 2 + len(KEY), "n0", "plain")]


def test_every_occurrence_is_found(index: Index) -> None:
    assert len(index.scan(KEY * 3)) == 3


def test_nothing_is_found_in_other_text(index: Index) -> None:
    assert index.scan(Path(__file__).read_bytes()) == index.scan(b"") == []
    assert index.scan(KEY[:-1] + b"B") == [KnownHit(0, 16, "n0", "part"), KnownHit(16, 32, "n0", "part")]


def test_several_threads_at_once(index: Index) -> None:
    """The scratch space of a scan is one thread's: two of them in it would fail, or miss what is there."""
    text = b"lorem ipsum " * 20_000 + KEY
    expected = index.scan(text)
    assert len(expected) == 1
    with ThreadPool(4) as pool:
        assert pool.map(index.scan, [text] * 40) == [expected] * 40


def test_an_index_of_nothing_finds_nothing() -> None:
    index = index_of()
    assert (len(index), index.scan(KEY), index.entries()) == (0, [], [])


# ---------------------------------------------------------------- pieces

PIECES = {
    "the first half": (KEY[:20], True),
    "the last half": (KEY[20:], True),
    "16 bytes at the beginning": (KEY[:16], True),
    "16 bytes at the end": (KEY[-16:], True),
    "15 bytes at the beginning": (KEY[:15], False),
    "31 bytes from anywhere": (KEY[5:36], True),
    "30 bytes, but neither end": (KEY[1:31], False),
}


@pytest.mark.parametrize(("piece", "found"), PIECES.values(), ids=PIECES)
def test_which_pieces_are_found(index: Index, piece: bytes, found: bool) -> None:
    assert [hit.form for hit in index.scan(b"(" + piece + b")")] == (["part"] if found else [])


WINDOWS = {
    "short: no piece says enough": (b"tR7kQp09vLxZ0aBw", []),
    "31 characters": (KEY[:31], []),
    "32 characters": (KEY[:32], [0, 16]),
    "40 characters": (KEY, [0, 16, 24]),
    "48 hexadecimal digits": (b"0123456789abcdef01234567" * 2, [0, 32]),
    "a public prefix is no piece": (b"sk_live_" + KEY, [8, 24, 32]),
    "64 characters": ((KEY + KEY[::-1])[:64], [0, 16, 32, 48]),
    "32 hexadecimal digits hide too little": (b"0123456789abcdef" * 2, []),
    "only the signature of a token": (b"eyJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJhIn0." + KEY, [37, 53, 61]),
}


@pytest.mark.parametrize(("value", "expected"), WINDOWS.values(), ids=WINDOWS)
def test_windows(value: bytes, expected: list[int]) -> None:
    assert windows(value) == expected


# ---------------------------------------------------------------- properties


def keys(shortest: int = SHORTEST) -> st.SearchStrategy[bytes]:
    return st.lists(st.sampled_from(list(LETTERS)), min_size=shortest, max_size=90).map(bytes)


ENCODERS = {
    "plain": lambda value, before: before + value,
    "reversed": lambda value, before: (before + value)[::-1],
    "base64": lambda value, before: base64.b64encode(before + value + before),
    "base64 (url-safe)": lambda value, before: base64.urlsafe_b64encode(before + value + before),
    "hex": lambda value, before: (before + value).hex().encode(),
    "url-encoded": lambda value, before: quote(before + value, safe="").encode(),
}


@given(keys(), st.sampled_from(sorted(ENCODERS)), st.binary(max_size=40), st.binary(max_size=40))
@example(b"\0" * SHORTEST, "base64", b"a", b"")
def test_any_value_is_found_in_any_form_at_any_place(value: bytes, form: str, before: bytes, around: bytes) -> None:
    text = around + ENCODERS[form](value, before) + around
    assert [hit for hit in index_of(value).scan(text) if hit.form != "part"]


@given(keys(12), st.binary(max_size=400))
def test_nothing_else_is_found(value: bytes, text: bytes) -> None:
    for hit in index_of(value).scan(text):
        assert value in text or hit.form != "plain"
        assert hit.form == "plain", "chance would have to make 36 bits of signature and 64 of a hash"


@given(st.lists(keys(), min_size=1, max_size=20, unique=True), st.data())
def test_many_values_do_not_hide_each_other(values: list[bytes], data: st.DataObject) -> None:
    wanted = data.draw(st.sampled_from(values))
    hits = index_of(*values).scan(b"a " + wanted + b" b")
    assert f"n{values.index(wanted)}" in {hit.name for hit in hits if hit.form == "plain"}


@given(st.lists(keys(), max_size=8, unique=True))
def test_what_is_kept_comes_back(values: list[bytes]) -> None:
    marker = Marker(SALT)
    entries = [marker.entry(Named(f"é{number}", value, KnownKind.CANARY)) for number, value in enumerate(values)]
    entries = [entry._replace(since=float(number)) for number, entry in enumerate(entries)]
    index = Index(build(entries, SALT, hyperscan, b"stamp"), SALT, hyperscan)
    assert (index.entries(), index.stamp, len(index)) == (entries, b"stamp", len(values))
    for entry in entries:
        assert unpack_marks(pack_marks(entry.marks)) == entry.marks


# ---------------------------------------------------------------- bytes


@given(st.data())
def test_a_damaged_index_is_refused(data: st.DataObject) -> None:
    whole = build([Marker(SALT).entry(Named("n", KEY))], SALT, hyperscan)
    place = data.draw(st.integers(0, len(whole) - 1))
    damaged = bytearray(whole)
    damaged[place] ^= data.draw(st.integers(1, 255))
    for bad in (bytes(damaged), whole[:place]):
        with pytest.raises(DamagedIndex):
            Index(bad, SALT, hyperscan)


def test_an_index_of_another_installation_is_refused() -> None:
    with pytest.raises(DamagedIndex):
        Index(build([], SALT, hyperscan), SALT[::-1], hyperscan)


def test_nothing_is_in_clear() -> None:
    value = b"tR7kQp09vLxZ0aBw" + b"q7Wn2kZp40aVdLm8xT4c"
    data = build([Marker(SALT).entry(Named("n", value))], SALT, hyperscan)
    for text in (value, value[::-1], base64.b64encode(value), value.hex().encode(), value.hex().upper().encode()):
        assert all(text[at : at + 6] not in data for at in range(len(text) - 5))


def test_two_installations_keep_other_signatures() -> None:
    first, second = (Marker(salt).entry(Named("n", KEY)) for salt in (SALT, SALT[::-1]))
    assert {mark.digest for mark in first.marks}.isdisjoint(mark.digest for mark in second.marks)
    assert [mark.signature for mark in first.marks] != [mark.signature for mark in second.marks]


def test_classes_are_even() -> None:
    table = Marker(SALT).table
    for kind in (b"0123456789", LETTERS[:26], LETTERS[26:52], bytes(range(256))):
        counts = [kind.translate(table).count(letter) for letter in b"abcdefghij"]
        assert max(counts) - min(counts) <= 1


def test_limits() -> None:
    marker = Marker(SALT)
    with pytest.raises(ValueError, match="at least 8"):
        marker.entry(Named("n", b"short"))
    with pytest.raises(ValueError, match="too long"):
        marker.entry(Named("n", b"x" * 40_000))
    with pytest.raises(ValueError, match="more than"):
        build([KnownValue("n", KnownKind.SECRET, ())] * (MOST_ENTRIES + 1), SALT, hyperscan)
    with pytest.raises(ValueError, match="no marks"):
        unpack_marks(b"123")


def test_form_numbers_are_kept_in_files_and_never_change() -> None:
    kept = ["plain", "part", "reversed", "base64", "base64 (url-safe)", "hex", "url-encoded"]
    assert json.dumps(FORMS) == json.dumps(kept)
