"""Hook payloads in the shapes that Claude Code 2.1.197 and 2.1.329 send, made up from parts."""

from __future__ import annotations

from typing import Any

SESSION = "6d0f7c7e-52f4-4f43-9d3c-2f7a1c1f0a11"
TRANSCRIPT = f"/h/me/.claude/projects/-w-app/{SESSION}.jsonl"


def payload(event: str, **fields: Any) -> dict[str, Any]:
    """What every event carries, and these fields; a field that is ``...`` is left out."""
    common = {
        "session_id": SESSION,
        "transcript_path": TRANSCRIPT,
        "cwd": "/w/app",
        "hook_event_name": event,
    }
    return {name: value for name, value in {**common, **fields}.items() if value is not ...}


def tool(event: str, name: str = "Bash", tool_input: Any = None, **fields: Any) -> dict[str, Any]:
    """An event about a tool."""
    given = {"command": "ls -l", "description": "list"} if tool_input is None else tool_input
    usual = {
        "prompt_id": "0d6b",
        "permission_mode": "bypassPermissions",
        "effort": {"level": "medium"},
        "tool_name": name,
        "tool_input": given,
        "tool_use_id": "toolu_01",
    }
    return payload(event, **{**usual, **fields})


def shell_result(stdout: str = "", stderr: str = "") -> dict[str, Any]:
    return {"stdout": stdout, "stderr": stderr, "interrupted": False, "isImage": False, "noOutputExpected": False}


DENYING = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "ConfigChange")
"""Events whose answer can refuse."""

WHOLE = {
    "PreToolUse": tool("PreToolUse"),
    "PostToolUse": tool("PostToolUse", tool_response=shell_result("total 0"), duration_ms=8),
    "PostToolUseFailure": tool("PostToolUseFailure", error="Exit code 3\nout\nerr", is_interrupt=False, duration_ms=25),
    "PermissionDenied": tool("PermissionDenied", reason="not in auto mode"),
    "PostToolBatch": payload("PostToolBatch", tool_calls=[], permission_mode="default"),
    "Stop": payload("Stop", stop_hook_active=False, last_assistant_message="end", permission_mode="default"),
    "UserPromptSubmit": payload("UserPromptSubmit", prompt="please fix the tests", permission_mode="default"),
    "SessionStart": payload("SessionStart", source="startup"),
    "SessionEnd": payload("SessionEnd", reason="clear"),
    "SubagentStart": payload("SubagentStart", agent_id="acecac87cd1f6392e", agent_type="general-purpose"),
    "SubagentStop": payload(
        "SubagentStop",
        agent_id="acecac87cd1f6392e",
        agent_type="general-purpose",
        stop_hook_active=False,
        last_assistant_message="done",
    ),
    "ConfigChange": payload("ConfigChange", source="user_settings", file_path="/h/me/.claude/settings.json"),
    "InstructionsLoaded": payload(
        "InstructionsLoaded", file_path="/w/app/CLAUDE.md", memory_type="Project", load_reason="session_start"
    ),
}
"""A whole payload of every event that the gate is registered for."""
