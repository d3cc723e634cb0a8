"""Guards the executors of the OpenAI Agents SDK that its guardrails do not cover: shells, patches, custom tools."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import os
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from agents import (
    ApplyPatchOperation,
    ApplyPatchResult,
    LocalShellCommandRequest,
    RunContextWrapper,
    ShellActionRequest,
    ShellCommandRequest,
    ShellResult,
)
from agents.tool import ShellCallOutcome, ShellCommandOutput

from lockgate.clients.sdk.integrations.openai_agents.calls import AgentTools, as_text, refusal_of
from lockgate.clients.sdk.model import Decision

SHELL = "Bash"
_WRITE = "Write"
_NOT_EXECUTED = 126
"""The exit status that a shell gives where a command was found and cannot be executed."""


async def await_value(value: Any) -> Any:
    """A value, or what it is once it was awaited."""
    return await value if inspect.isawaitable(value) else value


# ---------------------------------------------------------------- shells
class Shell:
    """Runs the commands of one request where the gate lets all of them run, each as the gate says."""

    def __init__(self, calls: AgentTools, tool: str, executor: Any) -> None:
        self.calls, self._tool, self._executor = calls, tool, executor

    async def __call__(self, request: ShellCommandRequest) -> str | ShellResult:
        """Decide on a request, run it, and look at what it gave."""
        context, data = request.ctx_wrapper, request.data
        given = list(data.action.commands)
        decisions = []
        for number, command in enumerate(given):
            decision = await self.calls.decide(context, SHELL, {"command": command}, f"{data.call_id}:{number}")
            decisions.append(decision)
            if not self.calls.permits(context, decision, self._tool, data.call_id):
                earlier = [(SHELL, {"command": other}, f"{data.call_id}:{place}") for place, other in enumerate(given)]
                await _report_not_run(self.calls, context, earlier[:number])
                return _refusal_result(given, number, refusal_of(decision))
        run = [_command(decision) for decision in decisions]
        action = dataclasses.replace(data.action, commands=run)
        changed = dataclasses.replace(request, data=dataclasses.replace(data, action=action))
        try:
            output = await await_value(self._executor(changed))
        except Exception as error:  # noqa: BLE001 - the model reads it
            return await self._screen(context, run, f"the command failed: {error}", data.call_id)
        if isinstance(output, ShellResult) and len(output.output) == len(run):
            return await self._result(context, given, run, output, data.call_id)
        if isinstance(output, ShellResult):
            output = "\n".join(f"{entry.stdout}{entry.stderr}" for entry in output.output)
        return await self._screen(context, run, output, data.call_id)

    async def needs_approval(
        self, context: RunContextWrapper[Any], action: ShellActionRequest, call_id: str, given: Any
    ) -> bool:
        """Whether the run is to be interrupted: because the tool says so, or because the gate asks."""
        if await _truth(given, context, action, call_id):
            return True
        for number, command in enumerate(action.commands):
            asked = f"{call_id}:{number}"
            if await self.calls.asks(context, SHELL, {"command": command}, asked, rewrites=True):
                return True
        return False

    async def _screen(self, context: RunContextWrapper[Any], run: Sequence[str], output: Any, call_id: str) -> str:
        text = as_text(output)
        for number, command in enumerate(run):
            result = await self.calls.note_result(context, SHELL, {"command": command}, text, f"{call_id}:{number}")
            text = as_text(result.output)
        return text

    async def _result(
        self,
        context: RunContextWrapper[Any],
        given: Sequence[str],
        run: Sequence[str],
        output: ShellResult,
        call_id: str,
    ) -> ShellResult:
        entries = []
        for number, entry in enumerate(output.output):
            told = {"stdout": entry.stdout, "stderr": entry.stderr}
            result = await self.calls.note_result(context, SHELL, {"command": run[number]}, told, f"{call_id}:{number}")
            entries.append(_entry(entry, result.output, given[number]))
        return dataclasses.replace(output, output=entries)


def _refusal_result(given: Sequence[str], number: int, reason: str) -> ShellResult:
    """What the model reads where none of the commands was run, because of one of them."""
    others = "not run: another command of this call was refused"
    outcome = ShellCallOutcome("exit", _NOT_EXECUTED)
    return ShellResult(
        [
            ShellCommandOutput(stderr=reason if index == number else others, outcome=outcome, command=command)
            for index, command in enumerate(given)
        ]
    )


def _entry(entry: ShellCommandOutput, shown: Any, command: str) -> ShellCommandOutput:
    if not isinstance(shown, Mapping):
        shown = {"stdout": as_text(shown), "stderr": ""}
    command_told = None if entry.command is None else command
    return dataclasses.replace(entry, stdout=shown["stdout"], stderr=shown["stderr"], command=command_told)


class LocalShell:
    """Runs the command of one request of the older shell tool."""

    def __init__(self, calls: AgentTools, executor: Any) -> None:
        self.calls, self._executor = calls, executor

    async def __call__(self, request: LocalShellCommandRequest) -> str:
        """Decide on a request, run it, and look at what it gave."""
        context, call = request.ctx_wrapper, request.data
        action = call.action
        given = {"command": _line(action.command, action.env)}
        decision = await self.calls.decide(context, SHELL, given, call.call_id, cwd=action.working_directory or "")
        # This tool has no way to be approved.
        if not decision.allowed:
            return refusal_of(decision)
        if decision.verdict == "contain":
            run = {"command": ["/bin/bash", "-c", _command(decision)], "env": {}}
            call = call.model_copy(update={"action": action.model_copy(update=run)})
            request = dataclasses.replace(request, data=call)
        try:
            output = await await_value(self._executor(request))
        except Exception as error:  # noqa: BLE001 - the model reads it
            output = f"the command failed: {error}"
        cwd = action.working_directory or ""
        result = await self.calls.note_result(context, SHELL, decision.tool_input, output, call.call_id, cwd=cwd)
        return as_text(result.output)


def _line(words: Sequence[str], env: Mapping[str, str]) -> str:
    """A command of words and variables as one line of a shell."""
    assignments = [f"{name}={value}" for name, value in env.items()]
    return shlex.join([*(["env", *assignments] if assignments else []), *words])


def _command(decision: Decision) -> str:
    return str(decision.tool_input["command"])


async def _report_not_run(
    calls: AgentTools, context: RunContextWrapper[Any] | None, earlier: Sequence[tuple[str, Mapping[str, Any], str]]
) -> None:
    """Tell of calls (tool, input, id) that may run and do not, because another one beside them may not."""
    session = await calls.session(context)
    for tool, tool_input, call_id in earlier:
        session.not_run(tool, tool_input, call_id=call_id, reason="another was refused")


async def _truth(given: Any, *arguments: Any) -> bool:
    """What ``needs_approval`` says, which is a truth value or a function."""
    return bool(await await_value(given(*arguments)) if callable(given) else given)


# ---------------------------------------------------------------- patches
class Editor:
    """Makes the changes to files that the gate lets an editor make."""

    def __init__(self, calls: AgentTools, tool: str, editor: Any) -> None:
        self.calls, self._tool, self._editor = calls, tool, editor
        self._asked: dict[tuple[str, ...], str] = {}

    async def create_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult | str | None:
        """Make a file."""
        return await self._make(operation, "create_file")

    async def update_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult | str | None:
        """Change a file."""
        return await self._make(operation, "update_file")

    async def delete_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult | str | None:
        """Remove a file."""
        return await self._make(operation, "delete_file")

    async def needs_approval(
        self, context: RunContextWrapper[Any], operation: ApplyPatchOperation, call_id: str, given: Any
    ) -> bool:
        """Whether the run is to be interrupted: because the tool says so, or because the gate asks."""
        for number, (tool, tool_input) in enumerate(_changes(operation)):
            if await self.calls.asks(context, tool, tool_input, f"{call_id}:{number}", rewrites=False):
                # The editor is not told the call's id.
                self._asked[_identity(operation)] = call_id
                return True
        return await _truth(given, context, operation, call_id)

    async def _make(self, operation: ApplyPatchOperation, way: str) -> ApplyPatchResult | str | None:
        context = operation.ctx_wrapper
        asked = self._asked.pop(_identity(operation), "")
        changes = [
            (tool, tool_input, f"{asked}:{number}" if asked else "")
            for number, (tool, tool_input) in enumerate(_changes(operation))
        ]
        for number, change in enumerate(changes):
            decision = await self.calls.decide(context, *change, rewrites=False)
            if not self.calls.permits(context, decision, self._tool, asked):
                await _report_not_run(self.calls, context, changes[:number])
                return ApplyPatchResult(status="failed", output=refusal_of(decision))
        made: ApplyPatchResult | str | None = await await_value(getattr(self._editor, way)(operation))
        text = made.output if isinstance(made, ApplyPatchResult) else made
        if not text:
            return made
        tool, tool_input, call_id = changes[0]
        result = await self.calls.note_result(context, tool, tool_input, text, call_id)
        shown = as_text(result.output)
        return dataclasses.replace(made, output=shown) if isinstance(made, ApplyPatchResult) else shown


def _identity(operation: ApplyPatchOperation) -> tuple[str, ...]:
    return (operation.type, operation.path, operation.diff or "", operation.move_to or "")


def _changes(operation: ApplyPatchOperation) -> list[tuple[str, Mapping[str, Any]]]:
    """What an operation comes to, in words that the gate knows."""
    paths = [path for path in (operation.path, operation.move_to) if path]
    if operation.type == "delete_file":
        return [(SHELL, {"command": shlex.join(["rm", "--", _path(path)])}) for path in paths]
    added = [line[1:] for line in (operation.diff or "").split("\n") if line.startswith("+")]
    return [(_WRITE, {"file_path": path, "content": "\n".join(added)}) for path in paths]


def _path(path: str) -> str:
    return os.path.normpath(path)


def copy_tool(tool: Any, **changes: Any) -> Any:
    """A copy of a tool with other members. What its class sets up is set up already."""
    made = copy.copy(tool)
    for name, value in changes.items():
        setattr(made, name, value)
    return made
