"""Real clients that work through a day with a scripted model, with and without Lockgate."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from days import Step
from machine import Machine

from e2e.harness.clients import versions
from e2e.harness.script import Call, Script, Turn, call_id
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.terminal import Terminal
from e2e.harness.world import CLIENT_VARIABLES, World

_PATIENCE = 1800
"""Seconds for a whole day."""
_ASKED = "Do you want to proceed?"
_NAMED = re.compile(r"more: lockgate question (\w+)")
_GREP = "grep -rn --exclude-dir=node_modules --exclude-dir=.venv --exclude-dir=.git"


class Result(NamedTuple):
    """What the agent got for a step."""

    text: str
    failed: bool


class Run(NamedTuple):
    """A day that a client worked through."""

    results: tuple[Result, ...]
    """One for each step."""
    ids: tuple[tuple[str, ...], ...]
    """The ids of each step's calls."""
    tree: dict[str, bytes]
    """The files of the project afterwards."""
    records: list[dict[str, Any]]
    """What the gate recorded; empty without one."""


class Client:
    """A client without a terminal, with nothing but Lockgate in the way."""

    kind: ClassVar[type[World]]
    """How the tests' harness drives it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def run(self, *, guarded: bool) -> Run:
        """Work through the day on a fresh machine."""
        self.machine.fill()
        world = self.placed()
        if guarded:
            world.install()
        turns = [list(self.calls(step)) for step in self.machine.day.steps]
        results = self.work(world, Script.of(*[Turn([call]) for calls in turns for call in calls]))
        ids = tuple(_ids(turns))
        missing = [group for group in ids if group[-1] not in results]
        if missing:
            raise SystemExit(f"the model never saw a result of {missing[0]}: {list(results)[-3:]}")
        records = self.records(world) if guarded else []
        tree = self.machine.tree()
        self.machine.end()
        return Run(tuple(results[group[-1]] for group in ids), ids, tree, records)

    def placed(self) -> World:
        """The client, as the tests' harness drives it, on the machine of a day."""
        machine, kind = self.machine, self.kind

        class Placed(kind):  # type: ignore[valid-type,misc]
            project = machine.project
            environment = machine.environment

            def __post_init__(self) -> None:
                self.set_up_client()

        return Placed(machine.root, versions()[-1])

    def work(self, world: Any, script: Script) -> dict[str, Result]:
        """Run the client until it ends; results by the calls' ids."""
        raise NotImplementedError

    def calls(self, step: Step) -> Iterator[Call]:
        """The calls of a step."""
        raise NotImplementedError

    def start(self, argv: Sequence[str], variables: dict[str, str]) -> None:
        """Run the client until it ends."""
        done = subprocess.run(
            argv,
            cwd=self.machine.project,
            env={**self.machine.environment, **variables},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
        )
        if done.returncode:
            raise SystemExit(f"the client failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def records(self, world: World) -> list[dict[str, Any]]:
        file = self.machine.root / "records.jsonl"
        world.lockgate("audit", "export", "--output", str(file))
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


class ClaudeCode(Client):
    """Claude Code, with its own tools for files."""

    kind = World

    def work(self, world: World, script: Script) -> dict[str, Result]:
        """Run the client until it ends; results by the calls' ids."""
        words = ["--dangerously-skip-permissions", "-p", "please go on", "--output-format", "json"]
        with ScriptedModel(script) as model:
            argv, environment = world.command(model, *words)
            self.start(argv, {**CLIENT_VARIABLES, **environment})
            return {name: Result(found.text, found.is_error) for name, found in model.results().items()}

    def calls(self, step: Step) -> Iterator[Call]:
        """The calls of a step; the client wants to have read what it changes."""
        path = str(self.machine.project / step.subject)
        if step.kind == "read":
            yield Call("Read", {"file_path": path})
        elif step.kind == "write":
            yield Call("Write", {"file_path": path, "content": step.details["text"]})
        elif step.kind == "edit":
            yield Call("Read", {"file_path": path})
            old, new = step.details["old"], step.details["new"]
            yield Call("Edit", {"file_path": path, "old_string": old, "new_string": new})
        elif step.kind == "issue":
            yield Call("mcp__tracker__fetch_issue", {"number": int(step.subject)})
        else:
            yield Call("Bash", {"command": command_of(step), "description": "step", "timeout": 240000})


class ClaudeCodeInFront(ClaudeCode):
    """Claude Code in a terminal, with a person who says yes to everything that they are asked."""

    keys = 0
    """How often they did."""

    def work(self, world: World, script: Script) -> dict[str, Result]:
        """Run the client until it ends; results by the calls' ids."""
        # What the client would ask about by itself is allowed: only Lockgate asks.
        tools = ["Bash", "Read", "Edit", "Write", "mcp__tracker__fetch_issue"]
        settings = json.dumps({"permissions": {"allow": tools}})
        with ScriptedModel(script) as model:
            argv, environment = world.command(model, "--permission-mode", "acceptEdits", "--settings", settings)
            with Terminal(argv, {**CLIENT_VARIABLES, **environment}, self.machine.project) as terminal:
                terminal.wait_for("accept edits on")
                terminal.wait_until((self.machine.root / "listed").exists, "the tracker's tools")
                terminal.say("please go on")
                self._answer(terminal)
            return {name: Result(found.text, found.is_error) for name, found in model.results().items()}

    def _answer(self, terminal: Terminal) -> None:
        until = time.monotonic() + _PATIENCE
        while "ALL DONE" not in terminal.text:
            if time.monotonic() > until:
                raise SystemExit(f"the day does not end; the screen shows:\n{terminal.text}")
            if _ASKED in terminal.text:
                self._say_yes(terminal)
            terminal.press("")

    def _say_yes(self, terminal: Terminal) -> None:
        """To this question: another one may follow at once."""
        asked = _question(terminal.text)
        terminal.press("1")
        self.keys += 1
        terminal.wait_until(lambda: _question(terminal.text) != asked, "the end of the question")


def _question(text: str) -> str:
    """The name of the question on a screen; empty where none is asked."""
    found = _NAMED.findall(text)
    if _ASKED not in text:
        return ""
    return found[-1] if found else "the client's own"


def command_of(step: Step) -> str:
    """What an agent runs that has a shell alone."""
    if step.kind == "grep":
        return f"{_GREP} {shlex.quote(step.subject)} {step.details.get('path', '.')} | sort"
    if step.kind == "glob":
        return f"find . -name {shlex.quote(step.subject)} | sort"
    return step.subject.rstrip("\n")


def _ids(turns: Sequence[Sequence[Call]]) -> Iterator[tuple[str, ...]]:
    number = 0
    for calls in turns:
        yield tuple(call_id("", number + place) for place in range(len(calls)))
        number += len(calls)


def place_of(day: str, client: str) -> Path:
    """Where the machine of a day stands: the same place for every run, since paths stand in outputs."""
    return Path("/var/tmp") / f"lockgate-days-{os.getuid()}" / f"{day}-{client}"
