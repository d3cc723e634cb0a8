"""Gemini CLI's dialect: translates hook payloads to events, and answers to what it reads.

Seen with version 0.61.0. It gives calls no ids: one that comes back is found by its digest. Calls of a sub-agent look
like the session's own, and are taken for those.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping

from lockgate.clients.adapter import ClientAdapter, HookOutput, failure, hook_output, new_text, refusal_text
from lockgate.clients.common import tool_names, transcripts
from lockgate.clients.common.payload import identifier, require_object, session_begun, session_ended, text
from lockgate.core.events import (
    REGISTERED,
    Answer,
    Context,
    Event,
    PromptSubmitted,
    ToolRequested,
)
from lockgate.core.lazy import lazy_re
from lockgate.core.model import ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


CLIENT = "gemini-cli"
EVENTS = ("BeforeTool", "AfterTool", "BeforeAgent", "SessionStart", "SessionEnd")
"""The events that the gate is registered for."""
IGNORED = frozenset({"AfterAgent", "BeforeModel", "AfterModel", "BeforeToolSelection", "PreCompress", "Notification"})
"""Events that exist and need nothing from the gate."""

_PIECE = lazy_re(r"\S+")
_LOG, _MOST_LOG = "logs.json", 32 * 1024 * 1024
"""Where the client keeps what was typed, in the folder above the one of transcripts."""
_ATTACHED = "\n--- Content from referenced files ---"
"""What the client writes between a person's words and the files that they mention."""
_FRAME = lazy_re(r"</?untrusted_context>|Process Group PGID: \d+|(?:Output: )?\(empty\)")
"""Lines that the client itself puts around what a command prints."""
_ADDS_CONTEXT = frozenset({"AfterTool", "BeforeAgent", "SessionStart"})
_BLOCKS = frozenset({"BeforeTool", "AfterTool", "BeforeAgent"})


def _call(payload: Mapping[str, Any], context: Context) -> ToolCall:
    call = ToolCall(text(payload, "tool_name"), require_object(payload, "tool_input"), context.cwd)
    server = payload.get("mcp_context")
    if isinstance(server, Mapping):
        return call._replace(tool=f"mcp__{identifier(server, 'server_name')}__{identifier(server, 'tool_name')}")
    if call.tool.startswith("mcp__"):  # by its own name alone, nobody could say whose tool it is
        return call._replace(tool=f"{CLIENT}:{call.tool}")
    return tool_names.translate(CLIENT, call)


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    return ToolRequested(context, _call(payload, context), askable=False, headless=True)


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    response = require_object(payload, "tool_response")
    from lockgate.clients.common import results

    background = tool_names.goes_on(CLIENT, text(payload, "tool_name"), require_object(payload, "tool_input"))
    event = results.make_finished_event(
        context, _call(payload, context), response.get("llmContent"), background=background
    )
    lines = (line.removeprefix("Output: ") for line in event.text.split("\n") if not _FRAME.fullmatch(line))
    return event._replace(text="\n".join(lines))


def _prompt(payload: Mapping[str, Any], context: Context) -> Event:
    prompt = text(payload, "prompt", empty=True)
    if not prompt.startswith(REGISTERED):  # behind that a stranger's text could begin with the client's own line
        prompt = keep_typed(prompt.partition(_ATTACHED)[0], context)
    return PromptSubmitted(context, prompt, human=True)


def keep_typed(prompt: str, context: Context) -> str:
    """A prompt without the addresses of which nothing shows that somebody typed them.

    The client puts the text of a command's file, or of a server, where ``/name`` was typed, without a mark. What shows
    it is the client's command line, and its log of what was typed in its window.
    """
    # Here, because only prompts need it.
    from lockgate.resources import addresses
    from lockgate.system.process_arguments import command_line

    pieces = {piece for piece in _PIECE.findall(prompt) if addresses.extract(piece, 1)}
    if not pieces:
        return prompt
    typed = "\n".join([*command_line(context.process).words, *_find_logged(context)])
    unsaid = {piece for piece in pieces if piece not in typed}
    return _PIECE.sub(lambda match: " " if match.group() in unsaid else match.group(), prompt)


