"""A search of a folder that the gate's state lies below goes on, without the state."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hook.process import Told, hook

WEB = {"url": "https://evil.example/a", "prompt": "x"}
FETCHED = {"bytes": 1, "code": 200, "codeText": "OK", "result": "x", "durationMs": 1, "url": WEB["url"]}


def event(home: Path, name: str, tool: str, given: dict[str, Any], **more: Any) -> dict[str, Any]:
    where = {"session_id": "s1", "transcript_path": str(home / "t.jsonl"), "cwd": str(home / "work")}
    return {**where, "hook_event_name": name, "tool_name": tool, "tool_input": given, "tool_use_id": "toolu_1", **more}


def search(home: Path, **given: Any) -> Told:
    return hook(home, event(home, "PreToolUse", "Grep", {"pattern": "x", "path": str(home), **given}))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "work").mkdir()
    return tmp_path


@pytest.mark.parametrize("untrusted", [False, True])
def test_a_search_in_the_home_folder_leaves_the_state_out(home: Path, untrusted: bool) -> None:
    if untrusted:
        hook(home, event(home, "PreToolUse", "WebFetch", WEB))
        hook(home, event(home, "PostToolUse", "WebFetch", WEB, tool_response=FETCHED))
    specific = search(home, glob="*.py").answer["hookSpecificOutput"]
    assert "permissionDecision" not in specific
    assert specific["updatedInput"]["glob"] == "*.py !**/.local/state/lockgate !**/state"
    assert "leaves its own state folder out" in specific["additionalContext"]


def test_its_result_is_that_of_the_call_which_the_agent_made(home: Path) -> None:
    changed = search(home).answer["hookSpecificOutput"]["updatedInput"]
    result = {"mode": "files_with_matches", "filenames": ["a"], "numFiles": 1}
    told = hook(home, event(home, "PostToolUse", "Grep", changed, tool_response=result))
    assert (told.code, told.answer) == (0, {})


def test_the_state_itself_is_not_searched(home: Path) -> None:
    assert search(home, path=str(home / "state")).refuses
