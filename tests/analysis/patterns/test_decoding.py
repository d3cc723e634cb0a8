"""What is encoded in a text is found, where it is, and no more of it than there may be."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import quopri
import zlib
from collections.abc import Callable

import pytest
from spotting import all_views

from lockgate.patterns.decoding import DEPTH, Budget, View
from lockgate.patterns.decoding.decoded_views import LEAST
from lockgate.patterns.decoding.encoded_runs import long_runs

KEY = b"sk-" + b"ant-api03-Zx81kQ0vbbWqTr5Lp2m"
BASE64 = base64.b64encode(KEY)
LINES = base64.encodebytes(KEY * 5).split()


def never() -> bool:
    return False


def each(spelling: str) -> bytes:
    return "".join(spelling % code for code in KEY).encode()


def with_key(data: bytes, key: bytes = KEY) -> View:
    """The first view that holds the key."""
    return next(view for view in all_views(data) if key in view.data)


RUNS = {
    "base64": (BASE64, ("base64",)),
    "without padding": (BASE64.rstrip(b"="), ("base64",)),
    "url-safe": (base64.urlsafe_b64encode(b"~~~???>>>" + KEY), ("base64",)),
    "behind bytes that are no text": (base64.b64encode(bytes(range(120, 160)) + KEY), ("base64",)),
    "UTF-16": (base64.b64encode(KEY.decode().encode("utf-16-le")), ("base64",)),
    "UTF-16 with a mark": (base64.b64encode(KEY.decode().encode("utf-16")), ("base64",)),
    "UTF-16, the other order": (base64.b64encode(KEY.decode().encode("utf-16-be")), ("base64",)),
    "wrapped": (b"\n".join(LINES), ("base64",)),
    "wrapped for Windows, and indented": (b"\r\n    ".join(LINES), ("base64",)),
    "wrapped in a string": (b"\\n".join(LINES), ("base64",)),
    "wrapped in a string for Windows": (b"\\r\\n".join(LINES), ("base64",)),
    "a literal each line": (b'"\n    "'.join(LINES), ("base64",)),
    "a literal each line, with operators": (b'" +\n    "'.join(LINES), ("base64",)),
    "gzip": (base64.b64encode(gzip.compress(KEY, mtime=0)), ("base64", "gzip")),
    "zlib": (base64.b64encode(zlib.compress(KEY)), ("base64", "zlib")),
    "zlib, fast": (base64.b64encode(zlib.compress(KEY, 1)), ("base64", "zlib")),
    "zlib, best": (base64.b64encode(zlib.compress(KEY, 9)), ("base64", "zlib")),
    "two members": (base64.b64encode(gzip.compress(b"-") + gzip.compress(KEY)), ("base64", "gzip")),
    "gzip of hex": (base64.b64encode(gzip.compress(KEY.hex().encode())), ("base64", "gzip", "hex")),
    "base64 of base64 of base64": (base64.b64encode(base64.b64encode(BASE64)), ("base64",) * 3),
    "hex": (KEY.hex().encode(), ("hex",)),
    "HEX": (KEY.hex().upper().encode(), ("hex",)),
    "wrapped hex": (b"\n".join([(KEY * 2).hex().encode()[at : at + 60] for at in range(0, 128, 60)]), ("hex",)),
    "colons": (KEY.hex(":").encode(), ("hex",)),
    "spaces": (KEY.hex(" ").encode(), ("hex",)),
    "an array": (", ".join(f"0x{code:02x}" for code in KEY).encode(), ("hex",)),
    "an array, by lines": (",\n    ".join(f"0x{code:02x}" for code in KEY).encode(), ("hex",)),
    "numbers": (", ".join(str(code) for code in KEY).encode(), ("decimal",)),
    "numbers, close": (",".join(str(code) for code in KEY).encode(), ("decimal",)),
    "gzip in hex": (gzip.compress(KEY).hex().encode(), ("hex", "gzip")),
    "percent": (each("%%%02x"), ("percent",)),
    "percent of base64": (BASE64.replace(b"c", b"%63"), ("percent", "base64")),
    r"\x": (each("\\x%02x"), ("escape",)),
    r"\x{}": (each("\\x{%x}"), ("escape",)),
    r"\u": (each("\\u%04x"), ("escape",)),
    r"\u{}": (each("\\u{%x}"), ("escape",)),
    r"\U": (each("\\U%08x"), ("escape",)),
    "octal": (each("\\%03o"), ("escape",)),
    "decimal entities": (each("&#%d;"), ("entity",)),
    "hexadecimal entities": (each("&#x%X;"), ("entity",)),
    "a line that goes on": (KEY[:9] + b"\\\n" + KEY[9:], ("escape",)),
    "quoted-printable": (quopri.encodestring(b"=" * 20 + KEY), ("quoted-printable",)),
}
AROUND = [
    (b"", b""),
    (b'key = "', b'"\n'),
    (b"curl https://host.example/?q=", b" -o out"),
    ("données: «".encode(), "»".encode()),
    (b"{[(", b")]}"),
]


@pytest.mark.parametrize("around", AROUND, ids=lambda around: repr(around[0]))
@pytest.mark.parametrize("name", RUNS)
def test_what_is_encoded_is_found_where_it_is(name: str, around: tuple[bytes, bytes]) -> None:
    run, encoding = RUNS[name]
    view = with_key(around[0] + run + around[1])
    assert view.encoding[: len(encoding)] == encoding
    at = view.data.index(KEY)
    start, end = view.span(at, at + len(KEY))
    assert start >= len(around[0])
    assert end <= len(around[0]) + len(run)
    assert end - start >= len(KEY)
    assert view.is_changed(at, at + len(KEY))


@pytest.mark.parametrize("prefix", [b"a", b"ab", b"abc", b"abcd", b"path/to/file-"])
def test_a_run_is_found_that_is_glued_to_a_word(prefix: bytes) -> None:
    assert with_key(b"see " + prefix + BASE64)
    assert with_key(b"see " + b"f" * (len(prefix) % 3) + KEY.hex().encode())


INLINE = [
    (b"token=sk%2Dant%2Dapi03", b"token=sk-ant-api03"),
    (b'"{\\"password\\": \\"hunter2abc\\"}"', b'{"password": "hunter2abc"}'),
    (b"password=&quot;hunter2abc&quot;", b'password="hunter2abc"'),
    (b"a &lowbar; b &nosuchentity; c", b"a _ b &nosuchentity; c"),
    (b"$'sk\\x2dant'", b"$'sk-ant'"),
    (b'"wJalr\\/XUtn"', b'"wJalr/XUtn"'),
    (b"gh\\p_abc", b"ghp_abc"),
    (b"a\\nb\\tc\\\\d", b"a\nb\tc\\d"),
    (b"key=3Dsk=2Dant-=\r\napi03", b"key=sk-ant-api03"),
    (b"\\u00e9\\ud83d", "é?".encode()),
    (b"&#233;&#9999999;", "é?".encode()),
]


@pytest.mark.parametrize(("text", "meaning"), INLINE)
def test_an_escape_is_undone_where_it_stands(text: bytes, meaning: bytes) -> None:
    assert any(meaning in view.data for view in all_views(text))


ENDS_IN_PADDING = [
    b"PrivateKey = " + base64.b64encode(b"k" * 32) + b"\nAddress = 10.0.0.2/32\n",
    b"KEY=" + base64.b64encode(b"k" * 32) + b"\nDEBUG=1\n",
    b"KEY=" + base64.b64encode(b"k" * 31) + b"\r\nDEBUG=1\r\n",
    b"secret: " + base64.b64encode(b"k" * 47) + b"\nother: words without a sign\n",
    b"    key: '" + base64.b64encode(b"k" * 50) + b"\n  and more text of an ordinary length here\n",
    base64.b64encode(b"k" * 56) + b"\n-----END CERTIFICATE-----\n",
]


@pytest.mark.parametrize("text", ENDS_IN_PADDING)
def test_padding_at_the_end_of_a_line_joins_no_lines(text: bytes) -> None:
    line, _, following = text.partition(b"\n")
    joined = line.rstrip(b"=\r")[-4:] + following[:4]
    assert not any(joined in view.data for view in all_views(text))


@pytest.mark.parametrize(
    "text",
    [
        quopri.encodestring(b"Dear reader, the key that you asked for in your letter of Monday is " + KEY + b"."),
        quopri.encodestring(b"api_key=" + KEY * 2),
        quopri.encodestring("Grüße aus Köln, ".encode() * 4 + KEY),
    ],
)
def test_a_line_that_an_encoder_broke_is_joined(text: bytes) -> None:
    assert with_key(text)


def test_of_escapes_the_place_is_exact() -> None:
    text = b'x = "\\"name\\": \\"value\\"" # and more'
    view = with_key(text, b'"name"')
    at = view.data.index(b"value")
    start, end = view.span(at, at + 5)
    assert text[start:end] == b"value"
    assert not view.is_changed(at, at + 5)
    assert view.is_changed(at - 1, at + 5)
    assert text[slice(*view.span(at - 1, at + 5))] == b'\\"value'


def test_the_place_of_what_is_nested_is_that_of_the_outer_run() -> None:
    text = b"before " + base64.b64encode(b"[ " + BASE64 + b" ]") + b" behind"
    view = with_key(text)
    at = view.data.index(KEY)
    assert view.encoding == ("base64", "base64")
    assert text[slice(*view.span(at, at + len(KEY)))] == base64.b64encode(b"[ " + BASE64 + b" ]")


def test_each_run_of_many_has_its_own_place() -> None:
    runs = [base64.b64encode(b"the value number %d" % number) for number in range(50)]
    text = b"\n; ".join(runs)
    (view,) = [view for view in all_views(text) if b"number 17" in view.data]
    at = view.data.index(b"number 17")
    assert text[slice(*view.span(at, at + 9))] == runs[17]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"plain words, and nothing else",
        b"def a_long_function_name(with_arguments): return another_function(with_arguments)",
        b"commit 8f14e45fceea167a5a36dedd4bea2543a1b2c3d4",
        b"550e8400-e29b-41d4-a716-446655440000",
        b"100% of 20% and 3 % 4, a & b; x == y",
        b"it's the user's, and don't",
        b"[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]",
    ],
)
def test_ordinary_text_has_no_views(text: bytes) -> None:
    assert all_views(text) == []


def test_nothing_is_undone_beyond_the_depth() -> None:
    data = KEY
    for _ in range(DEPTH + 1):
        data = base64.b64encode(data)
    found = all_views(data)
    assert not any(KEY in view.data for view in found)
    assert max(len(view.encoding) for view in found) == DEPTH


def test_a_bomb_ends_at_the_cap_and_that_is_told() -> None:
    bomb = base64.b64encode(gzip.compress(b"0" * 50_000_000, mtime=0))
    budget = Budget(len(bomb), never)
    found = all_views(b"x = " + bomb, budget)
    assert budget.exceeded == "expansion"
    assert 500_000 < sum(len(view.data) for view in found) <= LEAST


def test_members_without_end_end_and_that_is_told() -> None:
    members = base64.b64encode(gzip.compress(b"a", mtime=0) * 5_000)
    budget = Budget(len(members), never)
    all_views(members, budget)
    assert budget.exceeded == "expansion"


@pytest.mark.parametrize("dumps", [1, 2])
def test_json_with_source_in_it_exceeds_nothing(dumps: int) -> None:
    text = 'def greet(name):\n    """Says it."""\n    print("hello, \\"" + name)\n\n' * 30_000
    for _ in range(dumps):
        text = json.dumps({"files": [text]})
    budget = Budget(len(text), never)
    assert all_views(text.encode(), budget)
    assert budget.exceeded == ""


def test_what_is_whole_exceeds_nothing() -> None:
    budget = Budget(100, never)
    all_views(base64.b64encode(gzip.compress(KEY * 10)), budget)
    assert budget.exceeded == ""


def test_what_is_broken_is_read_as_far_as_it_goes() -> None:
    packed = gzip.compress(KEY + bytes(range(256)) * 64, mtime=0)
    assert with_key(base64.b64encode(packed[: len(packed) - 40]))


def test_text_that_begins_like_zlib_is_text() -> None:
    assert with_key(base64.b64encode(b"x^2 + y^2 = z^2; " + KEY)).encoding == ("base64",)


def test_the_deadline_ends_it() -> None:
    text = b"; ".join(base64.b64encode(b"the value number %d" % number) for number in range(1000))
    asked = iter([False] * 5 + [True] * 10_000)
    budget = Budget(len(text), lambda: next(asked))
    found = all_views(text, budget)
    assert budget.exceeded == "time"
    assert sum(view.data.count(b"value") for view in found) <= 50


def test_views_without_end_end_and_that_is_told() -> None:
    budget = Budget(100, never)
    budget.views = 1
    assert len(all_views(base64.b64encode(BASE64), budget)) == 1
    assert budget.exceeded == "expansion"


HASHES = [hashlib.sha256(bytes((number % 256, number // 256))).digest() for number in range(600)]


@pytest.mark.parametrize("place", [0, 255, 256, 599])
@pytest.mark.parametrize("encode", [base64.b64encode, bytes.hex])
def test_a_key_among_hundreds_of_hashes_is_found(encode: Callable[[bytes], str | bytes], place: int) -> None:
    def line(data: bytes) -> bytes:
        run = encode(data)
        return b'"sha256:' + (run if isinstance(run, bytes) else run.encode()) + b'",\n'

    lines = [line(each) for each in HASHES]
    assert not any(view.encoding in (("base64",), ("hex",)) and KEY in view.data for view in all_views(b"".join(lines)))
    lines[place] = line(KEY)
    assert with_key(b"".join(lines)).encoding[0] in ("base64", "hex")


def test_a_hash_is_no_base64_but_the_first_line_of_some_may_be_of_its_digits() -> None:
    digits = b"0123456789abcdef" * 3
    rest = b"QUJD" * 4
    assert long_runs(b'"' + digits + b'"', 0) == []
    assert long_runs(digits + b"g", 0) == [40]
    assert long_runs(digits + b"\n" + rest + b"\n", 0) == [40]
    assert long_runs(b"- " + digits + b"\n\n" + rest, 0) == []


@pytest.mark.parametrize(
    ("following", "runs"),
    [
        (b" \\\n    --hash=sha256:" + b"01" * 32, []),
        (b"\nrequests==2.32.1 \\\n", []),
        (b"\n--AbC=", [40]),
        (b"\n--hash=", [40]),
        (b"\nQUJD==", [40]),
        (b"\nQUJD==QUJD", [40]),
    ],
)
def test_the_next_option_or_package_of_a_list_does_not_go_on_with_a_hash(following: bytes, runs: list[int]) -> None:
    assert long_runs(b"0123456789abcdef" * 4 + following, 0) == runs
