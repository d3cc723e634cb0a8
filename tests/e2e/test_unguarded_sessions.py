"""A session of a real client without the gate's hooks is found by what the client itself wrote of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from e2e.harness.clients import versions
from e2e.harness.other_models import ChatModel, GeminiModel, ResponsesModel
from e2e.harness.other_worlds import CodexWorld, CopilotWorld, GeminiWorld, OpenCodeWorld
from e2e.harness.script import Call, Script
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.world import World
from support.gates import end_gates

CHAT = Call("bash", {"command": "echo hi", "description": "step"})
CLIENTS = [
    pytest.param(CodexWorld, ResponsesModel, Call("exec_command", {"cmd": "echo hi"}), "codex_exec", id="codex"),
    pytest.param(
        GeminiWorld,
        GeminiModel,
        Call("run_shell_command", {"command": "echo hi", "description": "s"}),
        "",
        id="gemini-cli",
    ),
    pytest.param(CopilotWorld, ChatModel, CHAT, "copilot-agent", id="copilot-cli"),
    pytest.param(OpenCodeWorld, ChatModel, CHAT, "", id="opencode"),
]


def _doctor(world: World) -> tuple[int, list[dict[str, Any]]]:
    command = [sys.executable, "-m", "lockgate", "doctor", "--sessions", "--json"]
    done = subprocess.run(command, cwd=world.home, env=world.environment, capture_output=True, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout)["checks"]


def _is_found(world: World, client: str, surface: str) -> None:
    code, (check,) = _doctor(world)
    where = f" on {surface}" if surface else ""
    expected = f"{client}{where}: 1 of 1 calls ran without the gate, the last at "
    assert (code, check["says"][: len(expected)], check["mend"]) == (1, expected, f"run: lockgate install {client}")


@pytest.mark.parametrize(("kind", "model", "call", "surface"), CLIENTS)
def test_a_session_without_hooks_is_named(tmp_path: Path, kind: Any, model: Any, call: Call, surface: str) -> None:
    world = kind(tmp_path.resolve(), "")
    world.install()
    for guarded in (True, False):
        with model(Script.of(call)) as answers:
            world.ask(answers)
            assert "hi" in answers.result(0)
        if guarded:
            assert [check["state"] for check in _doctor(world)[1]] == ["ok"]
            world.lockgate("uninstall", world.client)
    _is_found(world, world.client, surface)
    end_gates(world.home / ".local" / "state" / "lockgate")


@pytest.mark.parametrize("version", versions())
def test_claude_code_without_hooks_is_named(tmp_path: Path, version: str) -> None:
    world = World(tmp_path.resolve(), version)
    world.install()
    for guarded in (True, False):
        with ScriptedModel(Script.of(Call("Bash", {"command": "echo hi"}))) as answers:
            world.run(answers)
        if guarded:
            assert [check["state"] for check in _doctor(world)[1]] == ["ok"]
            world.lockgate("uninstall", world.client)
    _is_found(world, world.client, "sdk-cli")
    end_gates(world.home / ".local" / "state" / "lockgate")
