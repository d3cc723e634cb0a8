from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.clients.claude.results import find_spawned_agent, result_text
from lockgate.clients.common.results import make_finished_event
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall

BARE = "[a record without a text]"

NOTHING = {"mode": "content", "numFiles": 0, "filenames": []}
CASES = [
    pytest.param("Bash", {"stdout": "a\nb", "stderr": "c", "interrupted": False}, "a\nb\nc", id="shell"),
    pytest.param("Bash", {"stdout": "", "stderr": "only", "isImage": False}, "only", id="only stderr"),
    pytest.param("Bash", "text", "text", id="a string"),
    pytest.param("Bash", {"output": "odd", "n": 1}, "odd", id="shell in an unknown shape"),
    pytest.param("Read", {"type": "text", "file": {"filePath": "/a", "content": "l1\nl2"}}, "l1\nl2", id="read"),
    pytest.param("Read", {"type": "image", "file": {"base64": "AA", "type": "image/png"}}, "AA\nimage/png", id="image"),
    pytest.param(
        "Edit",
        {"filePath": "/a", "oldString": "o", "newString": "n", "originalFile": "not shown", "structuredPatch": []},
        "/a\no\nn",
        id="edit",
    ),
    pytest.param("mcp__x__y", {"originalFile": "shown"}, "shown", id="an MCP field of that name is shown"),
    pytest.param(
        "mcp__x__y",
        [{"type": "text", "text": "one"}, {"type": "resource", "resource": {"uri": "u", "text": "two"}}],
        "one\nresource\nu\ntwo",
        id="mcp blocks",
    ),
    pytest.param(
        "WebFetch", {"code": 200, "result": "page", "url": "https://e.org/"}, "page\nhttps://e.org/", id="web"
    ),
    pytest.param(
        "Agent", {"prompt": "own words", "content": [{"type": "text", "text": "report"}]}, "report", id="agent"
    ),
    pytest.param("Grep", {**NOTHING, "content": "", "numLines": 0}, "", id="a search that found nothing"),
    pytest.param("Grep", {**NOTHING, "mode": "files_with_matches", "totalFiles": 0}, "", id="nor a file"),
    pytest.param("Grep", {**NOTHING, "content": "a:1:x"}, "content\na:1:x", id="a search that found a line"),
    pytest.param("Grep", {**NOTHING, "numLines": 3}, "content", id="lines that are not shown"),
    pytest.param("Grep", {**NOTHING, "appliedOffset": 9}, "content", id="a search that shows what comes later"),
    pytest.param("Grep", {**NOTHING, "timedOut": True}, "content", id="a search that was not ended"),
    pytest.param("Grep", {**NOTHING, "other": 0}, "content", id="a search with a field that nobody knows"),
    pytest.param("mcp__x__y", NOTHING, "content", id="another tool that says so"),
    pytest.param("X", None, "", id="nothing"),
    pytest.param("X", 7, BARE, id="a number"),
    pytest.param("mcp__x__y", {"structuredContent": {"a name that says it": 1}}, BARE, id="only names"),
    pytest.param("mcp__x__y", [[105, 103, 110]], BARE, id="numbers that spell a text"),
    pytest.param("mcp__x__y", {"content": [], "isError": False, "structuredContent": {}}, "", id="an empty envelope"),
    pytest.param("mcp__x__y", {"content": [{"type": None}]}, "", id="an empty block"),
    pytest.param("TaskList", {"tasks": [], "n": 0}, "", id="the client's own counts"),
]


@pytest.mark.parametrize(("tool", "response", "text"), CASES)
def test_the_text_that_the_model_reads(tool: str, response: Any, text: str) -> None:
    assert result_text(tool, response) == text


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)


@given(json_values)
def test_no_string_of_an_unknown_tool_is_missed(value: Any) -> None:
    canary = "canary-7f3a"
    for wrapped in ([value, canary], {"k": [value, {"deep": canary}]}, [{"type": "text", "text": canary}, value]):
        assert canary in result_text("mcp__any__tool", wrapped)


def test_depth_does_not_matter() -> None:
    value: Any = "bottom"
    for _ in range(100_000):
        value = [value]
    assert result_text("mcp__any__tool", value) == "bottom"


@pytest.mark.parametrize(
    ("tool", "response", "expected"),
    [
        ("Agent", {"agentId": "a", "status": "completed"}, ("a", False)),
        ("Task", {"agentId": "a", "status": "async_launched"}, ("a", True)),
        ("Agent", {"agentId": "a", "isAsync": True}, ("a", True)),
        ("Agent", {"agentId": 5}, ("", False)),
        ("Agent", "text", ("", False)),
        ("mcp__x__y", {"agentId": "a"}, ("", False)),
        ("Bash", {"backgroundTaskId": "b"}, ("", True)),
    ],
)
def test_spawned_agents(tool: str, response: Any, expected: tuple[str, bool]) -> None:
    assert find_spawned_agent(tool, response) == expected


PICTURES = [
    {"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}},
    {"type": "audio", "data": "UklGRg==", "mimeType": "audio/wav"},
    {"type": "resource", "resource": {"blob": "JVBERi0="}},
    {"type": "image", "data": {"nested": "words"}},
]


@pytest.mark.parametrize("picture", PICTURES)
@pytest.mark.parametrize("tool", ["Bash", "WebFetch", "mcp__x__screenshot"])
def test_a_picture_says_something(tool: str, picture: dict[str, Any]) -> None:
    """A page that was photographed is a page that was read."""
    context = Context("codex", Subject("s"), "/w", "/w")
    for result in ([picture], [{"type": "text", "text": ""}, picture], {"content": [picture]}):
        assert make_finished_event(context, ToolCall(tool, {}, "/w"), result).text


@pytest.mark.parametrize("result", ["", [], None, {}, {"content": [], "isError": False}])
def test_nothing_says_nothing(result: Any) -> None:
    context = Context("codex", Subject("s"), "/w", "/w")
    assert make_finished_event(context, ToolCall("mcp__x__y", {}, "/w"), result).text == ""


def test_where_a_client_tells_of_no_pictures_silence_of_an_unknown_tool_is_not_believed() -> None:
    context = Context("opencode", Subject("s"), "/w", "/w")
    for tool, said in (("mcp__x__screenshot", True), ("opencode:browser", True), ("Bash", False), ("WebFetch", False)):
        assert bool(make_finished_event(context, ToolCall(tool, {}, "/w"), "", whole=False).text) == said
