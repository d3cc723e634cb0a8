"""Real clients that work through a day with a scripted model, with and without Lockgate."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from days import Step
from machine import ROOT, Machine

from e2e.harness.clients import claude_code, versions
from e2e.harness.script import Call, Script, Turn, call_id
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.world import KEY

_PATIENCE = 1800
"""Seconds for a whole day."""
_TRACKER = ROOT / "tests" / "e2e" / "harness" / "tracker_server.py"


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


class ClaudeCode:
    """Claude Code without a terminal, with nothing but Lockgate in the way."""

    name = "claude-code"

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.program = claude_code(versions()[-1])

    def run(self, *, guarded: bool) -> Run:
        """Work through the day on a fresh machine."""
        self.machine.fill()
        self._answer_first_run_questions()
        if guarded:
            self.lockgate("install", self.name)
        turns = [list(self._calls(step)) for step in self.machine.day.steps]
        script = Script.of(*[Turn([call]) for calls in turns for call in calls])
        with ScriptedModel(script) as model:
            self._work(model)
            results = model.results()
        ids = tuple(_ids(turns))
        missing = [group for group in ids if group[-1] not in results]
        if missing:
            raise SystemExit(f"the model never saw a result of {missing[0]}: {list(results)[-3:]}")
        found = tuple(Result(results[group[-1]].text, results[group[-1]].is_error) for group in ids)
        records = self._records() if guarded else []
        tree = self.machine.tree()
        self.machine.end()
        return Run(found, ids, tree, records)

    # ------------------------------------------------------------ the client
    @property
    def environment(self) -> dict[str, str]:
        """Of the client: the person's, and what keeps it offline."""
        return {
            **self.machine.environment,
            "ANTHROPIC_API_KEY": KEY,
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "ENABLE_TOOL_SEARCH": "0",
            "IS_SANDBOX": "1",
        }

    def _answer_first_run_questions(self) -> None:
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        answers = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.machine.project): project},
        }
        (self.machine.home / ".claude").mkdir()
        (self.machine.home / ".claude.json").write_text(json.dumps(answers))
        tracker = {"command": sys.executable, "args": ["-I", str(_TRACKER), str(self.machine.root / "mails")]}
        (self.machine.root / "mcp.json").write_text(json.dumps({"mcpServers": {"tracker": tracker}}))

    def _work(self, model: ScriptedModel) -> None:
        argv = [str(self.program), "--dangerously-skip-permissions", "--mcp-config", str(self.machine.root / "mcp.json")]
        done = subprocess.run(
            [*argv, "-p", "please go on", "--output-format", "json"],
            cwd=self.machine.project,
            env={**self.environment, "ANTHROPIC_BASE_URL": model.url},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
        )
        if done.returncode:
            raise SystemExit(f"the client failed: {done.stdout[-2000:]}{done.stderr[-2000:]}")

    def _calls(self, step: Step) -> Iterator[Call]:
        """The calls of a step; it wants to have read what it changes."""
        path = str(self.machine.project / step.subject)
        if step.kind == "run":
            yield Call("Bash", {"command": step.subject.rstrip("\n"), "description": "step", "timeout": 240000})
        elif step.kind == "read":
            yield Call("Read", {"file_path": path})
        elif step.kind == "write":
            yield Call("Write", {"file_path": path, "content": step.details["text"]})
        elif step.kind == "edit":
            yield Call("Read", {"file_path": path})
            old, new = step.details["old"], step.details["new"]
            yield Call("Edit", {"file_path": path, "old_string": old, "new_string": new})
        elif step.kind == "grep":
            where = str(self.machine.project / step.details.get("path", ""))
            yield Call("Bash", {"command": f"grep -rn --exclude-dir=node_modules --exclude-dir=.venv {step.subject} {where}"})
        elif step.kind == "glob":
            yield Call("Bash", {"command": f"find . -name '{step.subject}' | sort"})
        else:
            yield Call("mcp__tracker__fetch_issue", {"number": int(step.subject)})

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


def _ids(turns: Sequence[Sequence[Call]]) -> Iterator[tuple[str, ...]]:
    number = 0
    for calls in turns:
        yield tuple(call_id("", number + place) for place in range(len(calls)))
        number += len(calls)


def place_of(day: str) -> Path:
    """Where the machine of a day stands: the same place for every run, since paths stand in outputs."""
    return Path("/var/tmp") / f"lockgate-days-{os.getuid()}" / day


CLIENTS = {ClaudeCode.name: ClaudeCode}
