"""Qwen Code's dialect: translates hook payloads to events, and answers to what it reads.

Seen with version 0.24.4. Its hooks look like Claude Code's, and are obeyed otherwise: a call cannot be changed, and a
result is replaced only by an answer that seems to stop the run. It tells a prompt before each request to its model;
only ``submitted_prompt`` is what somebody typed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

from lockgate.clients.adapter import (
    ClientAdapter,
    HookOutput,
    failure,
    hook_output,
    new_text,
    reason_to_repeat,
    refusal,
    refusal_text,
)
from lockgate.clients.common import tool_names, transcripts
from lockgate.clients.common.payload import (
    agent_decoder,
    identifier,
    optional,
    require_object,
    session_begun,
    session_ended,
    text,
)
from lockgate.core.events import (
    REGISTERED,
    AgentStarted,
    AgentStopped,
    Answer,
    Context,
    Event,
    PromptSubmitted,
    ToolFailed,
    ToolRequested,
)
from lockgate.core.lazy import lazy_re
from lockgate.core.model import ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from lockgate.clients.common.hook_command import HookLaunch

CLIENT = "qwen-code"
EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "SubagentStart",
    "SubagentStop",
)
"""The events that the gate is registered for."""
IGNORED = frozenset({
    "InstructionsLoaded", "MessageDisplay", "Notification", "PermissionDenied", "PermissionRequest", "PostCompact",
    "PostToolBatch", "PreCompact", "Stop", "StopFailure", "TodoCreated", "UserPromptExpansion",
})  # fmt: skip
"""Events that exist and need nothing from the gate."""
_SHELL = "run_shell_command"
_END = lazy_re(r"\nError: \(none\)\nExit Code: \d+\nSignal: \(none\)\nProcess Group PGID: (?:\(none\)|\d+)\Z")
"""What the client itself writes behind the output of a command that had no error."""
_ADDS_CONTEXT = frozenset({"PreToolUse", "PostToolUse", "UserPromptSubmit", "SessionStart", "SubagentStart"})
_ABOUT_SHELL = (_SHELL.encode(), b"ShellTool", b"Shell(", b"Bash", b'"Shell"')
"""Names of the shell in rules of ``permissions`` and ``tools``, in settings and on the command line."""
_SETTINGS = ("settings.json", "settings.local.json", "system-defaults.json")
_SYSTEM = ("/etc/qwen-code", "/Library/Application Support/QwenCode")
_NEWS = "<task-notification"
"""How text begins that the client itself submits: the report of an agent in the background."""


def _call(payload: Mapping[str, Any], context: Context) -> ToolCall:
    call_id = identifier(payload, "tool_use_id", maybe=True)
    call = ToolCall(text(payload, "tool_name"), require_object(payload, "tool_input"), context.cwd, call_id)
    return tool_names.translate(CLIENT, call)


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    # Its window asks in every mode; without one it refuses what a hook asks about.
    return ToolRequested(context, _call(payload, context), askable=True, rewritable=False)


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    from lockgate.clients.common import results

    tool, tool_input = text(payload, "tool_name"), require_object(payload, "tool_input")
    background = tool_names.goes_on(CLIENT, tool, tool_input)
    shown = require_object(payload, "tool_response").get("llmContent")
    event = results.make_finished_event(context, _call(payload, context), shown, background=background)
    if tool != _SHELL:
        return event
    return event._replace(text=_read_printed_text(event.text, str(tool_input.get("command", ""))))


def _read_printed_text(text: str, command: str) -> str:
    """What a command has printed, without the lines that the client puts before and behind it; in doubt all of it."""
    before = f"Command: {command}\nDirectory: "
    if not text.startswith(before):
        return text
    output = text[len(before) :].partition("\n")[2].removeprefix("Output: ")
    output = _END.sub("", output)
    return "" if output == "(empty)" else output


def _read_failure(payload: Mapping[str, Any], context: Context) -> Event:
    return ToolFailed(context, _call(payload, context), text(payload, "error", empty=True))


def _prompt(payload: Mapping[str, Any], context: Context) -> Event:
    """What somebody typed is a person's; what comes without it was written by nobody who sits there."""
    typed = optional(payload, "submitted_prompt")
    prompt = typed or text(payload, "prompt", empty=True)
    human = bool(typed) and not context.subject.agent and (prompt.startswith(REGISTERED) or _NEWS not in prompt)
    return PromptSubmitted(context, prompt, human)


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Context], Event]] = {
    "PreToolUse": _read_request,
    "PostToolUse": _read_result,
    "PostToolUseFailure": _read_failure,
    "UserPromptSubmit": _prompt,
    "SessionStart": session_begun,
    "SessionEnd": session_ended,
    "SubagentStart": agent_decoder("agent_id", AgentStarted),
    "SubagentStop": agent_decoder("agent_id", AgentStopped),
}


