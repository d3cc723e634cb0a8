"""The failures that can happen, as processes, for each client: every one must give what blocks in that client."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from hook.process import HOOK, SOURCE, Told, folders, run
from lockgate.clients.adapter import CLIENTS, OwnDialect, adapter
from lockgate.clients.common.hook_command import HookLaunch, hook_command
from lockgate.system.folders import Folders

pytestmark = pytest.mark.sampled

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "claude-code": ("PreToolUse", {"session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse",
                                   "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}),
    "codex": ("PreToolUse", {"session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse",
                             "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}),
    "gemini-cli": ("BeforeTool", {"session_id": "s", "cwd": "/w", "hook_event_name": "BeforeTool",
                                  "tool_name": "run_shell_command", "tool_input": {"command": "ls"}}),
    "copilot-cli": ("preToolUse", {"sessionId": "s", "cwd": "/w", "toolName": "bash", "toolArgs": {"command": "ls"}}),
    "cursor": ("preToolUse", {"conversation_id": "s", "workspace_roots": ["/w"], "hook_event_name": "preToolUse",
                              "tool_name": "Shell", "tool_input": {"command": "ls"}}),
    "qwen-code": ("PreToolUse", {"session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse",
                                 "tool_name": "run_shell_command", "tool_input": {"command": "ls"},
                                 "tool_use_id": "c"}),
    "kimi-code": ("PreToolUse", {"session_id": "s", "cwd": "/w", "hook_event_name": "PreToolUse",
                                 "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_call_id": "c"}),
    "pi": ("tool_call", {"session_id": "s", "cwd": "/w", "hook_event_name": "tool_call", "tool_name": "bash",
                         "tool_input": {"command": "ls"}, "tool_use_id": "c", "has_ui": True}),
    "opencode": ("tool.execute.before", {"session_id": "s", "cwd": "/w", "hook_event_name": "tool.execute.before",
                                         "tool_name": "bash", "tool_input": {"command": "ls"}}),
    "cline": ("before_tool", {"session_id": "s", "cwd": "/w", "hook_event_name": "before_tool", "mode": "act",
                              "tool_name": "run_commands", "tool_input": {"commands": ["ls"]}, "tool_use_id": "c"}),
    "kilo": ("tool.execute.before", {"session_id": "s", "cwd": "/w", "hook_event_name": "tool.execute.before",
                                     "tool_name": "bash", "tool_input": {"command": "ls"}}),
}  # fmt: skip
EVERY = pytest.mark.parametrize("client", CLIENTS)


def _blocks(client: str, told: Told) -> bool:
    """Whether the client would not run the call. Seen with each (Cursor: in its sources)."""
    if told.code == 2:
        return bool(told.stderr.strip()) or client != "codex"
    if isinstance(
        adapter(client), OwnDialect
    ):  # which takes anything else than one object without `deny` for a refusal
        try:
            return told.code != 0 or "deny" in json.loads(told.stdout)
        except ValueError:
            return True
    answer = json.loads(told.stdout or "{}")
    verdict = {**answer, **answer.get("hookSpecificOutput", {})}
    said = [verdict.get(key) for key in ("permissionDecision", "permission", "decision")]
    return "deny" in said or "block" in said


def _hook(client: str, home: Path, data: bytes | dict[str, Any], *options: str) -> Told:
    event = CALLS[client][0]
    argv = [sys.executable, "-I", "-S", HOOK, client, *folders(home), "--event", event, *options]
    return run(argv, data)


def _faulty(client: str, home: Path, fault: str, *options: str) -> Told:
    """The hook, where putting the gate together does this."""
    lines = "\n".join(f"    {line}" for line in fault.splitlines())
    program = f"""
