"""Cursor's dialect: translates hook payloads to events, and answers to what it reads.

From its documentation (https://cursor.com/docs/agent/hooks) and the sources in ``@cursor/sdk`` 1.0.32. It was not tried
with a running client, which needs an account.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

from lockgate.clients.adapter import ClientAdapter, HookOutput, failure, new_text, refusal_text
from lockgate.clients.common import tool_names, transcripts
from lockgate.clients.common.payload import (
    agent_decoder,
    identifier,
    optional,
    prompt_submitted,
    require_object,
    session_ended,
    session_started,
    text,
)
from lockgate.core.errors import BadInputError
from lockgate.core.events import (
    AgentStarted,
    AgentStopped,
    Answer,
    Context,
    Event,
    ToolFailed,
    ToolRequested,
)
from lockgate.core.model import Subject, ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


CLIENT = "cursor"
EVENTS = (
    "preToolUse",
    "postToolUse",
    "postToolUseFailure",
    "beforeSubmitPrompt",
    "sessionStart",
    "sessionEnd",
    "subagentStart",
    "subagentStop",
)
"""The events that the gate is registered for. ``preToolUse`` comes for every tool: the narrower ones add nothing."""
_MCP = "MCP:"
_SHELL = "Shell("
_RULES = ("cli-config.json", "cli.json", "permissions.json")
"""Files of the client's own rules, in the user's folder and in the project's."""
_MOST = 1024 * 1024


def _call(payload: Mapping[str, Any], context: Context) -> ToolCall:
    call_id = identifier(payload, "tool_use_id", maybe=True)
    call = ToolCall(text(payload, "tool_name"), require_object(payload, "tool_input"), context.cwd, call_id)
    if call.tool.startswith(_MCP):
        name = call.tool[len(_MCP) :]
        # The server is not named, so that nothing that is declared of a server holds for the tool.
        return call._replace(tool=f"mcp__{name}" if "__" not in name else f"{CLIENT}:{call.tool}")
    if call.tool.startswith("mcp__"):
        return call._replace(tool=f"{CLIENT}:{call.tool}")
    return tool_names.translate(CLIENT, call)


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    return ToolRequested(context, _call(payload, context), askable=False, headless=True)


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    if "tool_output" not in payload:
        raise BadInputError("the payload has no tool_output")
    from lockgate.clients.common import results

    return results.make_finished_event(context, _call(payload, context), payload["tool_output"])


def _read_failure(payload: Mapping[str, Any], context: Context) -> Event:
    error = payload.get("error_message", payload.get("error"))
    return ToolFailed(context, _call(payload, context), error if isinstance(error, str) else json.dumps(error))


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Context], Event]] = {
    "preToolUse": _read_request,
    "postToolUse": _read_result,
    "postToolUseFailure": _read_failure,
    "beforeSubmitPrompt": prompt_submitted,
    "sessionStart": session_started,
    "sessionEnd": session_ended,
    "subagentStart": agent_decoder("subagent_id", AgentStarted),
    "subagentStop": agent_decoder("subagent_id", AgentStopped),
}


class CursorClient(ClientAdapter):
    """The adapter of Cursor."""

    CLIENT = CLIENT
    EVENTS = EVENTS
    CALL_EVENT = "preToolUse"
    SESSION = ("parent_conversation_id", "conversation_id")
    AGENT = "subagent_id"
    DECODERS = _DECODERS

    def context(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Context:
        """The context of a payload: subject, folder, process."""
        roots = payload.get("workspace_roots")
        root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
        cwd = optional(payload, "cwd") or root
        parent = identifier(payload, "parent_conversation_id", maybe=True)
        agent = identifier(payload, "subagent_id", maybe=True)
        return Context(
            client=CLIENT,
            process=transcripts.client_process(""),
            subject=Subject(parent or identifier(payload, "conversation_id"), agent),
            cwd=cwd,
            workspace=root or cwd,
            agent_type=optional(payload, "subagent_type"),
            transcript=optional(payload, "transcript_path"),
        )

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether a call must not be rewritten: the client holds its rules against what a hook has changed."""
        from lockgate.clients.common.rule_words import mentions

        command = str(call.tool_input.get("command", ""))
        folders = [os.path.join(root, ".cursor") for root in (home, context.workspace)]
        files = [os.path.join(folder, name) for folder in folders for name in _RULES]
        for file in filter(os.path.lexists, files):
            settings = transcripts.parse_json(transcripts.read_file(file, _MOST))
            permissions = settings.get("permissions", {}) if isinstance(settings, dict) else None
            denied = permissions.get("deny", []) if isinstance(permissions, dict) else None
            if not isinstance(denied, list):
                return True
            rules = [rule[len(_SHELL) : -1] for rule in denied if isinstance(rule, str) and rule.startswith(_SHELL)]
            if any(mentions(rule, command) for rule in rules):
                return True
        return False

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer: always one JSON object, because the client takes nothing for a refusal.

        ``ask`` is not spelt: before a tool the client acts on ``deny`` alone.
        """
        output: dict[str, Any] = {}
        objects = answer.verdict is not Verdict.ALLOW
        if event_name == "preToolUse" and answer.verdict is Verdict.CONTAIN and answer.new_input is not None:
            # Of a command, the client takes what stands here over the rest.
            output = {"updated_input": {"command": answer.new_input["command"]}}
            if answer.context:
                output["additional_context"] = answer.context
        elif event_name in ("preToolUse", "subagentStart") and objects:
            output = {
                "permission": "deny",
                "agent_message": refusal_text(answer),
                "user_message": answer.to_person or refusal_text(answer),
            }
        elif event_name == "beforeSubmitPrompt" and objects:
            output = {"continue": False, "user_message": refusal_text(answer)}
        elif event_name == "postToolUse":
            new = new_text(answer, event)
            if new is not None:
                output["updated_mcp_tool_output"] = new
            if answer.context:
                output["additional_context"] = answer.context
        return HookOutput(json.dumps(output))

    def encode_failure(
        self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
    ) -> HookOutput:
        """Spell "the gate could not decide": stdout, stderr and the exit code. 2 refuses."""
        reason = failure(message)
        name = event_name if event_name == "beforeSubmitPrompt" else "preToolUse"
        refusal = self.encode(name, Answer(Verdict.DENY, to_agent=reason))
        return refusal._replace(stderr=f"{reason}\n", exit_status=2)


ADAPTER = CursorClient()
