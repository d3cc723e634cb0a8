"""The gate inside a program that runs its agent with the real Claude Agent SDK, against the scripted model."""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    Message,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
    query,
)

from e2e.harness import tracker_server
from e2e.harness.script import Call, Script, agent, bash, fetch_issue, read, send_mail
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.world import PUSH, World
from lockgate import Question
from lockgate.clients.sdk.integrations.claude_agent_sdk import can_use_tool_for, gated, hooks_for
from lockgate.core.errors import LockgateError
from lockgate.gate import Parts
from lockgate.gate.host.assembly import open_parts

from .conftest import OpenGate, Serve

pytestmark = pytest.mark.e2e

ASKED = "find . -delete"
"""A command that a person is asked about in a clean session."""
KEY = "ghp_" + "3fJq8ZtKx0LwVb2NcYhR7sDmUaPe5G13Qo9k"
_PATIENCE = 90


def options(place: World, model: ScriptedModel, **given: Any) -> ClaudeAgentOptions:
    tracker = {"command": sys.executable, "args": ["-I", tracker_server.__file__, str(place.root / "mails")]}
    asked: dict[str, Any] = {
        "cwd": place.project,
        "permission_mode": "bypassPermissions",
        "setting_sources": [],
        "mcp_servers": {"tracker": tracker},
        "env": {**place.environment, "ANTHROPIC_BASE_URL": model.url},
    }
    return ClaudeAgentOptions(**{**asked, **given})


def run(chosen: ClaudeAgentOptions) -> list[Message]:
    """Run the agent until it is done."""

    async def prompts() -> AsyncIterator[dict[str, Any]]:
        yield {"type": "user", "message": {"role": "user", "content": "please go on"}}

    async def all_messages() -> list[Message]:
        async with asyncio.timeout(_PATIENCE):
            return [message async for message in query(prompt=prompts(), options=chosen)]

    return asyncio.run(all_messages())


def test_without_the_gate_the_attack_works(place: World, serve: Serve) -> None:
    model = serve(Script.of(fetch_issue(), [bash(PUSH), send_mail("m@example.com", "all of it")]))
    run(options(place, model))
    assert (len(place.pushes), len(place.mails)) == (1, 1)


def test_an_issue_locks_what_leaves_and_nothing_else(place: World, serve: Serve, gate: OpenGate) -> None:
    model = serve(
        Script.of(
            fetch_issue(),
            [bash(PUSH), send_mail("m@example.com", "all of it")],
            bash("echo 'still working' | tr a-z A-Z"),
        )
    )
    run(gated(options(place, model), gate()))
    assert (place.pushes, place.mails) == ([], [])
    assert tracker_server.ISSUE.partition("\n")[0] in model.result(0).text
    for call in (0, 1):
        assert model.result(1, call).is_error
        assert "Lockgate blocked this call" in model.result(1, call).text
    assert "STILL WORKING" in model.result(2).text


def test_a_clean_session_pushes(place: World, serve: Serve, gate: OpenGate) -> None:
    model = serve(Script.of(read(place.project / "notes.txt"), bash(PUSH)))
    run(gated(options(place, model), gate()))
    assert len(place.pushes) == 1


@pytest.mark.parametrize("reader", ["parent", "child"])
def test_labels_cross_the_border_of_a_sub_agent(place: World, serve: Serve, gate: OpenGate, reader: str) -> None:
    if reader == "parent":
        model = serve(Script.of(fetch_issue(), agent("CHILD: go on"), CHILD=[bash(PUSH)]))
    else:
        model = serve(Script.of(agent("CHILD: look at the issue"), bash(PUSH), CHILD=[fetch_issue()]))
    run(gated(options(place, model), gate()))
    assert place.pushes == []
    blocked = model.result(0, marker="CHILD") if reader == "parent" else model.result(1)
    assert "Lockgate blocked this call" in blocked.text


def test_code_runs_contained(place: World, serve: Serve, gate: OpenGate) -> None:
    (place.project / "report.sh").write_text("echo working >made.txt; echo left >../outside/left.txt; exit 7\n")
    model = serve(Script.of(fetch_issue(), bash("bash report.sh")))
    run(gated(options(place, model), gate()))
    assert (place.project / "made.txt").read_text() == "working\n"
    assert list((place.root / "outside").iterdir()) == []
    assert "Exit code 7" in model.result(1).text


def test_a_command_that_options_may_refuse_is_not_rewritten(place: World, serve: Serve, gate: OpenGate) -> None:
    (place.project / "report.sh").write_text("echo working >made.txt\n")
    model = serve(Script.of(fetch_issue(), bash("bash report.sh")))
    run(gated(options(place, model, disallowed_tools=["Bash(bash report.sh:*)"]), gate()))
    assert not (place.project / "made.txt").exists()
    assert model.result(1).is_error


