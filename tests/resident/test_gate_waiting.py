"""Whom the gate waits for: people, a judge, plugins. Nobody else waits meanwhile."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from adapters.payloads import tool
from lockgate.configuration import load as configuration
from lockgate.gate.approvals import wakeups
from lockgate.gate.approvals.answering import answer
from lockgate.store.rows import ApprovalRow
from support import fake_judge
from support.fake_judge import FakeJudge, honest

from .machine import Machine, heard_by

HEADLESS = {"CLAUDE_CODE_ENTRYPOINT": "sdk-cli"}


def push(number: int = 0) -> dict[str, Any]:
    command = f"git push https://git.example.com/x{number}.git"
    return tool("PreToolUse", tool_input={"command": command}, tool_use_id=f"t{number}", session_id=f"s{number}")


def configured(machine: Machine, **values: Any) -> None:
    """Write the configuration, and have it read: YAML takes its time."""
    (machine.config / "lockgate.yaml").write_text(json.dumps(values))
    with machine.store() as store:
        where = {"home": str(machine.home), "config_dir": str(machine.config), "workspace": push()["cwd"]}
        assert configuration.load(store, state=machine.state, **where).problems == ()


class People:
    """The questions of a machine, and answers to them."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def rows(self) -> list[ApprovalRow]:
        with self.machine.store() as store, store.reading() as tx:
            return list(tx.approvals())

    def asked(self, number: int = 1) -> list[str]:
        """The ids of so many questions, once somebody waits for each."""

        def waiting() -> list[str]:
            return [row.approval for row in self.rows() if wakeups.is_waited_for(self.machine.state, row.approval)]

        self.machine.until(lambda: len(waiting()) >= number, f"{number} to wait")
        return waiting()

    def say(self, approval: str, *, approve: bool) -> None:
        with self.machine.store() as store:
            answer(store, self.machine.state, approval, approve=approve, by="ann", reason="")


@pytest.fixture
def people(machine: Machine) -> Iterator[People]:
    """A machine that waits for people, with a gate."""
    configured(machine, table={"egress": "ask"}, approvals={"headless": "wait"})
    machine.start()
    yield People(machine)


def told(machine: Machine, process: subprocess.Popen[bytes]) -> str:
    said = machine.finished(process)
    assert said.code == 0, said
    return str(said.answer["hookSpecificOutput"]["permissionDecision"])


@pytest.mark.parametrize("approve", [True, False])
def test_a_person_answers(people: People, approve: bool) -> None:
    machine = people.machine
    process = machine.begin(push(), **HEADLESS)
    (approval,) = people.asked()
    assert machine.facts["waiting_for_others"] == 1
    assert machine.hook(tool("PreToolUse")).code == 0, "others are answered"
    time.sleep(3.5)  # longer than a hook waits for anything else
    assert process.poll() is None
    people.say(approval, approve=approve)
    assert told(machine, process) == ("allow" if approve else "deny")
    assert [row.state for row in people.rows()] == ["used" if approve else "denied"]
    assert machine.facts["answered"] == 2
    assert machine.facts["declined"] == 0


def test_nobody_answers(people: People) -> None:
    configured(people.machine, table={"egress": "ask"}, approvals={"headless": "wait", "expire_seconds": 5})
    time.sleep(1.1)
    assert told(people.machine, people.machine.begin(push(), **HEADLESS)) == "deny"
    assert [row.state for row in people.rows()] == ["expired"]


def test_it_does_not_end_while_somebody_waits(machine: Machine) -> None:
    configured(machine, table={"egress": "ask"}, approvals={"headless": "wait"})
    gate = machine.start("--idle", "0.5")
    people = People(machine)
    process = machine.begin(push(), **HEADLESS)
    (approval,) = people.asked()
    time.sleep(2.5)
    assert gate.poll() is None
    people.say(approval, approve=True)
    assert told(machine, process) == "allow"
    assert gate.wait(30) == 0


def test_the_hook_goes_away(people: People) -> None:
    machine = people.machine
    process = machine.begin(push(), **HEADLESS)
    (approval,) = people.asked()
    process.kill()
    machine.finished(process)
    machine.until(lambda: machine.facts["connections"] == 1, "the gate to see that it is gone")
    people.say(approval, approve=True)
    machine.until(lambda: machine.facts["waiting_for_others"] == 0, "the gate to stop waiting")
    assert [row.state for row in people.rows()] == ["approved"], "nobody has used it"
    assert machine.audit()[-1].get("verdict") != "allow"


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_gate_goes_away(people: People, number: int) -> None:
    """The hook goes on by itself, with the same question."""
    machine = people.machine
    process = machine.begin(push(), **HEADLESS)
    people.asked()
    [gate] = machine.gates()
    os.kill(gate, number)
    machine.until(lambda: gate not in machine.gates(), "the gate to be gone")
    time.sleep(0.5)
    assert process.poll() is None
    (again,) = people.asked()
    people.say(again, approve=True)
    assert told(machine, process) == "allow"
    assert [row.state for row in people.rows() if row.approval == again] == ["used"]


