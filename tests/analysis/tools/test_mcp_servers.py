"""What the tools of well-known MCP servers can do."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lockgate.analysis import analyse
from lockgate.core.model import Category, EffectKind, Label, ToolCall
from lockgate.resources.data import build
from lockgate.resources.host_view import AnalysisRules, CategoryRule, HostView, ScriptFile, Service
from support import tables

WORK = "/home/user/work"
AROUND = HostView(home="/home/user", workspace=WORK)
ROWS = tables.read(build.HERE / "mcp_servers.yaml")
EXAMPLES = [
    pytest.param(f"mcp__{server}__{tool}", example, id=f"{server}-{tool}-{number}")
    for row in ROWS
    for server in row["servers"]
    for tool in row["tools"]
    for number, example in enumerate(row["examples"])
]
SNAPSHOT = "mcp__playwright__browser_snapshot"
KNOWN, UNKNOWN = ["ingest"], ["egress", "ingest"]


def kinds(tool: str, given: dict[str, Any], around: HostView = AROUND) -> list[str]:
    return sorted({effect.kind.value for effect in analyse(ToolCall(tool, given, WORK), around).effects})


@pytest.mark.parametrize(("tool", "example"), EXAMPLES)
def test_example(tool: str, example: dict[str, Any]) -> None:
    assert kinds(tool, example["input"]) == sorted(example["effects"])


def test_each_tool_of_a_server_is_in_one_row() -> None:
    every = [(server, tool) for row in ROWS for server in row["servers"] for tool in row["tools"]]
    assert len(every) == len(set(every))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["name"])
def test_required_parameters_are_known(row: dict[str, Any]) -> None:
    assert set(row.get("required", ())) <= set(row["input"])


@pytest.mark.parametrize(
    "tool",
    [
        "mcp__playwright__browser_evaluate",
        "mcp__playwright__browser_run_code",
        "mcp__playwright__browser_file_upload",
        "mcp__playwright__browser_tabs",
        "mcp__playwright__browser_brand_new",
        "mcp__Playwright__browser_snapshot",
        "mcp__playwright2__browser_snapshot",
        "mcp__playwright__x__browser_snapshot",
        "mcp__playwright___browser_snapshot",
        "mcp__chrome-devtools__evaluate_script",
        "mcp__chrome-devtools__performance_start_trace",
        "mcp__github__create_issue",
        "mcp__github__push_files",
        "mcp__memory__create_entities",
        "mcp__filesystem__write_file",
    ],
)
def test_what_no_row_names_is_as_of_an_unknown_server(tool: str) -> None:
    assert kinds(tool, {}) == UNKNOWN


@pytest.mark.parametrize(
    "given",
    [
        {"ref": "f1e3"},
        {"ref": "#pay"},
        {"ref": "e1\n"},
        {"fields": [{"ref": "f1e3", "value": "a"}]},
        {"fields": [{"ref": "e1", "script": "x"}]},
        {"fields": ["a"]},
    ],
)
def test_an_element_of_a_frame_is_none_of_the_page(given: dict[str, Any]) -> None:
    effects = analyse(ToolCall("mcp__playwright__browser_click", given, WORK), AROUND).effects
    assert {effect.rule for effect in effects} == {"tool:mcp"}


def test_what_it_shows_gives_a_label() -> None:
    assert analyse(ToolCall(SNAPSHOT, {}, WORK), AROUND).gives == {Label.UNTRUSTED}


def declared(text: str | None, name: str = ".mcp.json") -> HostView:
    path = f"{WORK}/{name}"
    files = {} if text is None else {path: ScriptFile(text)}
    return AROUND._replace(is_there=lambda asked: asked == path, read_script=files.get)


def entry(server: str = "playwright", **said: Any) -> str:
    return json.dumps({"mcpServers": {server: said}})


@pytest.mark.parametrize(
    "text",
    [
        entry(command="npx", args=["@playwright/mcp@latest"]),
        entry(command="npx", args=["-y", "@playwright/mcp", "--headless"]),
        entry("other", command="node", args=["evil.js"]),
        json.dumps({"mcp": {"playwright": {"type": "local", "command": ["bunx", "@playwright/mcp@0.0.41"]}}}),
        "{}",
    ],
)
def test_a_project_may_start_the_server_that_is_meant(text: str) -> None:
    assert kinds(SNAPSHOT, {}, declared(text)) == KNOWN


@pytest.mark.parametrize(
    "text",
    [
        entry(command="node", args=["evil.js"]),
        entry(command="node", args=["evil.js", "@playwright/mcp"]),
        entry(command="npx", args=["evil", "@playwright/mcp"]),
        entry(command="npx", args=["@playwright/mcp@https://e.example/x.tgz"]),
        entry(command="npx", args=["@playwright/mcp@npm:evil"]),
        entry(command="npx", args=["@playwright/mcp-evil"]),
        entry(command="npx", args=["@playwright/mcp"], env={"NODE_OPTIONS": "-r ./evil.js"}),
        entry(command="npx", args="@playwright/mcp"),
        entry(url="https://e.example/mcp"),
        entry(url="https://e.example/mcp", command="npx", args=["@playwright/mcp"]),
        '{"mcpServers": {"pl\\u0061ywright": {"command": "evil"}}}',
        '{"mcpServers": ["playwright"]}',
        '{"mcpServers": {"playwright": "evil"}}',
        "{} // as its client reads it",
        "[" * 100_000,
        None,
    ],
)
def test_a_project_that_declares_another_server_under_the_name_takes_the_knowledge_away(text: str | None) -> None:
    assert kinds(SNAPSHOT, {}, declared(text)) == UNKNOWN


@pytest.mark.parametrize("name", [".cursor/mcp.json", ".vscode/mcp.json", ".gemini/settings.json", "opencode.json"])
def test_each_client_finds_servers_in_a_file_of_its_own(name: str) -> None:
    assert kinds(SNAPSHOT, {}, declared(entry(command="evil"), name)) == UNKNOWN


def test_codex_finds_servers_in_toml() -> None:
    assert (
        kinds(SNAPSHOT, {}, declared('[mcp_servers."pl\\u0061ywright"]\ncommand = "evil"\n', ".codex/config.toml"))
        == UNKNOWN
    )
    assert kinds(SNAPSHOT, {}, declared('model = "x"\n', ".codex/config.toml")) == KNOWN


def test_what_a_person_declares_holds_instead() -> None:
    service = AnalysisRules(service={"mcp__playwright": Service(public_sink=True)}.get)
    assert kinds(SNAPSHOT, {}, AROUND._replace(rules=service)) == UNKNOWN
    category = AnalysisRules(
        tool_category=lambda _: CategoryRule(Category.ACTING, "lockbox.json:mcp_default", frozenset())
    )
    assert "egress" in kinds(SNAPSHOT, {}, AROUND._replace(rules=category))
    everything = kinds(SNAPSHOT, {}, AROUND._replace(rules=AnalysisRules(unknown_has_all=True)))
    assert {EffectKind.EGRESS, EffectKind.READ_SECRET, EffectKind.DESTROY} <= {EffectKind(kind) for kind in everything}
