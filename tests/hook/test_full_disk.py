"""A disk that is full while an agent works: calls are refused and say why, and label nothing that was not read."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from hook.process import HOOK, SOURCE
from lockgate.store.files import DATABASE

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap")]

_PROGRAM = """
import json, os, shutil, subprocess, sys
command, disk, prepared, events = json.loads(sys.argv[1]), *sys.argv[2:4], json.loads(sys.argv[4])
shutil.copytree(prepared, os.path.join(disk, "state"))
full = os.path.join(disk, "full")
for event in events:
    if event == "fill":
        with open(full, "wb", 0) as file:
            try:
                while file.write(bytes(4096)):
                    pass
            except OSError:
                pass
    elif event == "free":
        os.unlink(full)
    else:
        told = subprocess.run(command, input=json.dumps(event), capture_output=True, text=True)
        print(json.dumps([told.returncode, told.stdout, told.stderr]), flush=True)
"""
FETCH = {"tool_input": {"url": "https://example.org/", "prompt": "x"}}
PUSH = tool("PreToolUse", "Bash", {"command": "git push https://git.example.com/x.git"})
START = {"hook_event_name": "SessionStart", "source": "startup", "session_id": PUSH["session_id"], "cwd": "/tmp"}
LS = tool("PreToolUse", "Bash", {"command": "ls"})
RESULT = {"tool_response": {"result": "text", "code": 200}}


def _told(root: Path, *events: str | dict[str, Any]) -> list[tuple[int, str, str]]:
    """What real hooks say of events, with a small disk for the state."""
    from support.prepared import give_state

    bwrap = shutil.which("bwrap")
    assert bwrap, "bubblewrap is needed: make system"
    prepared, disk = root / "prepared", root / "disk"
    disk.mkdir()
    give_state(prepared)
    words = ["--home", str(root), "--state", str(disk / "state"), "--config", str(root / "config")]
    hook = json.dumps([sys.executable, "-I", "-S", HOOK, "claude-code", *words])
    small = [bwrap, "--dev-bind", "/", "/", "--size", "16000000", "--tmpfs", str(disk), "--"]
    done = subprocess.run(
        [*small, sys.executable, "-c", _PROGRAM, hook, str(disk), str(prepared), json.dumps(events)],
        env={**os.environ, "PYTHONPATH": SOURCE},
        cwd=root,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    return [(code, out, err) for code, out, err in map(json.loads, done.stdout.splitlines())]


def test_a_call_that_was_refused_labels_nothing(tmp_path: Path) -> None:
    fetch = tool("PreToolUse", "WebFetch", **FETCH)
    *begun, refused, after, push = _told(tmp_path, START, LS, "fill", fetch, "free", LS, PUSH)
    assert [code for code, *_ in begun] == [0, 0]
    assert (refused[0], "no room for the state in" in refused[2]) == (2, True)
    assert (after, push[1]) == ((0, "", ""), ""), "the session is clean"


def test_a_result_that_came_labels(tmp_path: Path) -> None:
    """No call of it was noted, so nothing else would."""
    result = tool("PostToolUse", "WebFetch", **FETCH, **RESULT)
    *_, told, push = _told(tmp_path, START, LS, "fill", result, "free", PUSH)
    assert "no room for the state in" in told[1] + told[2]
    assert '"deny"' in push[1]


def test_the_database_is_what_is_full(tmp_path: Path) -> None:
    """The words of the page that says what to do."""
    told = _told(tmp_path, "fill", START, LS)
    assert {code for code, *_ in told} == {2}
    assert all(DATABASE in err or "free space" in err or "no room" in err for *_, err in told), told