def _call_answer(answer: Answer, event: Event | None) -> dict[str, Any]:
    """What becomes of a call. A command that is to run contained is refused, with the one to run in its place."""
    again = reason_to_repeat(answer, event)
    if again == "" or answer.verdict is Verdict.ALLOW:
        return {}
    if answer.verdict is Verdict.ASK:
        return {"permissionDecision": "ask", "permissionDecisionReason": refusal_text(answer)}
    return refusal(again or refusal_text(answer))


class Qwen(ClientAdapter):
    """The adapter of Qwen Code."""

    CLIENT = CLIENT
    EVENTS = EVENTS
    CALL_EVENT = "PreToolUse"
    IGNORED = IGNORED
    DECODERS = _DECODERS
    AGENT = "agent_id"
    TOLD = {"transcript": "transcript_path", "mode": "permission_mode", "agent_type": "agent_type"}  # noqa: RUF012

    def decode(
        self, payload: Mapping[str, Any], environ: Mapping[str, str], launch: HookLaunch | None = None
    ) -> Event | None:
        """Translate a payload as the base class does. A request to the model without a prompt needs nothing."""
        if payload.get(self.EVENT_FIELD) == "UserPromptSubmit" and payload.get("prompt") == "":
            return None
        return super().decode(payload, environ, launch)

    def has_history(self, context: Context) -> bool:
        """Whether a session's transcript shows that it has called a tool already."""
        return any(b"functionResponse" in line for line in transcripts.ends_of(context.transcript))

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether the client may have a rule about a command, which would not know it again when it is contained.

        The model itself calls the contained command, and the client holds its rules against that.
        """
        from lockgate.clients.common.folders import client_folder
        from lockgate.clients.common.rule_words import may_hold
        from lockgate.system import caller

        own = client_folder("QWEN_HOME", os.path.join(home, ".qwen"), caller.environ())
        folders = (own, os.path.join(home, ".qwen"), os.path.join(context.workspace, ".qwen"), *_SYSTEM)
        files = (os.path.join(folder, name) for folder in folders for name in _SETTINGS)
        return may_hold(_ABOUT_SHELL, context.process, files)

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer: one JSON object or nothing, and the exit code."""
        output: dict[str, Any] = {}
        specific: dict[str, Any] = _call_answer(answer, event) if event_name == "PreToolUse" else {}
        if event_name == "PostToolUse" and (new := new_text(answer, event)) is not None:
            # The only answer that changes what the model reads. The run goes on.
            output |= {"continue": False, "stopReason": new}
        if event_name == "UserPromptSubmit" and answer.verdict is not Verdict.ALLOW:
            output |= {"decision": "block", "reason": refusal_text(answer)}
        if answer.context and event_name in _ADDS_CONTEXT:
            specific["additionalContext"] = answer.context
        to_person = answer.to_person if specific.get("permissionDecision") != "ask" else ""
        output |= hook_output(event_name, specific, to_person)
        return HookOutput(json.dumps(output) if output else "")

    def encode_failure(
        self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
    ) -> HookOutput:
        """Spell "the gate could not decide": stdout, stderr and the exit code. 2 refuses a call.

        A result that nobody looked at is withheld, which takes exit code 0.
        """
        reason = failure(message)
        if event_name == "PostToolUse":
            return HookOutput(json.dumps({"continue": False, "stopReason": reason}), f"{reason}\n")
        name = event_name if event_name in ("PreToolUse", "UserPromptSubmit") else "PreToolUse"
        refusal = self.encode(name, Answer(Verdict.DENY, to_agent=reason))
        return refusal._replace(stderr=f"{reason}\n", exit_status=2)


ADAPTER = Qwen()
