"""A request that cannot be begun, answered or even refused ends no gate: its hook decides by itself."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate.clients.hook.answer import EventRequest
from lockgate.clients.wire import resident as wire
from lockgate.service.resident.decider import Decider, NotHere
from lockgate.system.folders import Folders
from support.prepared import give_state


@pytest.fixture
def decider(tmp_path: Path) -> Iterator[Decider]:
    give_state(tmp_path / "state")
    (tmp_path / "project").mkdir()
    made = Decider(Folders(str(tmp_path / "home"), str(tmp_path / "state"), str(tmp_path / "config")))
    yield made
    made.close()


def asked(decider: Decider, payload: bytes, *, folders: bool = True) -> wire.HookRequest:
    home, state, config = decider._where
    words = ("claude-code", "--state", state, "--event", "PostToolUse")
    if folders:
        words += ("--home", home, "--config", config)
    return wire.HookRequest(1, words, {}, payload)


def came_back(result: Any) -> bytes:
    fields = {"session_id": "s", "cwd": "/w", "transcript_path": "", "hook_event_name": "PostToolUse"}
    fields |= {"tool_name": "mcp__x__y", "tool_use_id": "c1"}
    head = json.dumps({**fields, "tool_input": {}}).removesuffix("}")
    return f'{head}, "tool_response": {result}}}'.encode()


def test_results_that_are_nested_too_deep_for_something(decider: Decider) -> None:
    limit = sys.getrecursionlimit()
    for depth in (*range(limit - 150, limit + 20, 5), 20 * limit):
        text = '{"a": ' * depth + '"sk_live_' + "4eC39HqLyjWDarjtT1zdp7dc" + '"' + "}" * depth
        work = decider.begin(asked(decider, came_back(text)), 1)
        try:
            found = decider.step(work)
        except NotHere:
            continue
        assert isinstance(found, tuple)
        assert "4eC39HqLyjWDarjtT1zdp7dc" not in found[0]
        # Where the record cannot be written without its texts, only the client can be told.
        assert "[REDACTED:" in found[0] or found[2] == 2 or "blocks to be safe" in found[0]


def test_a_refusal_that_cannot_be_spelt(decider: Decider, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise RecursionError

    monkeypatch.setattr(EventRequest, "spell_failure", fails)
    with pytest.raises(NotHere):
        decider.step(decider.begin(asked(decider, b"{"), 1))


def test_a_user_whom_the_system_does_not_know(decider: Decider, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: int) -> None:
        raise KeyError("uid not found")

    monkeypatch.setattr("pwd.getpwuid", fails)
    with pytest.raises(NotHere):
        decider.begin(asked(decider, b"{}", folders=False), 1)