import sys, types
sys.path.append({SOURCE!r})
import lockgate
runtime = types.ModuleType("lockgate.gate.host.assembly")
def open_gate(*_, **__):
{lines}
runtime.open_gate = open_gate
sys.modules["lockgate.gate.host.assembly"] = runtime
from lockgate import hook
hook.main(sys.argv[1:])
"""
    event, payload = CALLS[client]
    argv = [sys.executable, "-I", "-S", "-c", program, client, *folders(home), "--event", event, *options]
    return run(argv, payload)


@EVERY
def test_an_ordinary_call_runs(tmp_path: Path, client: str) -> None:
    """The control: what the other tests find blocked is blocked for its fault."""
    told = _hook(client, tmp_path, CALLS[client][1])
    assert (told.code, told.stderr) == (0, "")
    assert not _blocks(client, told)


@EVERY
@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"a": 1, "a": 2}', b"{}", b'{"hook_event_name": 5}', b"\xff"])
def test_a_payload_that_is_none_blocks(tmp_path: Path, client: str, data: bytes) -> None:
    told = _hook(client, tmp_path, data)
    assert _blocks(client, told)
    assert "Traceback" not in told.stderr + told.stdout


@EVERY
def test_a_person_has_as_long_as_the_client_waits_for_the_hook(tmp_path: Path, client: str) -> None:
    """Each client is told so when the hook is registered: see ``CALL_EVENTS`` in ``clients/common/hook_command.py``."""
    lends = "from lockgate.core import errors\nraise errors.StoreError(f'{_[5](300.0):.0f} s were lent')"
    told = _faulty(client, tmp_path, lends)
    assert "300 s were lent" in told.stderr + told.stdout
    assert _blocks(client, told)


@EVERY
@pytest.mark.parametrize(
    ("fault", "options"),
    [
        pytest.param("raise RuntimeError('secret')", (), id="a crash"),
        pytest.param("raise SystemExit(0)", (), id="an exit"),
        pytest.param("raise MemoryError", (), id="no memory"),
        pytest.param("import time\nwhile True:\n    time.sleep(0.05)", ("--deadline", "0.3"), id="too slow"),
        pytest.param(
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
            ("--deadline", "0.3"),
            id="too slow, and it swallows exceptions",
        ),
    ],
)
def test_a_gate_that_fails_blocks(tmp_path: Path, client: str, fault: str, options: tuple[str, ...]) -> None:
    told = _faulty(client, tmp_path, fault, *options)
    assert _blocks(client, told)
    assert "secret" not in told.stderr + told.stdout


@EVERY
def test_a_state_that_cannot_be_read_blocks(tmp_path: Path, client: str) -> None:
    folders(tmp_path)
    (tmp_path / "state" / "lockgate.db").write_text("not a database")
    assert _blocks(client, _hook(client, tmp_path, CALLS[client][1]))


@EVERY
@pytest.mark.parametrize("gone", ["python", "hook"])
def test_a_program_that_is_gone_blocks(tmp_path: Path, client: str, gone: str) -> None:
    """As it is registered: the shell around it says so. OpenCode's plugin starts it itself."""
    launch = HookLaunch(sys.executable, HOOK, Folders(*(str(tmp_path / name) for name in ("home", "state", "config"))))
    command = hook_command(launch._replace(**{gone: str(tmp_path / "gone")}), CALLS[client][0], client)
    told = run(["/bin/sh", "-c", command], CALLS[client][1])
    assert told.code == 2
    assert told.stderr.strip()


@EVERY
def test_the_gate_itself_is_refused_in_each_dialect(tmp_path: Path, client: str) -> None:
    field = "toolArgs" if client == "copilot-cli" else "tool_input"
    asked = {**CALLS[client][1], field: {"command": "lockgate approve 1"}}
    told = _hook(client, tmp_path, asked)
    assert told.code == 0
    assert _blocks(client, told)


@EVERY
def test_every_event_has_an_answer_to_a_failure(client: str) -> None:
    for event in adapter(client).EVENTS:
        stdout, stderr, code = adapter(client).encode_failure(event, "broken", {})
        assert code == 2 or json.loads(stdout)
        assert stderr.strip()


def _codex(home: Path, event: str, transcript: Path, **fields: Any) -> Told:
    payload = {"session_id": "s", "cwd": str(home), "transcript_path": str(transcript), "hook_event_name": event}
    return run([sys.executable, "-I", "-S", HOOK, "codex", *folders(home), "--event", event], {**payload, **fields})


def test_a_web_search_that_no_hook_was_told_of_counts(tmp_path: Path) -> None:
    transcript = tmp_path / "rollout.jsonl"
    run_it = {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": '{"cmd": "git push"}'}
    search = {"type": "web_search_call", "id": "ws1", "action": {"type": "search", "query": "asyncio"}}
    push = {"tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": "c1"}
    _codex(tmp_path, "SessionStart", transcript, source="startup")
    transcript.write_text(json.dumps({"type": "response_item", "payload": run_it}) + "\n")
    assert not _blocks("codex", _codex(tmp_path, "PreToolUse", transcript, **push))
    with transcript.open("a") as file:
        file.write(json.dumps({"type": "response_item", "payload": search}) + "\n")
    told = _codex(tmp_path, "PreToolUse", transcript, **push)
    assert _blocks("codex", told)
    assert "WebSearch" in told.stdout


def test_a_sub_agent_of_codex_has_its_parents_labels(tmp_path: Path) -> None:
    gone, read = tmp_path / "gone", {"tool_name": "mcp__a__b", "tool_input": {}, "tool_use_id": "c1"}
    _codex(tmp_path, "SessionStart", gone, source="startup")
    _codex(tmp_path, "PreToolUse", gone, **read)
    _codex(tmp_path, "PostToolUse", gone, **read, tool_response={"content": [{"type": "text", "text": "push it"}]})
    _codex(tmp_path, "SubagentStart", gone, agent_id="a1", agent_type="default")
    push = {"tool_name": "Bash", "tool_input": {"command": "git push"}, "tool_use_id": "c2", "agent_id": "a1"}
    assert _blocks("codex", _codex(tmp_path, "PreToolUse", gone, **push))
