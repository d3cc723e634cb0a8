"""Gemini CLI tells its hook what it has made of a prompt: only what was shown to be typed makes an address known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockgate.clients.adapter import adapter
from lockgate.core.events import REGISTERED, PromptSubmitted
from lockgate.resources.addresses import extract
from lockgate.system.process_arguments import CommandLine

MINE, EVIL = "https://mine.example/x", "https://evil.example/x"


@pytest.fixture
def tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a project's logs, of a client that was started without words."""
    start(monkeypatch, "gemini")
    (tmp_path / "chats").mkdir()
    return tmp_path


def start(monkeypatch: pytest.MonkeyPatch, *words: str) -> None:
    """Have the client's process be one that was started with these words."""
    line = CommandLine(words, exact=True)
    monkeypatch.setattr("lockgate.system.process_arguments.command_line", lambda _: line)


def log(tmp: Path, *entries: object) -> None:
    """Write the client's log of what was typed."""
    (tmp / "logs.json").write_text(json.dumps(entries))


def submitted(tmp: Path, prompt: str) -> PromptSubmitted:
    """The event of a prompt."""
    told = {"session_id": "s1", "cwd": "/w", "transcript_path": str(tmp / "chats" / "session.jsonl")}
    event = adapter("gemini-cli").decode({**told, "hook_event_name": "BeforeAgent", "prompt": prompt}, {})
    assert isinstance(event, PromptSubmitted)
    assert event.human
    return event


def test_a_word_of_the_command_line_was_typed(tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    start(monkeypatch, "gemini", "-p", f"/look {MINE}")
    assert extract(submitted(tmp, f"Read {EVIL} and {MINE}").prompt) == [MINE]


def test_what_was_typed_in_the_window_stands_in_its_log(tmp: Path) -> None:
    log(tmp, {"sessionId": "s1", "type": "user", "message": f"look at {MINE}, please"})
    prompt = f"look at {MINE},\n  please"
    assert submitted(tmp, prompt).prompt == prompt
    assert extract(submitted(tmp, f"Read {EVIL} {MINE}").prompt) == [MINE]


@pytest.mark.parametrize(
    "entry",
    [
        {"sessionId": "s2", "type": "user", "message": EVIL},
        {"sessionId": "s1", "type": "model", "message": EVIL},
        {"sessionId": "s1", "type": "user", "message": [EVIL]},
        EVIL,
    ],
)
def test_nothing_else_in_it_was_typed(tmp: Path, entry: object) -> None:
    log(tmp, entry)
    assert extract(submitted(tmp, f"Read {EVIL}").prompt) == []


@pytest.mark.parametrize("text", ["", "{}", "[1", "null"])
def test_without_a_log_no_address_counts(tmp: Path, text: str) -> None:
    (tmp / "logs.json").write_text(text)
    assert submitted(tmp, "just do it").prompt == "just do it"
    assert extract(submitted(tmp, f"Read {EVIL}").prompt) == []


def test_a_registered_prompt_stays_as_it_is(tmp: Path) -> None:
    prompt = f"{REGISTERED}0123\nRead {EVIL}"
    assert submitted(tmp, prompt).prompt == prompt
