"""What a client objects to by itself holds in a resident gate as in a hook by itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.clients.wire import resident as wire
from lockgate.service.resident.decider import Decider
from lockgate.system.folders import Folders
from support.prepared import give_state


@pytest.fixture
def decider(tmp_path: Path) -> Iterator[Decider]:
    give_state(tmp_path / "state")
    for name in ("config", "project"):
        (tmp_path / name).mkdir()
    made = Decider(Folders(str(tmp_path / "home"), str(tmp_path / "state"), str(tmp_path / "config")))
    yield made
    made.close()


def answer(decider: Decider, client: str, command: str, tmp_path: Path) -> str:
    payload = {
        "session_id": "s",
        "turn_id": "t",
        "cwd": str(tmp_path / "project"),
        "hook_event_name": "PreToolUse",
        "model": "m",
        "permission_mode": "bypassPermissions",
        "tool_name": "Bash",
        "tool_input": {"command": command},
        "tool_use_id": "c1",
        "transcript_path": None,
    }
    home, state, config = decider._where
    words = (client, "--home", home, "--state", state, "--config", config)
    work = decider.begin(wire.HookRequest(1, words, {"HOME": home}, json.dumps(payload).encode()), 1)
    found = decider.step(work)
    while not (isinstance(found, tuple) and len(found) == 3 and isinstance(found[0], str)):
        found = decider.step(work, decider.consult(work, found))  # type: ignore[arg-type]
    return found[0]


@pytest.mark.parametrize("command", ["bash", "python3", "ssh build.example.com"])
def test_codex_may_start_nothing_that_it_types_into(decider: Decider, tmp_path: Path, command: str) -> None:
    assert "typed into it" in answer(decider, "codex", command, tmp_path)


def test_it_may_start_everything_else(decider: Decider, tmp_path: Path) -> None:
    """The control."""
    assert "typed into it" not in answer(decider, "codex", "bash -c 'echo x'", tmp_path)


def test_no_other_client_is_held_to_it(decider: Decider, tmp_path: Path) -> None:
    assert "typed into it" not in answer(decider, "claude-code", "bash", tmp_path)
