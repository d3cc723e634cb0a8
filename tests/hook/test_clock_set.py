"""The clock of the machine is set back or forward by days, while sessions run: by real hooks and a real gate."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from hook.process import HOOK, Told, folders, run
from hook.test_waiting_for_people import Machine
from lockgate.cli.approvals.find import open_questions
from lockgate.clients.hook.start_resident import OFF, arguments
from lockgate.clients.wire.resident_control import look
from lockgate.store.audit.chain import verify_store
from lockgate.store.files import PUT_BACK
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.folders import Folders
from support.clock import Clock

pytestmark = pytest.mark.slow

DAYS = (0, 30, -30, -3650, 0, 400, 0)
PUSH = {"command": "git push https://git.example.com/x.git"}
PAGE = {"tool_input": {"url": "https://example.org/"}, "tool_response": {"result": "text", "code": 200}}
SOON = 10.0
"""Seconds in which a hook that waits has seen that it waits for nothing any more."""


@pytest.fixture
def clock(tmp_path: Path) -> Clock:
    """The clock."""
    return Clock(tmp_path / "clock")


@pytest.fixture(params=[True, False], ids=["gate", "no gate"])
def environ(tmp_path: Path, clock: Clock, request: pytest.FixtureRequest) -> Iterator[dict[str, str]]:
    """The variables of hooks that ask a gate with the same clock, or decide by themselves."""
    env = {"HOME": str(tmp_path), "PATH": os.environ["PATH"], **clock.environ}
    if not request.param:
        yield {**env, OFF: "off"}
        return
    _, home, _, state, _, config = folders(tmp_path)
    where = Folders(home, state, config)
    gate = subprocess.Popen([sys.executable, *arguments(where)], env=env, stdin=subprocess.DEVNULL)
    try:
        while not look(where.state).answers:
            assert gate.poll() is None
            time.sleep(0.05)
        yield env
    finally:
        gate.kill()
        gate.wait()


def test_labels_and_the_audit_hold(tmp_path: Path, clock: Clock, environ: dict[str, str]) -> None:
    command = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(tmp_path)]

    def says(session: str, event: str, name: str, **facts: Any) -> Told:
        payload = tool(event, name, **facts)
        return run(command, {**payload, "session_id": session, "cwd": str(tmp_path)}, env=environ)

    begun: list[str] = []
    for number, days in enumerate(DAYS):
        clock.set(days)
        session = f"s{number}"
        start = {"hook_event_name": "SessionStart", "source": "startup", "session_id": session, "cwd": str(tmp_path)}
        run(command, start, env=environ)
        assert says(session, "PreToolUse", "Bash", tool_input=PUSH) == (0, "", ""), "it has read nothing"
        assert says(session, "PostToolUse", "WebFetch", **PAGE).code == 0
        begun.append(session)
        assert [each for each in begun if not says(each, "PreToolUse", "Bash", tool_input=PUSH).refuses] == []
        assert says(begun[0], "PreToolUse", "Bash", tool_input={"command": "ls"}) == (0, "", "")
    with closing(SqliteStore.open(str(tmp_path / "state"))) as store, store.reading() as tx:
        assert verify_store(tx, store.key).ok
        assert tx.setting(PUT_BACK) is None


@pytest.mark.parametrize("days", [2, -2], ids=["forward", "back"])
def test_a_hook_waits_for_no_answer_that_would_not_count(
    tmp_path: Path, clock: Clock, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is listed can be answered: a question of a time that is not any more is over, and its hook says so."""
    machine = Machine(tmp_path)
    machine.approvals_are("{headless: wait}")
    with monkeypatch.context() as patch:
        for name, value in clock.environ.items():
            patch.setenv(name, value)
        process = machine.begin()
    machine.asked()
    with closing(SqliteStore.open(machine.state)) as store:
        assert len(open_questions(store)) == 1
        monkeypatch.setattr(store, "clock", lambda: time.time() + days * 86_400)
        assert open_questions(store) == []
    clock.set(days)
    began = time.monotonic()
    told = machine.end(process)
    assert time.monotonic() - began < SOON
    assert told["permissionDecision"] == "deny"
    assert "nobody answered in time" in told["permissionDecisionReason"]
