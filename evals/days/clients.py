"""Real clients that work through a day with a scripted model, with and without Lockgate."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from days import Step
from machine import ROOT, Machine

from e2e.harness.clients import claude_code, versions
from e2e.harness.other_models import OtherModel, ResponsesModel
from e2e.harness.other_worlds import CodexWorld, _codex_program
from e2e.harness.script import Call, Script, Turn, call_id
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.terminal import Terminal
from e2e.harness.world import KEY

_PATIENCE = 1800
"""Seconds for a whole day."""
_TRACKER = ROOT / "tests" / "e2e" / "harness" / "tracker_server.py"
_OF_CODEX = re.compile(r"^(Chunk ID|Wall time|Original token count): .*\n", re.M)
_ASKED = "Do you want to proceed?"
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

    name = ""
    """Its name for ``lockgate install``."""
    installing: tuple[str, ...] = ()
    """Further words for ``lockgate install``."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine

    def run(self, *, guarded: bool) -> Run:
        """Work through the day on a fresh machine."""
        self.machine.fill()
        self.prepare()
        if guarded:
            self.lockgate("install", self.name, *self.installing)
        turns = [list(self.calls(step)) for step in self.machine.day.steps]
        results = self.work(Script.of(*[Turn([call]) for calls in turns for call in calls]))
        ids = tuple(_ids(turns))
        missing = [group for group in ids if group[-1] not in results]
        if missing:
            raise SystemExit(f"the model never saw a result of {missing[0]}: {list(results)[-3:]}")
        records = self._records() if guarded else []
        tree = self.machine.tree()
        self.machine.end()
        return Run(tuple(results[group[-1]] for group in ids), ids, tree, records)

    @property
    def environment(self) -> dict[str, str]:
        """Of the client: the person's, and what keeps it offline."""
        return self.machine.environment

    def prepare(self) -> None:
        """Answer what the client asks at its first run, and declare the tracker."""
        raise NotImplementedError

    def work(self, script: Script) -> dict[str, Result]:
        """Run the client until it ends; results by the calls' ids."""
        raise NotImplementedError

    def calls(self, step: Step) -> Iterator[Call]:
        """The calls of a step."""
        raise NotImplementedError

    def _start(self, argv: Sequence[str], variables: dict[str, str]) -> None:
        done = subprocess.run(
            argv,
            cwd=self.machine.project,
            env={**self.environment, **variables},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
        )
        if done.returncode:
            raise SystemExit(f"the client failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    # ------------------------------------------------------------ the gate
    def lockgate(self, *arguments: str) -> str:
        """Run ``lockgate`` as the person would, in a terminal outside of the client."""
        command = [sys.executable, "-m", "lockgate", *arguments]
        done = subprocess.run(
            command, cwd=self.machine.home, env=self.environment, capture_output=True, text=True, timeout=120
        )
        if done.returncode:
            raise SystemExit(f"lockgate {' '.join(arguments)}: {done.stdout}{done.stderr}")
        return done.stdout

    def _records(self) -> list[dict[str, Any]]:
        file = self.machine.root / "records.jsonl"
        self.lockgate("audit", "export", "--output", str(file))
        return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


class ClaudeCode(Client):
    """Claude Code, with its own tools for files."""

    name = "claude-code"

    @property
    def environment(self) -> dict[str, str]:
        """Of the client: the person's, and what keeps it offline."""
        return {
            **super().environment,
            "ANTHROPIC_API_KEY": KEY,
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "0",
            "IS_SANDBOX": "1",
        }

    def prepare(self) -> None:
        """Answer what the client asks at its first run, and declare the tracker."""
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        answers = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.machine.project): project},
        }
        (self.machine.home / ".claude").mkdir(exist_ok=True)
        (self.machine.home / ".claude.json").write_text(json.dumps(answers))
        tracker = {"command": sys.executable, "args": ["-I", str(_TRACKER), str(self.machine.root / "mails")]}
        (self.machine.root / "mcp.json").write_text(json.dumps({"mcpServers": {"tracker": tracker}}))

    def work(self, script: Script) -> dict[str, Result]:
        """Run the client until it ends; results by the calls' ids."""
        words = ["--dangerously-skip-permissions", "--mcp-config", str(self.machine.root / "mcp.json")]
        with ScriptedModel(script) as model:
            argv = [str(claude_code(versions()[-1])), *words, "-p", "please go on", "--output-format", "json"]
            self._start(argv, {"ANTHROPIC_BASE_URL": model.url})
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
            yield Call("Bash", {"command": _command(step), "description": "step", "timeout": 240000})


