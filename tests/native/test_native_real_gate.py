"""The native client with the gate and the Python hook as they are, and no stand-ins."""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from adapters.payloads import tool
from hook.process import Told, run
from lockgate.clients.hook.options import parse
from resident.machine import PATIENT, Machine
from resident.stories import STORIES
from support import steady
from support.made_up import without_what_is_made_up


class NativeMachine(Machine):
    """A machine whose hooks are native."""

    def __init__(self, root: Path, client: Path) -> None:
        super().__init__(root)
        self.client = client
        self.python = sys.executable

    def command(self, client: str, *options: str) -> list[str]:
        """The command line of a hook."""
        words = [str(self.client), "--python", self.python, "--script", steady.hook()]
        return [*words, *self.words(client), *options]


@pytest.fixture
def native(client: Path, tmp_path: Path) -> Iterator[NativeMachine]:
    """A machine without a gate."""
    machine = NativeMachine(tmp_path, client)
    yield machine
    machine.end()


def _told(machine: Machine, story: str, **environ: str) -> list[Told]:
    told = [
        machine.hook(said.event, *PATIENT, *said.options, client=said.client, **environ, **dict(said.environ))
        for said in STORIES[story]()
    ]
    return [Told(each.code, without_what_is_made_up(each.stdout), each.stderr) for each in told]


@pytest.mark.parametrize("story", ["every event once", "untrusted text, then calls of each kind"])
def test_it_answers_as_the_python_hook_by_itself(client: Path, tmp_path: Path, story: str) -> None:
    root = tmp_path / "machine"
    expected = _told(Machine(root), story, LOCKGATE_RESIDENT="off")
    shutil.rmtree(root)
    machine = NativeMachine(root, client)
    try:
        machine.start()
        machine.python = "/nowhere/python"  # so that it cannot be the Python hook that answers
        assert _told(machine, story) == expected
    finally:
        machine.end()


def _tampers(machine: Machine) -> dict[str, object]:
    return tool("PreToolUse", "Write", {"file_path": f"{machine.state}/lockgate.db", "content": ""})


def test_where_there_is_no_gate_the_first_hook_starts_one(native: NativeMachine) -> None:
    assert native.hook(_tampers(native)).refuses
    assert native.comes_up()["answered"] == 0
    native.python = "/nowhere/python"
    assert native.hook(_tampers(native)).refuses
    assert native.facts["answered"] == 1


@pytest.mark.parametrize("signalled", [signal.SIGKILL, signal.SIGSTOP])
def test_a_gate_that_is_ended_or_stopped_is_done_without(native: NativeMachine, signalled: signal.Signals) -> None:
    gate = native.start()
    os.kill(gate.pid, signalled)
    try:
        assert native.hook(_tampers(native)).refuses
        assert native.hook(tool("PreToolUse", "Bash", {"command": "ls"})) == (0, "", "")
    finally:
        gate.kill()


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        (b"", "stdin was empty"),
        (b"[]", "the payload"),
        (b"{" * 100, "the payload"),
        (b" " * (33 * 1024 * 1024), "larger than 32 MB"),
    ],
    ids=["empty", "no object", "no JSON", "too much"],
)
def test_bad_input_is_refused_by_name(native: NativeMachine, payload: bytes, says: str) -> None:
    native.start()
    told = native.hook(payload)
    assert told.code == 2
    assert says in told.stderr


def test_time_that_was_spent_on_asking_is_told_in_milliseconds() -> None:
    assert parse(["claude-code", "--asked", "1500"]).asked == 1.5


@pytest.mark.parametrize("value", ["yes", "-1", "1.5", "", "9" * 20])
def test_what_is_no_number_of_milliseconds_is_refused(native: NativeMachine, value: str) -> None:
    command = [sys.executable, "-I", "-S", steady.hook(), "claude-code", "--asked", value, *native.words()[1:]]
    told = run(command, _tampers(native), env=native.environment)
    assert told.code == 2
    assert "--asked" in told.stderr
