"""Codex, Copilot CLI and OpenCode, as :mod:`clients` runs Claude Code."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar

from clients import ClaudeCode, Client, Result, command_of
from days import Step

from e2e.harness.other_models import ChatModel, OtherModel, ResponsesModel
from e2e.harness.other_worlds import CodexWorld, CopilotWorld, OpenCodeWorld, OtherWorld
from e2e.harness.script import Call, Script, call_id
from e2e.harness.world import World
from lockgate.patterns.redaction.credentials import redact_input

_OF_CODEX = re.compile(r"^(Chunk ID|Wall time|Original token count): .*\n", re.M)
_LONG = 240
"""Seconds that a command may take."""


class _Other(Client):
    """A client with a model of OpenAI's."""

    kind: ClassVar[type[OtherWorld]]
    model: ClassVar[type[OtherModel]]
    failed: ClassVar[re.Pattern[str]] = re.compile(r"(?!)")
    """What stands in a result of a step that failed, where the client says so."""

    def work(self, world: OtherWorld, script: Script) -> dict[str, Result]:
        """Run the client until it ends; results by the calls' ids."""
        with self.model(script) as model:
            self.start(*world.argv(model, "please go on"))
            found = {name: text for request in model.requests for name, text in model.results_in(request)}
        return {name: Result(self.told(text), self.failed.search(text) is not None) for name, text in found.items()}

    @staticmethod
    def told(text: str) -> str:
        """A result without what the client itself says of each run."""
        return text


class Codex(_Other):
    """Codex CLI, which reads files and changes them in a shell."""

    kind, model = CodexWorld, ResponsesModel
    failed = re.compile(r"^Process exited with code [1-9]", re.M)

    def calls(self, step: Step) -> Iterator[Call]:
        """The calls of a step."""
        if step.kind == "issue":
            yield Call("mcp__tracker/fetch_issue", {"number": int(step.subject)})
        else:
            yield Call("exec_command", {"cmd": _codex_command(step), "yield_time_ms": 30000})

    @staticmethod
    def told(text: str) -> str:
        """Without a random name, how long it took and how many tokens it has."""
        return _OF_CODEX.sub("", text)


class Copilot(_Other):
    """Copilot CLI, with its own tools for files."""

    kind, model = CopilotWorld, ChatModel
    failed = re.compile(r"^Command not executed\.|^<shellId: \d+ completed with exit code [1-9]", re.M)

    def placed(self) -> World:
        """It asks nobody about anything by itself."""
        world = super().placed()
        assert isinstance(world, CopilotWorld)
        world.options = ("--allow-all",)
        return world

    def calls(self, step: Step) -> Iterator[Call]:
        """The calls of a step."""
        path = str(self.machine.project / step.subject)
        below = {"paths": step.details["path"]} if "path" in step.details else {}
        match step.kind:
            case "read":
                yield Call("view", {"path": path})
            case "write":
                folder = shlex.quote(os.path.dirname(path))
                yield Call("bash", {"command": f"mkdir -p {folder}", "description": "step"})  # else it says no
                yield Call("create", {"path": path, "file_text": step.details["text"]})
            case "edit":
                yield Call("edit", {"path": path, "old_str": step.details["old"], "new_str": step.details["new"]})
            case "grep":
                yield Call("grep", {"pattern": step.subject, "output_mode": "content", "-n": True, **below})
            case "glob":
                yield Call("glob", {"pattern": f"**/{step.subject}"})
            case "issue":
                yield Call("tracker-fetch_issue", {"number": int(step.subject)})
            case _:
                yield Call("bash", {"command": command_of(step), "description": "step", "initial_wait": _LONG})

    def records(self, world: World) -> list[dict[str, Any]]:
        """With the calls' ids, which its hooks are not told."""
        records = super().records(world)
        calls = [call for step in self.machine.day.steps for call in self.calls(step)]
        name_calls([record["body"] for record in records if "body" in record], calls)
        return records


def name_calls(bodies: Iterable[dict[str, Any]], calls: Sequence[Call]) -> None:
    """Give each decision the id of the call that it is about, by its input, and each outcome that of its decision.

    The calls come in their order. A decision about something else, such as the installer's own trial, gets no id.
    """
    place, by_digest = 0, dict[str, str]()
    for body in bodies:
        if body["event"] == "decision":
            here = next((at for at in range(place, len(calls)) if _is_about(body, calls[at])), None)
            place = place if here is None else here + 1
            body["call"] = by_digest[body["digest"]] = "" if here is None else call_id("", here)
        elif body["event"] == "outcome":
            body["call"] = by_digest.get(body["digest"], "")


def _is_about(body: dict[str, Any], call: Call) -> bool:
    """Whether a decision names what stands first in a call: its command, its path, what it searches for."""
    first = next(iter(call.input))
    return redact_input(body["tool"], call.input)[first] in body["input"].values()


class OpenCode(_Other):
    """OpenCode, with its own tools for files."""

    kind, model = OpenCodeWorld, ChatModel

    def placed(self) -> World:
        """It asks nobody about a path outside of the project, such as /tmp: it would end there."""
        world = super().placed()
        assert isinstance(world, OpenCodeWorld)
        world.permission["external_directory"] = "allow"
        return world

    def calls(self, step: Step) -> Iterator[Call]:
        """The calls of a step."""
        path = str(self.machine.project / step.subject)
        below = {"path": str(self.machine.project / step.details["path"])} if "path" in step.details else {}
        match step.kind:
            case "read":
                yield Call("read", {"filePath": path})
            case "write":
                yield Call("write", {"filePath": path, "content": step.details["text"]})
            case "edit":
                old, new = step.details["old"], step.details["new"]
                yield Call("read", {"filePath": path})
                yield Call("edit", {"filePath": path, "oldString": old, "newString": new})
            case "grep":
                yield Call("grep", {"pattern": step.subject, **below})
            case "glob":
                yield Call("glob", {"pattern": f"**/{step.subject}"})
            case "issue":
                yield Call("tracker_fetch_issue", {"number": int(step.subject)})
            case _:
                yield Call("bash", {"command": command_of(step), "timeout": _LONG * 1000})


def _codex_command(step: Step) -> str:
    if step.kind == "read":
        return f"sed -n '1,220p' {step.subject}"
    if step.kind == "write":
        return _patch(f"*** Add File: {step.subject}", _lines("+", step.details["text"]))
    if step.kind == "edit":
        changed = _lines("-", step.details["old"]) + _lines("+", step.details["new"])
        return _patch(f"*** Update File: {step.subject}", ["@@", *changed])
    return command_of(step)


def _lines(mark: str, text: str) -> list[str]:
    return [mark + line for line in text.splitlines()]


def _patch(head: str, lines: list[str]) -> str:
    return "\n".join(["apply_patch <<'PATCH'", "*** Begin Patch", head, *lines, "*** End Patch", "PATCH"])


CLIENTS: dict[str, type[Client]] = {client.kind.client: client for client in (ClaudeCode, Codex, Copilot, OpenCode)}