class ClaudeCodeInFront(ClaudeCode):
    """Claude Code in a terminal, with a person who says yes to everything that they are asked."""

    keys = 0
    """How often they did."""

    def work(self, script: Script) -> dict[str, Result]:
        """Run the client until it ends; results by the calls' ids."""
        # What the client would ask about by itself is allowed: only Lockgate asks.
        tools = ["Bash", "Read", "Edit", "Write", "mcp__tracker__fetch_issue"]
        words = ["--mcp-config", str(self.machine.root / "mcp.json"), "--permission-mode", "acceptEdits"]
        words += ["--settings", json.dumps({"permissions": {"allow": tools}})]
        with ScriptedModel(script) as model:
            environment = {**self.environment, "ANTHROPIC_BASE_URL": model.url}
            program = str(claude_code(versions()[-1]))
            with Terminal([program, *words], environment, self.machine.project) as terminal:
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
                terminal.press("1")
                self.keys += 1
                terminal.wait_until(lambda: _ASKED not in terminal.text, "the end of the question")
            terminal.press("")


class Codex(Client):
    """Codex CLI, which reads files and changes them in a shell."""

    name = "codex"
    installing = ("--trust",)

    def prepare(self) -> None:
        """Answer what the client asks at its first run; its shells are login shells, which set PATH anew."""
        (self.machine.home / ".codex").mkdir()
        (self.machine.programs / "codex").symlink_to(_codex_program())
        path = shlex.quote(self.environment["PATH"])
        (self.machine.home / ".bash_profile").write_text(f"PATH={path}\n")

    def work(self, script: Script) -> dict[str, Result]:
        """Run the client until it ends; results by the calls' ids."""
        with ResponsesModel(script) as model:
            argv, variables = CodexWorld.argv(_place(self.machine), model, "please go on")
            self._start(argv, variables)
            return _results(model)

    def calls(self, step: Step) -> Iterator[Call]:
        """The calls of a step."""
        if step.kind == "issue":
            yield Call("mcp__tracker/fetch_issue", {"number": int(step.subject)})
        else:
            yield Call("exec_command", {"cmd": _codex_command(step), "yield_time_ms": 30000})


class _World(CodexWorld):
    """What the harness needs of a machine to spell Codex's command line."""

    def __init__(self, machine: Machine) -> None:
        self.root, self._programs = machine.root, machine.programs

    @property
    def programs(self) -> Path:
        """Where the client's program is."""
        return self._programs


def _place(machine: Machine) -> CodexWorld:
    return _World(machine)


def _results(model: OtherModel) -> dict[str, Result]:
    """Without what Codex itself says of each run: a random name, how long it took, how many tokens it has."""
    requests = list(model.requests)
    found = {name: text for request in requests for name, text in model.results_in(request)}
    return {name: Result(_OF_CODEX.sub("", text), failed=False) for name, text in found.items()}


def _command(step: Step) -> str:
    """What an agent runs that has a shell alone."""
    if step.kind == "grep":
        return f"{_GREP} {shlex.quote(step.subject)} {step.details.get('path', '.')} | sort"
    if step.kind == "glob":
        return f"find . -name {shlex.quote(step.subject)} | sort"
    return step.subject.rstrip("\n")


def _codex_command(step: Step) -> str:
    if step.kind == "read":
        return f"sed -n '1,220p' {step.subject}"
    if step.kind == "write":
        return _patch(f"*** Add File: {step.subject}", _lines("+", step.details["text"]))
    if step.kind == "edit":
        changed = _lines("-", step.details["old"]) + _lines("+", step.details["new"])
        return _patch(f"*** Update File: {step.subject}", ["@@", *changed])
    return _command(step)


def _lines(mark: str, text: str) -> list[str]:
    return [mark + line for line in text.splitlines()]


def _patch(head: str, lines: list[str]) -> str:
    return "\n".join(["apply_patch <<'PATCH'", "*** Begin Patch", head, *lines, "*** End Patch", "PATCH"])


def _ids(turns: Sequence[Sequence[Call]]) -> Iterator[tuple[str, ...]]:
    number = 0
    for calls in turns:
        yield tuple(call_id("", number + place) for place in range(len(calls)))
        number += len(calls)


def place_of(day: str, client: str) -> Path:
    """Where the machine of a day stands: the same place for every run, since paths stand in outputs."""
    return Path("/var/tmp") / f"lockgate-days-{os.getuid()}" / f"{day}-{client}"


CLIENTS = {client.name: client for client in (ClaudeCode, Codex)}
