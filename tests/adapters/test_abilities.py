"""What is said of the clients is what their adapters spell, and what their page shows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lockgate.clients.adapter import CLIENTS, adapter
from lockgate.clients.common.abilities import ABILITIES, AskingParty, Containing, Failing, Redacting, table
from lockgate.clients.common.hook_command import HookLaunch
from lockgate.clients.install.others import WAYS, entries_of
from lockgate.core.events import Answer, Context, ToolFailed, ToolFinished
from lockgate.core.model import Subject, ToolCall, Verdict
from lockgate.system.folders import Folders

RESULTS = {
    "claude-code": "PostToolUse",
    "codex": "PostToolUse",
    "gemini-cli": "AfterTool",
    "opencode": "tool.execute.after",
    "kilo": "tool.execute.after",
    "cline": "after_tool",
    "pi": "tool_result",
    "qwen-code": "PostToolUse",
    "kimi-code": "PostToolUse",
}
CHANGED = {"command": "box make"}
LAUNCH = HookLaunch("/opt/python", "/opt/lockgate/hook.py", Folders("/home/user", "/s", "/c"))


def _spelt(client: str, event: str, answer: Answer, happened: Any = None) -> str:
    return adapter(client).encode(event, answer, happened)[0]


def test_every_client_is_told_of_and_its_page_is_current() -> None:
    missing = set(CLIENTS) - set(ABILITIES)
    assert not missing, f"ABILITIES lacks {missing}: see docs/contributing-clients.md"
    page = Path(__file__).parents[2].joinpath("docs", "clients.md").read_text("utf-8")
    assert table() in page, "put what lockgate.clients.common.abilities.table() gives into docs/clients.md"


@pytest.mark.parametrize("client", CLIENTS)
def test_what_becomes_of_a_call(client: str) -> None:
    event = adapter(client).CALL_EVENT
    refused = _spelt(client, event, Answer(Verdict.DENY, to_agent="no", to_person="no"))
    assert "deny" in refused
    asked = _spelt(client, event, Answer(Verdict.ASK, to_agent="no", to_person="no"))
    assert ('"ask"' in asked) == (ABILITIES[client].asks is AskingParty.DIALOG)
    assert (asked == refused) == (ABILITIES[client].asks is not AskingParty.DIALOG)
    contained = _spelt(client, event, Answer(Verdict.CONTAIN, new_input=CHANGED))
    assert "box make" in contained
    assert ("deny" in contained) == (ABILITIES[client].contains is Containing.CALLED_AGAIN)


@pytest.mark.parametrize("client", CLIENTS)
def test_where_a_call_is_not_changed(client: str) -> None:
    """Codex in a sandbox of its own: everywhere else, what a client's rules say decides."""
    context = Context(client, Subject("s"), "/home/user/work", "/home/user/work", mode="default")
    call = ToolCall("Bash", {"command": "make"}, "/home/user/work")
    fixed = adapter(client).is_fixed(context._replace(mode="bypassPermissions"), call, "/home/user")
    if ABILITIES[client].contains is Containing.WITHOUT_SANDBOX:
        assert adapter(client).is_fixed(context, call, "/home/user")
        assert not fixed


@pytest.mark.parametrize("client", CLIENTS)
def test_what_a_secret_is_taken_out_of(client: str) -> None:
    context, call = Context(client, Subject("s"), "/w", "/w"), ToolCall("mcp__a__b", {}, "/w")
    event = RESULTS.get(client, "postToolUse")
    finished = ToolFinished(context, call, "two", text="two", texts=(("result", "two"),))
    spelt = "[gone]" in _spelt(client, event, Answer(withheld="[gone]"), finished)
    assert spelt == (ABILITIES[client].redacts is not Redacting.NOTHING)
    failed = "PostToolUseFailure" if client in ("claude-code", "qwen-code", "kimi-code") else "postToolUseFailure"
    told = _spelt(client, failed, Answer(withheld="[gone]"), ToolFailed(context, call, "two"))
    errors_are_results = failed not in adapter(client).EVENTS and client not in ("opencode", "kilo")
    assert (ABILITIES[client].redacts is Redacting.RESULTS_AND_ERRORS) == errors_are_results
    assert "[gone]" not in told
    only_servers = "updated_mcp_tool_output" in _spelt(client, event, Answer(withheld="[gone]"), finished)
    assert (ABILITIES[client].redacts is Redacting.SERVERS) == only_servers


def test_who_refuses_by_itself_where_the_gate_fails() -> None:
    assert all(entry["failClosed"] for entry in entries_of("cursor", LAUNCH).values())
    for client in ("opencode", "pi", "kilo", "cline"):
        whole = WAYS[client].whole
        assert whole is not None
        assert "reject(new Error(REFUSAL))" in whole(client, LAUNCH)
    by_itself = {client for client, can in ABILITIES.items() if can.hang is Failing.REFUSES}
    assert by_itself == {"cursor", "opencode", "pi", "kilo", "cline"}
    for client in set(CLIENTS) - by_itself - {"claude-code", "copilot-cli"}:
        assert all("exit 2" in json.dumps(entry) for entry in entries_of(client, LAUNCH).values())