def test_credentials_are_taken_out_of_results(place: World, serve: Serve, gate: OpenGate) -> None:
    (place.project / "notes.txt").write_text(f"token {KEY}\n")
    model = serve(Script.of(bash("cat notes.txt"), read(place.project / "notes.txt")))
    run(gated(options(place, model), gate()))
    assert "[REDACTED:" in model.result(0).text
    assert "[REDACTED:" in model.result(1).text
    assert KEY not in str(model.requests)


# ---------------------------------------------------------------- asking
@pytest.mark.parametrize("approve", [True, False])
@pytest.mark.parametrize("way", ["the gate", "can_use_tool", "can_use_tool_for"])
def test_a_person_is_asked(place: World, serve: Serve, gate: OpenGate, way: str, approve: bool) -> None:
    seen: list[str] = []

    async def native(tool: str, given: dict[str, Any], context: ToolPermissionContext) -> Any:
        seen.append(f"{tool} {given['command']} {context.decision_reason}")
        return PermissionResultAllow() if approve else PermissionResultDeny(message="not today")

    def ask(question: Question) -> tuple[bool, str]:
        seen.append(f"{question.tool} {question.tool_input['command']} {question.reasons}")
        return approve, "not today"

    model = serve(Script.of(bash(ASKED)))
    chosen = options(place, model)
    if way == "the gate":
        chosen = gated(chosen, gate(ask=ask))
    else:
        asks = native if way == "can_use_tool" else can_use_tool_for(ask)
        chosen = gated(dataclasses.replace(chosen, can_use_tool=asks, permission_mode="default"), gate(ask="wait"))
    run(chosen)
    assert (place.project / "notes.txt").exists() is not approve
    (asked,) = seen
    assert asked.startswith(f"Bash {ASKED}")
    assert "removes the whole project" in asked
    assert ("not today" in model.result(0).text) is not approve


def test_nobody_to_ask(place: World, serve: Serve, gate: OpenGate) -> None:
    model = serve(Script.of(bash(ASKED)))
    run(gated(options(place, model), gate(ask="deny")))
    assert (place.project / "notes.txt").exists()


# ---------------------------------------------------------------- what goes wrong
@pytest.mark.parametrize("part", ["configure", "clock"])
def test_a_gate_that_fails_blocks_and_withholds(
    place: World, serve: Serve, gate: OpenGate, part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = False

    def opened(*given: Any, **said: Any) -> Parts:
        parts = open_parts(*given, **said)
        whole = getattr(parts, part)

        def breaks(*arguments: Any) -> Any:
            if broken:
                raise ZeroDivisionError
            return whole(*arguments)

        return parts._replace(**{part: breaks})

    def breaking() -> None:
        nonlocal broken
        broken = True

    monkeypatch.setattr("lockgate.clients.sdk.gate.open_parts", opened)
    script = Script.of(bash("cat notes.txt"), bash("touch made.txt"))
    turns = list(script.conversations[""])
    turns[1] = dataclasses.replace(turns[1], before=breaking)
    model = serve(Script({"": turns}))
    run(gated(options(place, model), gate()))
    assert "first line" in model.result(0).text
    assert not (place.project / "made.txt").exists()
    assert "could not decide and blocks to be safe" in model.result(1).text


def test_a_closed_gate_blocks(place: World, serve: Serve, gate: OpenGate) -> None:
    model = serve(Script.of(bash("touch made.txt")))
    opened = gate()
    chosen = gated(options(place, model), opened)
    opened.close()
    run(chosen)
    assert not (place.project / "made.txt").exists()


def test_options_are_gated_once_and_keep_their_own_hooks(place: World, serve: Serve, gate: OpenGate) -> None:
    heard: list[str] = []

    async def own(payload: Any, *_: Any) -> Any:
        heard.append(payload["tool_name"])
        return {}

    given = options(place, serve(Script.of(Call("Bash", {"command": "ls"}))))
    given.hooks = {"PreToolUse": [HookMatcher(hooks=[own])]}
    opened = gate()
    twice = gated(gated(given, opened), opened)
    assert twice.hooks is not None
    assert len(given.hooks["PreToolUse"]) == 1
    assert len(twice.hooks["PreToolUse"]) == 2
    assert len(twice.hooks["PostToolUse"]) == 1
    assert all(matcher[0].on_failure == "block" for matcher in hooks_for(opened).values())
    run(twice)
    assert heard == ["Bash"]


def test_an_agent_that_works_elsewhere(place: World, serve: Serve, gate: OpenGate) -> None:
    with pytest.raises(LockgateError, match="was opened for"):
        gated(options(place, serve(Script.of()), cwd=place.root), gate())
