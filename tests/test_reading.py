"""Files of every wrong kind: each is an error that names its place, and none takes long."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.errors import ConfigError
from lockgate.system.documents.reader import MOST_BYTES, read
from lockgate.system.documents.values import format_path

BOMB = b"a: &a [x,x,x,x,x,x,x,x,x,x]\n" + b"\n".join(
    f"{name}: &{name} [{','.join([f'*{before}'] * 10)}]".encode()
    for before, name in zip("abcdefg", "bcdefgh", strict=True)
)

BAD = [
    pytest.param("x.yaml", b"a: \xff\n", 1, "", "not UTF-8", id="bytes"),
    pytest.param("x.yaml", b"a: 1\nb: \xc3(\n", 2, "", "not UTF-8", id="bytes-later"),
    pytest.param("x.json", b'{\n"a": "\xed\xa0\x80"}', 2, "", "not UTF-8", id="surrogate-bytes"),
    pytest.param("x.yaml", b"\xef\xbb\xbfa: 1\n", 1, "", "byte order mark", id="bom"),
    pytest.param("x.json", b"\xff\xfe{\0}\0", 1, "", "byte order mark", id="utf-16"),
    pytest.param("x.yaml", b"a: 1\nb: \0\n", 2, "", "zero byte", id="nul"),
    pytest.param("x.yaml", b"a:\n\tb: 1\n", 2, "", "with spaces", id="tab"),
    pytest.param("x.yaml", b'a: "\\s+"\n', 1, "", "in single quotes", id="backslash"),
    pytest.param("x.yaml", b"a: \x07\n", 0, "", "not YAML", id="control"),
    pytest.param("x.yaml", b"a: [1\n", 2, "", "not YAML", id="open-list"),
    pytest.param("x.yaml", b"a: 1\n b: 2\n", 2, "", "not YAML", id="indentation"),
    pytest.param("x.yaml", b"a: 1\n---\nb: 2\n", 2, "", "second document", id="two-documents"),
    pytest.param("x.yaml", b"a: 1\na: 2\n", 2, "a", "stands twice", id="yaml-twice"),
    pytest.param("x.yaml", b"a:\n  b: 1\n  'b': 2\n", 3, "a.b", "stands twice", id="yaml-twice-nested"),
    pytest.param("x.json", b'{"a": 1,\n "a": 2}', 2, "a", "stands twice", id="json-twice"),
    pytest.param("x.json", b'{"a": {"b": 1,\n "\\u0062": 2}}', 2, "a.b", "stands twice", id="json-twice-escaped"),
    pytest.param("x.yaml", b"- !ruby/object x\n", 1, "[0]", "put a value that begins with !", id="tag"),
    pytest.param("x.yaml", b"a:\n- !foo\n", 2, "a[0]", "put a value that begins with !", id="tag-of-a-removal"),
    pytest.param("x.yaml", b"a: !!python/object:os.system {}\n", 1, "a", "a tag is not read", id="python-tag"),
    pytest.param("x.yaml", b"? [a, b]\n: 1\n", 1, "", "a key must be text", id="list-key"),
    pytest.param("x.yaml", b"1: a\n", 1, "1", "a key must be text", id="number-key"),
    pytest.param("x.yaml", b"null: a\n", 1, "null", "a key must be text", id="null-key"),
    pytest.param("x.yaml", b"on: a\n", 1, "on", "in quotes", id="norway-key"),
    pytest.param("x.yaml", b"a: no\n", 1, "a", "true or false", id="norway"),
    pytest.param("x.yaml", b"a: &x {b: 1}\nc:\n  <<: *x\n", 3, "c", "merge keys", id="merge-key"),
    pytest.param("x.yaml", b"a: *x\n", 1, "", "anchor", id="no-anchor"),
    pytest.param("x.yaml", b"a: &x [*x]\n", 1, "", "anchor", id="alias-of-itself"),
    pytest.param("x.yaml", BOMB, 5, "", "more than 20000 values", id="alias-bomb"),
    pytest.param("x.yaml", b"a: " + b"[" * 100_000, 1, "", "levels deep", id="deep"),
    pytest.param("x.json", b"[" * 100_000, 1, "", "levels deep", id="deep-json"),
    pytest.param("x.json", b'{"a":' * 100_000, 1, "", "levels deep", id="deep-json-mapping"),
    pytest.param("x.json", b"[" + b"1," * 30_000 + b"1]", 1, "", "more than 20000 values", id="many"),
    pytest.param("x.yaml", b"#" * (MOST_BYTES + 1), 0, "", "larger than", id="large"),
    pytest.param("x.json", b"", 1, "", "ends too early", id="empty-json"),
    pytest.param("x.json", b"{", 1, "", "expected a key", id="open-mapping"),
    pytest.param("x.json", b'{"a"', 1, "a", "expected a colon", id="no-colon"),
    pytest.param("x.json", b'{"a":\n}', 2, "a", "no JSON value begins with '}'", id="no-value"),
    pytest.param("x.json", b'{"a": 1,}', 1, "", "no comma after the last", id="trailing-comma"),
    pytest.param("x.json", b'{ // no\n"a": 1}', 1, "", "no comments", id="comment"),
    pytest.param("x.json", b'{"a": [1, /* no */ 2]}', 1, "", "no comments", id="comment-in-list"),
    pytest.param("x.json", b"{}\n# no", 2, "", "no comments", id="comment-after"),
    pytest.param("x.json", b"[1,]", 1, "[1]", "no JSON value begins with ']'", id="trailing-comma-list"),
    pytest.param("x.json", b"[1\n2]", 2, "", "expected a comma or ]", id="no-comma"),
    pytest.param("x.json", b"{} {}", 1, "", "more text after", id="two-values"),
    pytest.param("x.json", b"{'a': 1}", 1, "", "double quotes", id="single-quotes"),
    pytest.param("x.json", b"[NaN]", 1, "[0]", "no JSON value begins with 'N'", id="nan"),
    pytest.param("x.json", b"[-Infinity]", 1, "[0]", "no JSON value begins with '-'", id="infinity"),
    pytest.param("x.json", b"[" + b"9" * 5000 + b"]", 1, "[0]", "no JSON value", id="endless-number"),
    pytest.param("x.json", b'["a\nb"]', 1, "", "not a JSON text", id="newline-in-text"),
    pytest.param("x.json", b'["\\x"]', 1, "", "not a JSON text", id="bad-escape"),
    pytest.param("x.json", b'["\\ud800"]', 1, "", "surrogate", id="surrogate"),
    pytest.param("x.json", b'["abc', 1, "", "not a JSON text", id="open-text"),
]


@pytest.fixture(params=["c", "python"])
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With libyaml, and without it."""
    if request.param == "python":
        monkeypatch.delattr(yaml, "CSafeLoader")


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(("file", "data", "line", "key", "problem"), BAD)
def test_what_is_wrong_is_said(file: str, data: bytes, line: int, key: str, problem: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(data, file)
    assert (caught.value.file, caught.value.line, caught.value.key) == (file, line, key)
    assert problem in caught.value.problem


@pytest.mark.usefixtures("parser")
@pytest.mark.parametrize(
    ("written", "value"),
    [
        (b"", {}),
        (b"# nothing\n", {}),
        (b"a: 1", {"a": 1}),
        (b"a: -1.5e3", {"a": -1500.0}),
        (b"a: true\nb: False", {"a": True, "b": False}),
        (b"a:\nb: ~\nc: null", {"a": None, "b": None, "c": None}),
        (b"a: 'true'\nb: \"1\"\n'1': c", {"a": "true", "b": "1", "1": "c"}),
        (b"a: 0x1f\nb: 1_000\nc: 12:30\nd: 2020-01-01", {"a": "0x1f", "b": "1_000", "c": "12:30", "d": "2020-01-01"}),
        (b"a: .inf\nb: .nan", {"a": ".inf", "b": ".nan"}),
        (b"a: ! yes", {"a": "yes"}),
        (b"a: |\n  x\n  y\n", {"a": "x\ny\n"}),
        (b"a: &x [1, 2]\nb: *x", {"a": [1, 2], "b": [1, 2]}),
        (b'{"a": ["b", {}]}', {"a": ["b", {}]}),
        ("a: é\u4e2d".encode(), {"a": "é\u4e2d"}),
    ],
)
def test_yaml(written: bytes, value: Any) -> None:
    document = read(written, "lockgate.yaml")
    assert document.value == value
    assert json.loads(json.dumps(document.value)) == value


@pytest.mark.usefixtures("parser")
def test_lines_of_yaml() -> None:
    text = b"a: 1\n\nb:\n  - x\n  - y: z\n    'q': [1,\n      2]\n"
    lines = read(text, "x.yaml").lines
    assert {format_path(path): line for path, line in lines.items()} == {
        "": 1, "a": 1, "b": 3, "b[0]": 4, "b[1]": 5, "b[1].y": 5, "b[1].q": 6, "b[1].q[0]": 6, "b[1].q[1]": 7,
    }  # fmt: skip


def test_lines_of_json() -> None:
    lines = read(b'{"a": 1,\n\n"b": [\n"x",\n{"y":\n2}]}\n', "x.json").lines
    assert {format_path(path): line for path, line in lines.items()} == {
        "": 1, "a": 1, "b": 3, "b[0]": 4, "b[1]": 5, "b[1].y": 5,
    }  # fmt: skip


def test_the_line_of_what_an_alias_stands_for() -> None:
    document = read(b"a: &x\n  b: 1\nc: *x\n", "x.yaml")
    assert document.line(("c", "b")) == 3
    assert document.line(("nowhere",)) == 1


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(-1e9, 1e9) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(values, st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_json_is_read_as_the_standard_library_reads_it(value: Any, indent: Any, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    if "\0" in text:
        return
    assert read(text.encode("utf-8", "surrogatepass"), "x.json").value == json.loads(text)


@given(st.binary(max_size=60), st.sampled_from(["x.json", "x.yaml"]))
def test_any_bytes_are_a_value_or_an_error(data: bytes, file: str) -> None:
    try:
        document = read(data, file)
    except ConfigError as error:
        assert error.file == file
        assert error.problem
        return
    json.dumps(document.value, allow_nan=False)


@given(st.text(alphabet="{}[]\",:\\ \n0-9.eEtrufalsn&*!|>'#-?<~", max_size=30), st.sampled_from(["x.json", "x.yaml"]))
def test_any_punctuation_is_a_value_or_an_error(text: str, file: str) -> None:
    try:
        document = read(text.encode(), file)
    except ConfigError as error:
        assert error.problem
        return
    json.dumps(document.value, allow_nan=False)
    if file == "x.json":
        assert document.value == json.loads(text)
