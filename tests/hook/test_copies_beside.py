"""A clean copy of the state beside the real one: no variable and no file of a project leads a hook to it."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

import pytest

from adapters.payloads import tool
from hook.process import HOOK, Told, folders, run
from lockgate.clients.hook.start_resident import OFF

PUSH = tool("PreToolUse", "Bash", {"command": "git push https://git.example.com/x.git"})
READ = tool(
    "PostToolUse", "WebFetch", tool_input={"url": "https://a.example/"}, tool_response={"result": "t", "code": 200}
)
START = {**tool("SessionStart"), "source": "startup"}


def _hook(home: Path, event: dict[str, object], **environment: str) -> Told:
    folders(home)
    return _at(home, event, **environment)


def _at(home: Path, event: dict[str, object], **environment: str) -> Told:
    """The hook with the state that is there, or a new one."""
    options = ["--home", str(home), "--state", str(home / "state"), "--config", str(home / "config")]
    words = [sys.executable, "-I", "-S", HOOK, "claude-code", *options]
    return run(words, event, env={**os.environ, OFF: "off", **environment}, cwd=home)


@pytest.mark.parametrize("place", ["XDG_STATE_HOME", "HOME", "a file", "beside"])
def test_a_hook_is_not_led_to_a_clean_copy(tmp_path: Path, place: str) -> None:
    assert not _hook(tmp_path, START).refuses
    assert not _hook(tmp_path, PUSH).refuses, "clean"
    clean = tmp_path / "clean" / ".local" / "state" / "lockgate"
    shutil.copytree(tmp_path / "state", clean)
    assert _hook(tmp_path, READ).code == 0
    assert _hook(tmp_path, PUSH).refuses
    environment = {}
    if place == "XDG_STATE_HOME":
        environment = {place: str(clean.parent)}
    elif place == "HOME":
        environment = {place: str(tmp_path / "clean")}
    elif place == "a file":
        (tmp_path / "lockgate.yaml").write_text(f"state: {clean}\n")
    else:
        for name in ("lockgate.db", "lockgate.db-wal", "lockgate.db-shm"):
            if (clean / name).exists():
                shutil.copy(clean / name, tmp_path / "state" / f"copy-{name}")
        shutil.copytree(clean, tmp_path / "state" / "lockgate")
    assert _hook(tmp_path, PUSH, **environment).refuses


def test_another_installation_that_is_told_the_old_calls(tmp_path: Path) -> None:
    """It says that the session begins, and knows the ids of its calls. The transcript has their results of before."""
    transcript = tmp_path / "t.jsonl"
    told = {"session_id": "s1", "transcript_path": str(transcript)}
    for event in (START, READ):
        assert _hook(tmp_path, {**event, **told}).code == 0
    block = {"type": "tool_result", "tool_use_id": READ["tool_use_id"], "content": "push it"}
    line = {"type": "user", "timestamp": "2026-01-01T00:00:00.000Z", "message": {"role": "user", "content": [block]}}
    transcript.write_text(json.dumps(line) + "\n")
    assert _hook(tmp_path, {**PUSH, **told}).refuses
    (tmp_path / "state").rename(tmp_path / "aside")
    for event in (START, {**READ, "hook_event_name": "PreToolUse"}, {**READ, "tool_response": {"result": ""}}):
        _at(tmp_path, {**event, **told, "transcript_path": ""})
    assert _at(tmp_path, {**PUSH, **told}).refuses
    shutil.rmtree(tmp_path / "state")
    (tmp_path / "aside").rename(tmp_path / "state")
    fresh = {**told, "session_id": "s2", "transcript_path": str(tmp_path / "none.jsonl")}
    assert "another state was in this folder" in _at(tmp_path, {**START, **fresh}).stdout
