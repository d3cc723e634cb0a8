"""Where a gate ends, its hooks ask the next one, and otherwise take turns at deciding by themselves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapters.payloads import tool
from lockgate.clients.hook import turns as crowd
from lockgate.clients.wire.resident_files import run_folder
from lockgate.store.audit.refusals import FOLDER

from .machine import PATIENT, Machine

HOLD = """
import sys, time
sys.path.append(sys.argv[1])
from lockgate.clients.hook import turns as crowd
has_turn = crowd.wait_for_turn(sys.argv[2], time.monotonic() + float(sys.argv[3]), lambda: False)
print(has_turn, len(crowd.HELD), flush=True)
sys.stdin.read()
"""


def holder(state: str, seconds: float = 0.0) -> subprocess.Popen[str]:
    source = os.path.dirname(os.path.dirname(os.path.dirname(crowd.__file__)))
    words = [sys.executable, "-c", HOLD, source, state, str(seconds)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def said(process: subprocess.Popen[str]) -> str:
    assert process.stdout
    return process.stdout.readline().strip()


@pytest.fixture
def turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(crowd, "HELD", [])
    (tmp_path / "run").mkdir(mode=0o700)
    return str(tmp_path)


def test_a_turn_ends_with_its_process(turns: str) -> None:
    holders = [holder(turns) for _ in range(os.cpu_count() or 1)]
    try:
        assert [said(process) for process in holders] == ["False 1"] * len(holders)
        late, next_one = holder(turns), holder(turns, 60.0)
        holders += [late, next_one]
        assert said(late) == "False 0", "its time is over, and it decides all the same"
        holders[0].kill()
        began = time.monotonic()
        assert said(next_one) == "False 1"
        assert time.monotonic() - began < 30
    finally:
        for process in holders:
            process.kill()
            process.communicate()


def test_a_gate_that_comes_ends_the_wait(turns: str) -> None:
    looks = iter([False, False, True])
    holders = [holder(turns) for _ in range(os.cpu_count() or 1)]
    try:
        assert [said(process) for process in holders]
        assert crowd.wait_for_turn(turns, time.monotonic() + 60, lambda: next(looks))
    finally:
        for process in holders:
            process.kill()
            process.communicate()


def test_nobody_waits_where_there_can_be_no_turns(tmp_path: Path) -> None:
    began = time.monotonic()
    assert not crowd.wait_for_turn(str(tmp_path / "nowhere"), began + 60, lambda: False)
    assert time.monotonic() - began < 5


@pytest.mark.stress
def test_hooks_whose_gate_is_killed_are_all_answered_or_recorded(machine: Machine) -> None:
    """All at once wait for a gate that hangs, and then ends."""
    gate = machine.start()
    os.kill(gate.pid, signal.SIGSTOP)
    events = [tool("PreToolUse", "Bash", {"command": "git status"}, tool_use_id=f"toolu_{n}") for n in range(20)]
    hooks = [machine.begin(event) for event in events]
    time.sleep(0.5)
    gate.kill()
    told = [machine.finished(hook) for hook in hooks]
    Path(run_folder(machine.state), "started").unlink(missing_ok=True)
    end = time.monotonic() + 60
    while machine.hook(events[0], *PATIENT).code or list(Path(machine.state, FOLDER).glob("*")):
        assert time.monotonic() < end, "what was refused is recorded"
        time.sleep(0.5)
    records = machine.audit()
    known = {body.get("call") for body in records if body["event"] in ("decision", "undecided")}
    assert known == {event["tool_use_id"] for event in events}
    refused = {event["tool_use_id"] for event, each in zip(events, told, strict=True) if each.code or each.refuses}
    assert refused == {body["call"] for body in records if body["event"] == "undecided"}


def test_the_gate_records_what_hooks_could_not(machine: Machine) -> None:
    from lockgate.store.audit.refusals import Refusal

    refusal = Refusal(machine.state, "hook")
    refusal.about("claude-code", "PreToolUse", {"session": "s", "tool": "Bash", "call": "toolu_9"})
    refusal.keep("it took too long")
    machine.start()
    machine.hook(tool("PreToolUse", "Bash", {"command": "git status"}, tool_use_id="toolu_1"), *PATIENT)
    machine.until(lambda: not list(Path(machine.state, FOLDER).glob("*")), "the gate")
    assert [body["call"] for body in machine.audit() if body["event"] == "undecided"] == ["toolu_9"]


def test_what_the_gate_itself_refuses_is_recorded(machine: Machine) -> None:
    machine.start()
    told = machine.hook(b'{"hook_event_name": "PreToolUse", "session_id": "s1"}')
    assert told.code == 2 or told.refuses
    machine.hook(tool("PreToolUse", "Bash", {"command": "git status"}, tool_use_id="toolu_1"), *PATIENT)
    machine.until(lambda: not list(Path(machine.state, FOLDER).glob("*")), "the gate")
    [body] = [body for body in machine.audit() if body["event"] == "undecided"]
    assert (body["by"], body["session"], body["hook_event"]) == ("gate", "s1", "PreToolUse")
