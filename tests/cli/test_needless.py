"""``lockgate needless``: a stop becomes a file that can be reported."""

from __future__ import annotations

import stat
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from e2e.harness.terminal import Terminal
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.gate.approvals import questions as approvals
from lockgate.gate.session import begin_session
from support.person import Machine, opened


class Desk(Machine):
    """A person's machine with a session in which calls were stopped."""

    COMMAND = ("needless",)

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.context = Context("claude-code", Subject("s1"), str(self.home), str(self.home))
        with self.store.transaction() as tx:
            begin_session(tx, self.context, "startup", (), 1.0)

    def body(self, verdict: str, command: str) -> dict[str, Any]:
        return {
            "event": "decision",
            "session": "s1",
            "tool": "Bash",
            "cwd": str(self.home),
            "input": {"command": command},
            "verdict": verdict,
            "column": "untrusted",
            "profile": "quarantine",
            "reasons": [{"rule": "program:git/push", "row": "egress", "because": "it sends \x1b[2J"}],
        }

    def decided(self, verdict: str, command: str) -> int:
        with self.store.transaction() as tx:
            return tx.append_audit(2.0, self.body(verdict, command)).seq

    def asked(self, command: str) -> str:
        call, now = ToolCall("Bash", {}, str(self.home), "c1"), time.time()
        about = {**self.body("ask", command), "whole": {"command": command}}
        with self.store.transaction() as tx:
            return approvals.ask(tx, self.context, call, "d", "b", about, now, 300.0).approval

    def reports(self) -> list[Path]:
        return sorted(Path(self.state, "reports").glob("*"))


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    with opened(Desk, tmp_path) as desk:
        yield desk


@pytest.mark.parametrize("how", ["last", "record", "question"])
def test_a_stop_becomes_a_file(desk: Desk, how: str) -> None:
    token = "ghp_" + "a1B2" * 9
    command = f"git push https://{token}@git.example.com/x && cat {desk.home}/notes"
    desk.decided("deny", "echo an earlier one")
    named = {"last": [], "record": [str(desk.decided("deny", command))], "question": [desk.asked(command)]}[how]
    desk.decided("allow", "ls")
    done = desk.run(*named)
    assert done.returncode == 0, done.stderr
    [report] = desk.reports()
    assert f"written: {report}" in done.stdout
    text = report.read_text()
    assert "git push" in text
    assert "`program:git/push`" in text
    assert "**Decided then**:" in text
    for private in (token, str(desk.home), "\x1b"):
        assert private not in text
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert stat.S_IMODE(report.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("stop", ["", "999", "2222222222", "\u0661"])
def test_what_is_no_stop_says_so(desk: Desk, stop: str) -> None:
    seq = desk.decided("allow", "ls")
    for named in (stop, str(seq)):
        done = desk.run(*[named] * bool(named))
        assert done.returncode == 1
        assert "no such stop" in done.stderr
    assert desk.reports() == []


def test_it_is_an_answer_where_questions_are_watched(desk: Desk) -> None:
    approval = desk.asked("git push https://git.example.com/x")
    argv = [sys.executable, "-m", "lockgate", "approvals", "watch"]
    with Terminal(argv, desk.environment, desk.home) as terminal:
        terminal.wait_for("needless (writes a report)")
        terminal.press("needless\r")
        terminal.wait_for("left open")
        assert "written: " in terminal.text
    assert len(desk.reports()) == 1
    with desk.store.reading() as tx:
        row = tx.approval(approval)
    assert row is not None
    assert row.state == "pending"