@pytest.mark.slow
def test_a_hundred_wait_while_others_are_answered(people: People) -> None:
    machine = people.machine
    with ExitStack() as stack:
        waiting = [stack.enter_context(machine.connected()) for _ in range(100)]
        for number, connection in enumerate(waiting):
            connection.sendall(machine.request(push(number), **HEADLESS))
            assert connection.recv(1) == b"W"
        approvals = people.asked(100)
        assert machine.facts["waiting_for_others"] == 100
        for number in range(20):
            said = machine.said(machine.request(tool("PreToolUse", tool_use_id=f"other-{number}")))
            assert said[:1] == b"A"
        for approval in approvals:
            people.say(approval, approve=True)
        for connection in waiting:
            assert b'"allow"' in heard_by(connection)
    assert {row.state for row in people.rows()} == {"used"}
    assert machine.facts["waiting_for_others"] == 0


# ---------------------------------------------------------------- judge and plugins
def test_a_judge_that_hangs_holds_up_nobody(machine: Machine) -> None:
    with FakeJudge(fake_judge.silent) as server:
        configured(machine, profile="cascade", judge={"base_url": server.url, "timeout_seconds": 3})
        machine.start()
        page = {"url": "https://example.com/"}
        for name, more in (("PreToolUse", {}), ("PostToolUse", {"tool_response": {"result": "x", "code": 200}})):
            assert machine.hook(tool(name, "WebFetch", page, session_id="s0", **more)).code == 0
        judged = machine.begin(push())
        machine.until(lambda: len(server.seen) == 1, "the judge to be asked")
        for number in range(5):
            other = tool("PreToolUse", tool_use_id=f"other-{number}", session_id="other")
            assert machine.said(machine.request(other))[:1] == b"A"
        assert judged.poll() is None
        assert told(machine, judged) == "deny"
    assert machine.facts["declined"] == 0


def test_the_key_of_a_judge_is_the_caller_s(machine: Machine) -> None:
    """Two callers with keys of their own, asked in turn."""
    with FakeJudge(honest) as server:
        configured(machine, profile="cascade", judge={"base_url": server.url, "key_env": "JUDGE_KEY"})
        machine.start()
        page = {"url": "https://example.com/"}
        more = {"tool_response": {"result": "x", "code": 200}}

        def judged(number: int) -> None:
            environ = {"JUDGE_KEY": f"key-of-{number}"}
            for event in (
                tool("PreToolUse", "WebFetch", page, session_id=f"s{number}"),
                tool("PostToolUse", "WebFetch", page, session_id=f"s{number}", **more),
                push(number),
            ):
                # What has waited for long on a busy machine is declined; then it is asked again.
                said = (machine.said(machine.request(event, **environ))[:1] for _ in range(20))
                assert any(first in (b"A", b"W") for first in said)

        with ThreadPoolExecutor(4) as crowd:
            list(crowd.map(judged, range(8)))
        keys = {json.dumps(dict(seen.headers)): seen.user for seen in server.seen}
    assert len(keys) == 8
    for headers, user in keys.items():
        (number,) = [number for number in range(8) if f"/x{number}.git" in user]
        assert f"key-of-{number}" in headers


_PLUGIN = """
import os, time
def before_tool_use(tool_name, tool_input):
    command = str(tool_input.get("command"))
    if "slow" in command:
        time.sleep(0.5)
    if "hangs" in command:
        time.sleep(600)
    if "crashes" in command:
        raise RuntimeError("plugin")
    if "ends" in command:
        raise SystemExit(0)
    if "objects" in command:
        return {"decision": "deny", "reason": "no"}
"""


def test_plugins_hold_up_nobody(machine: Machine) -> None:
    plugin = machine.config / "policy.py"
    plugin.write_text(_PLUGIN)
    plugin.chmod(0o600)
    configured(machine, plugins=[str(plugin)])
    machine.start()

    def asked(command: str) -> str:
        event = tool("PreToolUse", tool_input={"command": f"echo {command}"}, tool_use_id=command, session_id=command)
        said = machine.finished(machine.begin(event))
        if said.code:
            return "refused" if said.refuses else f"exit {said.code}"
        return str(said.answer.get("hookSpecificOutput", {}).get("permissionDecision", "silent"))

    with ThreadPoolExecutor(4) as crowd:
        slow, hanging = crowd.submit(asked, "slow"), crowd.submit(asked, "hangs")
        machine.until(lambda: machine.facts["waiting_for_others"] >= 1, "a plugin to be asked")
        assert [asked(word) for word in ("fine", "crashes", "ends", "objects")] == ["silent", "deny", "deny", "deny"]
        assert slow.result(30) == "silent"
        assert hanging.result(30) in ("deny", "refused")
    assert asked("fine again") == "silent"
