from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.clients.claude.answers import encode
from lockgate.clients.claude.events import ADAPTER
from lockgate.clients.common.result_texts import find_kept_file, names_of, texts_of, with_texts, withheld
from lockgate.core.events import Answer, ToolFinished

from .payloads import shell_result, tool

PNG = "iVBORw0KGgo" + "A" * 40
READ = {
    "type": "text",
    "file": {"filePath": "/a", "content": "l1\nl2\n", "numLines": 3, "startLine": 1, "totalLines": 3},
}
EDIT = {
    "filePath": "/a",
    "oldString": "o",
    "newString": "n",
    "originalFile": "not shown",
    "structuredPatch": [{"lines": ["-o", "+n", " neighbour"]}],
    "userModified": False,
}
AGENT = {
    "status": "completed",
    "prompt": "own words",
    "agentId": "a1b",
    "content": [{"type": "text", "text": "report"}],
}

SHAPES = [
    pytest.param("Bash", shell_result("out", "err"), {"stdout": "out", "stderr": "err"}, id="shell"),
    pytest.param("Bash", {**shell_result(PNG), "isImage": True}, {}, id="a picture from the shell"),
    pytest.param("Read", READ, {"file.filePath": "/a", "file.content": "l1\nl2\n"}, id="read"),
    pytest.param("Read", {"type": "image", "file": {"base64": PNG, "type": "image/png"}}, {}, id="a picture"),
    pytest.param("Read", {"type": "pdf", "file": {"filePath": "/a", "base64": PNG}}, {"file.filePath": "/a"}, id="pdf"),
    pytest.param(
        "Read",
        {"type": "notebook", "file": {"cells": [{"cellType": "code", "source": "k = 1", "outputs": [{"text": "o"}]}]}},
        {
            "file.cells[0].cellType": "code",
            "file.cells[0].source": "k = 1",
            "file.cells[0].outputs[0].text": "o",
        },
        id="notebook",
    ),
    pytest.param(
        "Grep",
        {"mode": "content", "filenames": ["a.py"], "content": "a.py:1:x", "numLines": 1},
        {"filenames[0]": "a.py", "content": "a.py:1:x"},
        id="grep",
    ),
    pytest.param("Glob", {"filenames": ["a", "b"]}, {"filenames[0]": "a", "filenames[1]": "b"}, id="glob"),
    pytest.param(
        "WebFetch",
        {"bytes": 4, "code": 200, "codeText": "OK", "result": "page", "url": "https://e.org/"},
        {"codeText": "OK", "result": "page", "url": "https://e.org/"},
        id="web",
    ),
    pytest.param("Edit", EDIT, {"filePath": "/a"}, id="what the agent wrote itself"),
    pytest.param(
        "Edit",
        {**EDIT, "structuredPatch": [], "userModified": True},
        {"filePath": "/a", "oldString": "o", "newString": "n", "originalFile": "not shown"},
        id="what a person changed",
    ),
    pytest.param("Agent", AGENT, {"agentId": "a1b", "content[0].text": "report"}, id="agent"),
    pytest.param("mcp__x__y", "text", {"result": "text"}, id="a text"),
    pytest.param(
        "mcp__x__y",
        [
            {"type": "text", "text": "one"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
            {"type": "image", "data": PNG, "mimeType": "image/png"},
            {"type": "resource", "resource": {"uri": "file:///x", "mimeType": "text/plain", "text": "two"}},
            {"type": "resource", "resource": {"uri": "file:///y", "blob": PNG}},
        ],
        {
            "[0].text": "one",
            "[3].resource.uri": "file:///x",
            "[3].resource.text": "two",
            "[4].resource.uri": "file:///y",
        },
        id="content blocks",
    ),
    pytest.param("mcp__x__y", {"type": "ghp_" + "x" * 36}, {"type": "ghp_" + "x" * 36}, id="no word of the client"),
    pytest.param("Odd", {"a key": {"b.c": ["x"]}, "n": 1, "z": None}, {'["a key"]["b.c"][0]': "x"}, id="odd names"),
    pytest.param("Odd", None, {}, id="nothing"),
]


@pytest.mark.parametrize(("name", "result", "expected"), SHAPES)
def test_what_the_model_may_read(name: str, result: Any, expected: dict[str, str]) -> None:
    assert dict(texts_of(name, result)) == expected


@pytest.mark.parametrize(("name", "result", "expected"), SHAPES)
def test_a_text_is_replaced_where_it_stands(name: str, result: Any, expected: dict[str, str]) -> None:
    before = copy.deepcopy(result)
    for path, text in expected.items():
        changed = with_texts(name, result, {path: "NEW 1"})
        assert result == before, "the record itself is left alone"
        assert dict(texts_of(name, changed)) == {**expected, path: "NEW 1"}
        back = with_texts(name, changed, {path: text})
        assert back == before


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(json_values)
def test_each_text_has_a_path_of_its_own(value: Any) -> None:
    texts = texts_of("mcp__any__tool", value)
    assert len(dict(texts)) == len(texts)
    new = {path: f"{text}{index}" for index, (path, text) in enumerate(texts)}
    assert dict(texts_of("mcp__any__tool", with_texts("mcp__any__tool", value, new))) == new
    assert with_texts("mcp__any__tool", value, dict(texts)) == value


@given(json_values)
def test_no_text_of_an_unknown_tool_is_missed(value: Any) -> None:
    word = "word-7f3a"
    for wrapped in ([value, word], {"k": [value, {"deep": word}]}, [{"type": "text", "text": word}, value]):
        assert word in dict(texts_of("mcp__any__tool", wrapped)).values()
        assert word not in json.dumps(withheld("mcp__any__tool", wrapped, "notice"))


def test_the_number_of_lines_stays_true() -> None:
    changed = with_texts("Read", READ, {"file.content": "one line"})
    assert changed["file"]["numLines"] == 1
    assert changed["file"]["totalLines"] == 3


def test_what_is_withheld_says_so_once_and_keeps_its_shape() -> None:
    assert withheld("Bash", shell_result("a", "b"), "why") == shell_result("why", "")
    assert withheld("Bash", shell_result(), "why") is None
    block = {"type": "image", "data": PNG, "mimeType": "image/png"}
    assert withheld("mcp__x__y", [{"type": "text", "text": "t"}, block], "why") == [
        {"type": "text", "text": "why"},
        block,
    ]


@pytest.mark.parametrize(
    ("name", "result", "expected"),
    [
        ("Bash", {**shell_result("x"), "persistedOutputPath": "/r/b1.txt"}, ("/r/b1.txt", "stdout")),
        ("Bash", {**shell_result("x"), "persistedOutputPath": None}, ("", "")),
        ("Bash", shell_result("x"), ("", "")),
        ("mcp__x__y", {"persistedOutputPath": "/etc/passwd"}, ("", "")),
        ("Bash", "x", ("", "")),
    ],
)
def test_the_file_of_a_long_result(name: str, result: Any, expected: tuple[str, str]) -> None:
    assert find_kept_file(name, result) == expected


def test_an_answer_becomes_a_record_of_the_same_shape() -> None:
    event = ADAPTER.decode(tool("PostToolUse", tool_response=shell_result("a KEY b", "err")), {})
    assert isinstance(event, ToolFinished)
    stdout, _, code = encode("PostToolUse", Answer(texts={"stdout": "a [x] b"}, context="note"), event)
    assert code == 0
    assert json.loads(stdout) == {
        "hookSpecificOutput": {
            "hookEventName": "PostToolUse",
            "updatedToolOutput": shell_result("a [x] b", "err"),
            "additionalContext": "note",
        }
    }


def test_a_result_that_is_withheld() -> None:
    event = ADAPTER.decode(tool("PostToolUse", tool_response=shell_result("a KEY b", "err")), {})
    stdout, *_ = encode("PostToolUse", Answer(withheld="why"), event)
    assert json.loads(stdout)["hookSpecificOutput"]["updatedToolOutput"] == shell_result("why", "")


def test_text_outside_ascii_arrives_as_it_was() -> None:
    text = "\u00fc \U0001f600 \x00 \x1b[0m \ufffd KEY"
    event = ADAPTER.decode(tool("PostToolUse", tool_response=shell_result(text)), {})
    stdout, *_ = encode("PostToolUse", Answer(texts={"stdout": text.replace("KEY", "[x]")}), event)
    assert json.loads(stdout)["hookSpecificOutput"]["updatedToolOutput"]["stdout"] == text.replace("KEY", "[x]")


def test_names_of_fields_that_are_no_words() -> None:
    result = {"stdout": "a", "persistedOutputPath": "b", "rows": [{"k1" * 8: 1}, {"k2" * 8: {"k1" * 8: 2}}], "k3": 3}
    assert sorted(names_of(result).split("\n")) == ["k1" * 8, "k2" * 8]
    assert names_of("text") == ""


def test_a_result_may_be_nested_as_deep_as_it_likes() -> None:
    deep: Any = {"text": "KEY"}
    for _ in range(3000):
        deep = {"a": [deep]}
    ((path, text),) = texts_of("mcp__x__y", deep)
    assert text == "KEY"
    for changed in (with_texts("mcp__x__y", deep, {path: "[x]"}), withheld("mcp__x__y", deep, "[x]")):
        assert texts_of("mcp__x__y", changed) == [(path, "[x]")]
    assert texts_of("mcp__x__y", deep) == [(path, "KEY")]
