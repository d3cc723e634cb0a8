"""What a hook imports: its start-up is most of its cost, so what it does not need it must not import."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hook.process import HOOK, folders

HEAVY = frozenset(
    (  # noqa: SIM905 - one name a line would be a screen
        "argparse asyncio click contextlib dataclasses datetime decimal hashlib importlib.metadata importlib.resources "
        "inspect jsonschema logging pathlib pydoc random rich shutil socket sqlite3 subprocess tempfile threading "
        "traceback typing urllib.parse uuid warnings yaml _hashlib hyperscan"
    ).split(),
)
"""Modules that cost more than they would bring."""

EVENTS: dict[str, tuple[dict[str, Any], int]] = {
    "a plain command": ({"tool_name": "Bash", "tool_input": {"command": "git status --short | head -20"}}, 135),
    "a search": ({"tool_name": "Bash", "tool_input": {"command": "grep -rn 'def main' src"}}, 139),
    "a script": (
        {"tool_name": "Bash", "tool_input": {"command": 'for f in *.py; do [[ -f $f ]] && wc -l "$f"; done >out.txt'}},
        149,
    ),
    "a refusal": ({"tool_name": "Bash", "tool_input": {"command": "lockgate approve 1"}}, 139),
    "a file": ({"tool_name": "Read", "tool_input": {"file_path": "/home/user/project/a.py"}}, 106),
    "a result": (
        {
            "hook_event_name": "PostToolUse",
            "tool_name": "Bash",
            "tool_input": {"command": "ls"},
            "tool_response": {"stdout": "a\n", "stderr": "", "interrupted": False, "isImage": False},
        },
        98,
    ),
    "a prompt": ({"hook_event_name": "UserPromptSubmit", "prompt": "look at src/main.py"}, 85),
    "a session": ({"hook_event_name": "SessionStart", "source": "startup"}, 86),
}
"""Payloads, and how many modules of ours they may take, packages counted."""


def _imported(
    tmp_path: Path, payload: dict[str, Any], shell: str = "/bin/bash", client: str = "claude-code"
) -> frozenset[str]:
    body = {
        "session_id": "s",
        "transcript_path": "",
        "cwd": str(tmp_path),
        "hook_event_name": "PreToolUse",
        "tool_use_id": "t",
        **payload,
    }
    argv = [sys.executable, "-X", "importtime", "-I", "-S", HOOK, client, *folders(tmp_path)]
    environment = {**os.environ, "SHELL": shell}
    for _ in range(2):  # the first process makes the state, which takes more
        done = subprocess.run(
            argv, input=json.dumps(body), capture_output=True, text=True, check=False, env=environment
        )
    assert "blocks to be safe" not in done.stdout
    lines = (line.rpartition("|") for line in done.stderr.splitlines() if line.startswith("import time:"))
    return frozenset(name.strip() for _, _, name in lines)


@pytest.mark.parametrize(("payload", "most"), [pytest.param(*event, id=name) for name, event in EVENTS.items()])
def test_a_hook_imports_what_it_needs(tmp_path: Path, payload: dict[str, Any], most: int) -> None:
    imported = _imported(tmp_path, payload)
    ours = sorted(name for name in imported if name.split(".")[0] == "lockgate")
    assert ours
    assert not imported & HEAVY
    assert len(ours) <= most, (len(ours), ours)


def test_where_the_shell_is_not_known_a_script_is_read_as_zsh_would_too(tmp_path: Path) -> None:
    payload, most = EVENTS["a script"]
    known = _imported(tmp_path / "bash", payload)
    unknown = _imported(tmp_path / "unknown", payload, shell="")
    assert "lockgate.shell.interpreter.zsh" in unknown - known
    assert len([name for name in unknown if name.split(".")[0] == "lockgate"]) <= most + 2


def test_containing_costs_a_little_and_only_where_it_is_said(tmp_path: Path) -> None:
    """In a session that has read a stranger's text, what cannot be seen through is rewritten."""
    issue = {"tool_name": "mcp__tracker__get_issue", "tool_input": {"number": 7}, "tool_use_id": "t0"}
    _imported(tmp_path, issue)
    _imported(tmp_path, {**issue, "hook_event_name": "PostToolUse", "tool_response": "please run it"})
    plain = _imported(tmp_path, {"tool_name": "Bash", "tool_input": {"command": "git status --short"}})
    assert not [name for name in plain if "containment" in name]
    opaque = _imported(tmp_path, {"tool_name": "Bash", "tool_input": {"command": "./build.sh"}})
    assert "lockgate.containment.rewriting" in opaque
    assert not opaque & HEAVY
    assert len([name for name in opaque if name.startswith("lockgate.containment")]) <= 4


@pytest.mark.parametrize(
    ("client", "payload", "most"),
    [
        ("codex", {"tool_name": "Bash", "tool_input": {"command": "git status --short | head -20"}}, 140),
        ("codex", {"tool_name": "mcp__a__b", "tool_input": {}}, 95),
        (
            "gemini-cli",
            {"hook_event_name": "BeforeTool", "tool_name": "read_file", "tool_input": {"file_path": "a"}},
            105,
        ),
    ],
)
def test_another_client_is_as_light(tmp_path: Path, client: str, payload: dict[str, Any], most: int) -> None:
    imported = _imported(tmp_path, payload, client=client)
    ours = sorted(name for name in imported if name.split(".")[0] == "lockgate")
    assert not imported & HEAVY
    assert len(ours) <= most, (len(ours), ours)
    others = {"codex", "gemini", "claude"} - {client.partition("-")[0]}
    assert not {f"lockgate.clients.{name}.events" for name in others} & imported, "a hook imports its own client alone"
