"""Options of the configuration, where they take effect: real hook processes."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from hook.process import SOURCE, Told, folders, hook, run
from lockgate.store.rows import SessionRow
from lockgate.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.slow

CALL: dict[str, Any] = {
    "session_id": "s1",
    "cwd": "/tmp",
    "hook_event_name": "PreToolUse",
    "tool_name": "Bash",
    "tool_use_id": "t1",
    "tool_input": {"command": "ls"},
}
START: dict[str, Any] = {"session_id": "s1", "cwd": "/tmp", "hook_event_name": "SessionStart", "source": "startup"}
DAY = 86400


def configured(home: Path, text: str) -> None:
    (home / "config").mkdir()
    (home / "config" / "lockgate.yaml").write_text(text)


def slow(home: Path, seconds: float, *options: str) -> Told:
    """A hook whose analysis takes some seconds."""
    program = f"""
import sys, time
sys.path.append({SOURCE!r})
from lockgate import hook
from lockgate.gate import parts
analyse = parts.analyse
parts.analyse = lambda *arguments: (time.sleep({seconds}), analyse(*arguments))[1]
hook.main(sys.argv[1:])
"""
    return run([sys.executable, "-I", "-c", program, "claude-code", *folders(home), *options], CALL)


@pytest.mark.parametrize(
    ("configuration", "option", "says"),
    [
        pytest.param("1.5", "50", "took longer than 1.5 s", id="a shorter one is kept"),
        pytest.param("0.05", "50", "took longer than 0.05 s", id="one that has passed already refuses"),
        pytest.param("60", "2", "took longer than 2 s", id="a longer one is not given"),
    ],
)
def test_a_configured_deadline(tmp_path: Path, configuration: str, option: str, says: str) -> None:
    configured(tmp_path, f"deadline_seconds: {configuration}\n")
    told = slow(tmp_path, 30, "--deadline", option)
    assert told.refuses
    assert says in told.stderr


def test_within_the_deadline_there_is_silence(tmp_path: Path) -> None:
    configured(tmp_path, "deadline_seconds: 50\n")
    assert hook(tmp_path, CALL, "--deadline", "60").stdout == ""


def test_patterns_are_asked_when_the_libraries_are_not_on_the_path(tmp_path: Path) -> None:
    """A hook runs without the libraries of its environment, and must find them when it needs them."""
    configured(tmp_path, 'bash_patterns: {acting: ["^ls -l"]}\ntable: {egress: deny}\n')
    for _ in range(2):
        assert hook(tmp_path, CALL, "--deadline", "60").stdout == ""
        told = hook(tmp_path, CALL | {"tool_input": {"command": "ls -l"}}, "--deadline", "60")
        assert told.refuses
        assert "bash_patterns.acting[0]" in told.stdout


@pytest.mark.parametrize(
    ("text", "left"),
    [("retention_days: 10\n", {"s1", "young", "open"}), ("", {"s1", "old", "young", "open"})],
)
def test_old_sessions_are_forgotten_when_a_session_starts(tmp_path: Path, text: str, left: set[str]) -> None:
    configured(tmp_path, text)
    now = time.time()
    store = SqliteStore.open(str(tmp_path / "state"))
    with store.transaction() as tx:
        tx.append_audit(now - DAY - 1, {"event": "prompt"})  # the clock goes on since then: a time before it counts
        tx.put_session(SessionRow("old", ended_at=now - 12 * DAY))
        tx.put_session(SessionRow("young", ended_at=now - 9 * DAY))
        tx.put_session(SessionRow("open", started_at=now - 99 * DAY, seen_at=now - 99 * DAY))
    hook(tmp_path, START)
    with store.reading() as tx:
        assert {row.session for row in tx.sessions()} == left
        assert [json.loads(row.body)["event"] for row in tx.audit()] == ["prompt", "session"]
    store.close()
