"""After `lockgate store restore`: which sessions of each client begin without labels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gate.world import World
from lockgate.clients.adapter import CLIENTS, adapter
from lockgate.core.model import Label, Subject
from lockgate.gate import Monitor
from lockgate.store.sqlite.create import copy_database
from lockgate.store.sqlite.restoring import restore
from lockgate.store.sqlite.store import SqliteStore

BOTH, NONE = frozenset(Label), frozenset[Label]()
CALLED = {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_use_id": "c"}
PROMPTED = {"hook_event_name": "UserPromptSubmit", "prompt": "do it"}
PAYLOADS: dict[str, dict[str, dict[str, Any]]] = {
    "claude-code": {"call": CALLED, "prompt": PROMPTED, "start": {"hook_event_name": "SessionStart"}},
    "codex": {"call": CALLED, "prompt": PROMPTED, "start": {"hook_event_name": "SessionStart"}},
    "gemini-cli": {
        "call": {**CALLED, "hook_event_name": "BeforeTool", "tool_name": "run_shell_command"},
        "prompt": {**PROMPTED, "hook_event_name": "BeforeAgent"},
        "start": {"hook_event_name": "SessionStart"},
    },
    "copilot-cli": {"call": {"toolName": "bash", "toolArgs": {"command": "ls"}}, "prompt": {"prompt": "do it"}},
    "cursor": {
        "call": {**CALLED, "hook_event_name": "preToolUse", "tool_name": "Shell"},
        "prompt": {**PROMPTED, "hook_event_name": "beforeSubmitPrompt"},
        "start": {"hook_event_name": "sessionStart"},
    },
    "qwen-code": {
        "call": {**CALLED, "tool_name": "run_shell_command"},
        "prompt": {**PROMPTED, "submitted_prompt": "do it"},
        "start": {"hook_event_name": "SessionStart"},
    },
    "kimi-code": {
        "call": CALLED,
        "prompt": {**PROMPTED, "prompt": [{"type": "text", "text": "do it"}]},
        "start": {"hook_event_name": "SessionStart"},
    },
    "pi": {
        "call": {**CALLED, "hook_event_name": "tool_call", "tool_name": "bash", "has_ui": True},
        "prompt": {**PROMPTED, "hook_event_name": "input", "source": "interactive"},
        "start": {"hook_event_name": "session_start"},
    },
    "opencode": {
        "call": {**CALLED, "hook_event_name": "tool.execute.before", "tool_name": "bash"},
        "prompt": {**PROMPTED, "hook_event_name": "chat.message"},
        "start": {"hook_event_name": "session.created"},
    },
    "cline": {
        "call": {
            **CALLED,
            "hook_event_name": "before_tool",
            "tool_name": "run_commands",
            "tool_input": {"commands": ["ls"]},
        },
        "prompt": {**PROMPTED, "hook_event_name": "prompt", "typed": True},
        "start": {"hook_event_name": "session_start"},
    },
}
PAYLOADS["kilo"] = PAYLOADS["opencode"]
SAYS_HOW = {"claude-code", "codex", "gemini-cli", "copilot-cli", "qwen-code", "kimi-code", "pi"}
"""Clients that say how a session begins. In the others no event comes before the beginning of a new one."""
TELLS_NO_TRANSCRIPT = {"kimi-code"}
"""Of those, the ones of which only the beginning itself can say that there was nothing before."""
NEW = {"copilot-cli": "new"}
CASES: dict[str, tuple[tuple[str, ...], frozenset[Label]]] = {
    "a call first": (("call",), BOTH),
    "a prompt first": (("prompt", "call"), BOTH),
    "it begins": (("startup", "prompt", "call"), NONE),
    "it is resumed": (("resume", "prompt", "call"), BOTH),
    "its beginning is told late": (("prompt", "startup", "call"), NONE),
    "that it is resumed is told late": (("prompt", "resume", "call"), BOTH),
}


def _payload(client: str, event: str, transcript: str) -> dict[str, Any]:
    who = {"copilot-cli": {"sessionId": "s"}, "cursor": {"conversation_id": "s", "workspace_roots": ["/w"]}}
    told = {**who.get(client, {"session_id": "s"}), "cwd": "/w", "transcript_path": transcript}
    if event not in ("startup", "resume"):
        return {**told, **PAYLOADS[client][event]}
    how = NEW.get(client, event) if event == "startup" else event
    return {**told, **PAYLOADS[client].get("start", {}), "source": how, "reason": how}


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A machine whose state is a restored copy, which does not know the session."""
    world = World(tmp_path)
    copy = str(tmp_path / "copy.db")
    copy_database(str(tmp_path / "state" / "lockgate.db"), copy)
    world.store.close()
    restore(str(tmp_path / "state"), copy, lambda *_: None)
    world.store = SqliteStore.open(str(tmp_path / "state"))
    return world


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_session_without_its_transcript(world: World, client: str, name: str) -> None:
    events, labels = CASES[name]
    if client not in SAYS_HOW:
        labels = NONE if events[0] in ("startup", "resume") else BOTH
    if client in TELLS_NO_TRANSCRIPT and events[0] == "prompt":
        labels = BOTH
    gate = Monitor(world._monitor().parts._replace(history=adapter(client).has_history))
    for event in events:
        decoded = adapter(client).decode(_payload(client, event, str(world.folder / "gone.jsonl")), {})
        assert decoded is not None
        gate.handle(decoded)
    with world.store.reading() as tx:
        assert tx.labels(Subject("s")) == labels
