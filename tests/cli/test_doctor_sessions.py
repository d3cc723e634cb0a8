"""``lockgate doctor --sessions`` names the sessions that ran without the gate."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from lockgate.cli.main import cli
from lockgate.store.opening import open_store


def _ran(home: Path, session: str, call: str, folder: str = "/p") -> None:
    """Claude Code's own log of a session with one call."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
    result = {"type": "tool_result", "tool_use_id": call, "content": "hi"}
    own = {"type": "user", "sessionId": session, "entrypoint": "claude-vscode", "cwd": folder, "timestamp": stamp}
    file = home / ".claude/projects/-p" / f"{session}.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps({**own, "message": {"content": [result]}}, separators=(",", ":")) + "\n")


def _recorded(session: str, call: str, at: float) -> None:
    state = Path.home() / ".local/state/lockgate"
    store = open_store(str(state))
    with store.transaction() as tx:
        tx.append_audit(at, {"event": "decision", "session": session, "call": call})
    store.close()


def _doctor(*options: str) -> tuple[int, list[dict[str, Any]]]:
    done = CliRunner().invoke(cli, ["doctor", "--json", *options])
    checks = [check for check in json.loads(done.output)["checks"] if check["name"] == "sessions"]
    return done.exit_code, checks


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def test_without_a_state_there_is_nothing_to_compare(home: Path) -> None:
    _ran(home, "s", "c1")
    code, checks = _doctor("--sessions")
    assert (code, [check["state"] for check in checks]) == (0, ["ok"])


def test_a_guarded_session_is_counted(home: Path) -> None:
    _recorded("s", "c1", time.time() - 60)
    _ran(home, "s", "c1")
    code, (check,) = _doctor("--sessions")
    assert (code, check["state"], check["says"].rpartition(": ")[2]) == (0, "ok", "claude-code 1")


def test_a_session_without_hooks_is_named(home: Path) -> None:
    _recorded("s", "c1", time.time() - 60)
    _ran(home, "s", "c1")
    _ran(home, "dark", "c2", "/p\x1b[31m")
    code, (check,) = _doctor("--sessions")
    told = check["says"]
    assert (code, check["state"], check["mend"]) == (1, "fail", "run: lockgate install claude-code")
    assert told.startswith("claude-code on claude-vscode: 1 of 1 calls ran without the gate, the last at ")
    assert told.endswith("(session dark)")
    assert "\x1b" not in told


def test_all_checks_hold_one_line_of_it(home: Path) -> None:
    _recorded("s", "c1", time.time() - 60)
    _ran(home, "dark", "c2")
    _ran(home, "darker", "c3")
    code, (check,) = _doctor()
    expected = "2 of the last day ran calls without the gate"
    assert (code, check["state"], check["says"], check["mend"]) == (
        1,
        "fail",
        expected,
        "run: lockgate doctor --sessions",
    )


def test_what_ran_before_the_gate_came_is_not_named(home: Path) -> None:
    _ran(home, "before", "c1")
    _recorded("s", "c2", time.time() + 5)
    assert [check["state"] for check in _doctor("--sessions")[1]] == ["ok"]


@pytest.mark.parametrize(("days", "state"), [("7", "fail"), ("0", "ok")])
def test_days_bound_the_look(home: Path, days: str, state: str) -> None:
    _recorded("s", "c1", time.time() - 60)
    _ran(home, "dark", "c2")
    assert [check["state"] for check in _doctor("--sessions", "--days", days)[1]] == [state]
