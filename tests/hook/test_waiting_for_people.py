"""A hook that waits for a person: a real process, longer than its own deadline, killed and run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from hook.process import HOOK, folders
from lockgate.clients.hook.options import DEADLINE
from lockgate.configuration import load as configuration
from lockgate.gate.approvals import wakeups
from lockgate.gate.approvals.answering import answer
from lockgate.gate.approvals.waiting import WATCHERS
from lockgate.store.rows import ApprovalRow
from lockgate.store.sqlite.store import SqliteStore

pytestmark = pytest.mark.slow

PUSH = tool("PreToolUse", tool_input={"command": "git push origin main"})
PATIENCE = 40.0


class Machine:
    """A person's folders, and hooks in them."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.arguments = folders(home)
        self.state = str(home / "state")
        (home / "config").mkdir()

    def approvals_are(self, text: str) -> None:
        (self.home / "config" / "lockgate.yaml").write_text(f"table: {{egress: ask}}\napprovals: {text}\n")
        # Read here, so that no hook has to read YAML within its deadline.
        store = SqliteStore.open(self.state)
        where = {"home": str(self.home), "config_dir": str(self.home / "config"), "workspace": PUSH["cwd"]}
        assert configuration.load(store, state=self.state, **where).problems == ()
        store.close()

    def begin(self, entrypoint: str = "sdk-cli", payload: dict[str, Any] = PUSH) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "CLAUDE_CODE_ENTRYPOINT": entrypoint}
        argv = [sys.executable, "-I", "-S", HOOK, "claude-code", *self.arguments]
        process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
        assert process.stdin
        process.stdin.write(json.dumps(payload).encode())
        process.stdin.close()
        return process

    def end(self, process: subprocess.Popen[bytes]) -> dict[str, Any]:
        """What a hook answers."""
        assert process.stdout
        with process.stdout:
            told = process.stdout.read()
        assert process.wait(PATIENCE) == 0
        specific: dict[str, Any] = json.loads(told or "{}").get("hookSpecificOutput", {})
        return specific

    def rows(self) -> list[ApprovalRow]:
        store = SqliteStore.open(self.state, busy_seconds=20)
        try:
            with store.reading() as tx:
                return tx.approvals()
        finally:
            store.close()

    def asked(self) -> str:
        """The id of the question that a hook waits with, once it does."""
        self.until(
            lambda: any(wakeups.is_waited_for(self.state, row.approval) for row in self.rows()), "a hook to wait"
        )
        return next(row.approval for row in self.rows() if wakeups.is_waited_for(self.state, row.approval))

    def until(self, condition: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited for {what}"
            time.sleep(0.02)

    def say(self, approval: str, *, approve: bool, reason: str = "") -> None:
        store = SqliteStore.open(self.state, busy_seconds=20)
        answer(store, self.state, approval, approve=approve, by="ann", reason=reason)
        store.close()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.approvals_are("{headless: wait}")
    return machine


@pytest.mark.parametrize("approve", [True, False])
def test_it_waits_beyond_its_deadline_and_gives_the_answer(machine: Machine, approve: bool) -> None:
    process = machine.begin()
    approval = machine.asked()
    time.sleep(DEADLINE + 1)
    assert process.poll() is None
    machine.say(approval, approve=approve, reason="not today")
    told = machine.end(process)
    assert told["permissionDecision"] == ("allow" if approve else "deny")
    if not approve:
        assert "not today" in told["permissionDecisionReason"]
    assert [row.state for row in machine.rows()] == ["used" if approve else "denied"]
    assert os.listdir(os.path.join(machine.state, wakeups.FOLDER)) == []


def test_it_refuses_where_nobody_answers(machine: Machine) -> None:
    machine.approvals_are("{headless: wait, expire_seconds: 5}")
    told = machine.end(machine.begin())
    assert told["permissionDecision"] == "deny"
    assert "nobody answered in time" in told["permissionDecisionReason"]
    assert [row.state for row in machine.rows()] == ["expired"]


@pytest.mark.parametrize(
    ("approvals", "entrypoint"),
    [("{headless: wait}", "cli"), ("{headless: deny}", "sdk-cli"), ("{headless: auto}", "sdk-cli")],
)
def test_else_the_client_is_left_to_ask_or_refuse(machine: Machine, approvals: str, entrypoint: str) -> None:
    machine.approvals_are(approvals)
    assert machine.end(machine.begin(entrypoint))["permissionDecision"] == "ask"
    assert machine.rows() == []


def test_it_waits_for_one_who_watches(machine: Machine) -> None:
    machine.approvals_are("{headless: auto}")
    with wakeups.WakeupSocket(machine.state, WATCHERS) as wakeup:
        process = machine.begin()
        wakeup.wait(PATIENCE)
        machine.say(machine.asked(), approve=True)
        assert machine.end(process)["permissionDecision"] == "allow"


@pytest.mark.parametrize("said", [True, False])
def test_killed_while_it_waits_it_finds_the_answer_when_run_again(machine: Machine, said: bool) -> None:
    process = machine.begin()
    approval = machine.asked()
    process.send_signal(signal.SIGKILL)
    assert process.stdout
    process.stdout.close()
    process.wait()
    machine.say(approval, approve=said)
    assert not wakeups.is_waited_for(machine.state, approval), "what it left behind is taken down"
    told = machine.end(machine.begin())
    assert told["permissionDecision"] == ("allow" if said else "deny")
    assert [row.approval for row in machine.rows()] == [approval]


def test_two_hooks_of_one_call_hear_one_answer(machine: Machine) -> None:
    """Hooks installed twice wait for one question, and hear the same: the client runs the call if both let it."""
    first, second = machine.begin(), machine.begin()
    approval = machine.asked()
    machine.until(lambda: wakeups.wake(machine.state, approval) == 2, "both to wait")
    machine.say(approval, approve=True)
    assert [machine.end(process)["permissionDecision"] for process in (first, second)] == ["allow", "allow"]
    assert [row.state for row in machine.rows()] == ["used"]
    store = SqliteStore.open(machine.state)
    with store.reading() as tx:
        answers = [record for record in tx.audit() if '"event":"answered"' in record.body]
    store.close()
    assert len(answers) == 1


def test_a_person_is_told_by_their_own_program(machine: Machine, tmp_path: Path) -> None:
    out = tmp_path / "told"
    program = tmp_path / "tell"
    program.write_text(f"#!/bin/sh\ncat >{out}\n")
    program.chmod(0o755)
    machine.approvals_are(f"{{notify_command: [{program}]}}")
    process = machine.begin()
    machine.until(lambda: out.exists() and bool(out.read_text()), "the person to be told")
    message = json.loads(out.read_text())
    assert message["input"] == {"command": "git push origin main"}
    machine.say(message["approval"], approve=True)
    assert machine.end(process)["permissionDecision"] == "allow"