def _find_logged(context: Context) -> Iterator[str]:
    """What was typed in the client's window in this session, as far as its log tells."""
    file = os.path.join(os.path.dirname(os.path.dirname(context.transcript)), _LOG)
    log = transcripts.parse_json(transcripts.read_file(file, _MOST_LOG)) if context.transcript else None
    for entry in log if isinstance(log, list) else ():
        if isinstance(entry, dict) and (entry.get("sessionId"), entry.get("type")) == (context.subject.session, "user"):
            message = entry.get("message")
            if isinstance(message, str):
                yield message


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Context], Event]] = {
    "BeforeTool": _read_request,
    "AfterTool": _read_result,
    "BeforeAgent": _prompt,
    "SessionStart": session_begun,
    "SessionEnd": session_ended,
}


def _instead(answer: Answer, event: Event | None) -> str:
    """What the model reads instead of running a call, or of its result; empty where nothing changes."""
    new = new_text(answer, event)
    if new is not None:
        return new
    return refusal_text(answer) if answer.verdict is not Verdict.ALLOW else ""


_ABOUT_SHELL = (b"run_shell_command", b"ShellTool", b"commandPrefix", b"commandRegex")
_SYSTEM = ("/etc/gemini-cli", "/Library/Application Support/GeminiCli")


def has_shell_rules(context: Context, home: str) -> bool:
    """Whether a file or the command line may hold a rule about shell commands. In doubt there is.

    The client (0.61.0) asks its policy after the hooks: a rule would not know a rewritten command again.
    """
    from lockgate.clients.common.rule_words import may_hold

    files = []
    for folder in (os.path.join(home, ".gemini"), os.path.join(context.workspace, ".gemini"), *_SYSTEM):
        files.append(os.path.join(folder, "settings.json"))
        policies = os.path.join(folder, "policies")
        try:
            files += [os.path.join(policies, name) for name in os.listdir(policies)]
        except OSError:
            continue
    return may_hold(_ABOUT_SHELL, context.process, files)


class Gemini(ClientAdapter):
    """The adapter of Gemini CLI."""

    CLIENT = CLIENT
    EVENTS = EVENTS
    CALL_EVENT = "BeforeTool"
    IGNORED = IGNORED
    DECODERS = _DECODERS
    TOLD = {"transcript": "transcript_path"}  # noqa: RUF012

    def has_history(self, context: Context) -> bool:
        """Whether a session's transcript shows that it has called a tool already."""
        for line in transcripts.ends_of(context.transcript):
            record = transcripts.parse_json(line) if b"toolCalls" in line else None
            if isinstance(record, dict) and record.get("toolCalls"):
                return True
        return False

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether a call must not be rewritten: the person may have a rule about it, which would not know it again."""
        return has_shell_rules(context, home)

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer: one JSON object or nothing, and the exit code.

        ``ask`` is not spelt: without a terminal the client would wait for ever.
        """
        output: dict[str, Any] = {}
        specific: dict[str, Any] = {}
        if event_name == "BeforeTool" and answer.verdict is Verdict.CONTAIN and answer.new_input is not None:
            # It takes the place of the whole input.
            specific["tool_input"] = dict(answer.new_input)
        elif event_name in _BLOCKS and (reason := _instead(answer, event)):
            output |= {"decision": "deny", "reason": reason}
        if answer.context and event_name in _ADDS_CONTEXT:
            specific["additionalContext"] = answer.context
        output |= hook_output(event_name, specific, answer.to_person)
        return HookOutput(json.dumps(output) if output else "")

    def encode_failure(
        self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
    ) -> HookOutput:
        """Spell "the gate could not decide": stdout, stderr and the exit code. 2 refuses a call or its result."""
        reason = failure(message)
        refusal = self.encode(
            event_name if event_name in _BLOCKS else "BeforeTool", Answer(Verdict.DENY, to_agent=reason)
        )
        return refusal._replace(stderr=f"{reason}\n", exit_status=2)


ADAPTER = Gemini()
