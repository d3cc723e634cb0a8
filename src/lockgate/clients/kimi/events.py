"""Kimi Code's dialect: translates hook payloads to events, and refusals to what it reads.

Seen with version 2.1.0. Its hooks look like Claude Code's, and it obeys nothing but a refusal: no call and no result
can be changed, and a question counts as a yes. A result is told after the model has it, and only its beginning. What an
agent that it starts does is told as the session's own.
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
    reason_to_repeat,
    refusal,
    refusal_text,
)
from lockgate.clients.common import tool_names
from lockgate.clients.common.payload import (
    identifier,
    require_object,
    session_begun,
    session_ended,
    text,
)
from lockgate.core.errors import BadInputError
from lockgate.core.events import (
    Answer,
    Context,
    Event,
    PromptSubmitted,
    ToolFailed,
    ToolRequested,
)
from lockgate.core.model import ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

CLIENT = "kimi-code"
EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "SessionStart", "SessionEnd")
"""The events that the gate is registered for."""
_TOLD = 2000
"""How much of a result the client tells, in units of UTF-16."""
_CUT = "\n[the rest is not told]"
_CALL_ID = "tool_call_id"
_ABOUT_RULES = (b"[permission", b"permission.", b"permission =", b"permission=", b'"permission"', b"'permission'")
"""How settings begin that hold rules about tools."""


def _call(payload: Mapping[str, Any], context: Context) -> ToolCall:
    call_id = identifier(payload, _CALL_ID, maybe=True)
    call = ToolCall(text(payload, "tool_name"), require_object(payload, "tool_input"), context.cwd, call_id)
    return tool_names.translate(CLIENT, call)


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    return ToolRequested(context, _call(payload, context), askable=False, rewritable=False)


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    """A result that the model has read already: what is found in it stays there."""
    from lockgate.clients.common import results

    shown = text(payload, "tool_output", empty=True)
    if len(shown.encode("utf-16-le", "surrogatepass")) >= 2 * _TOLD:
        shown += _CUT
    tool, tool_input = text(payload, "tool_name"), require_object(payload, "tool_input")
    background = tool_names.goes_on(CLIENT, tool, tool_input)
    event = results.make_finished_event(context, _call(payload, context), shown, background=background, whole=False)
    return event._replace(texts=(), names=shown)


def _read_failure(payload: Mapping[str, Any], context: Context) -> Event:
    error = require_object(payload, "error")
    return ToolFailed(context, _call(payload, context), text(error, "message", empty=True), or_refused=True)


def _prompt(payload: Mapping[str, Any], context: Context) -> Event:
    """What somebody typed is the last text of a prompt: those before it are skills that it calls."""
    parts = payload.get("prompt")
    if not isinstance(parts, list):
        raise BadInputError("prompt must be an array")
    texts = [text(part, "text", empty=True) for part in parts if isinstance(part, dict) and part.get("type") == "text"]
    return PromptSubmitted(context, texts[-1] if texts else "", human=True)


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Context], Event]] = {
    "PreToolUse": _read_request,
    "PostToolUse": _read_result,
    "PostToolUseFailure": _read_failure,
    "UserPromptSubmit": _prompt,
    "SessionStart": session_begun,
    "SessionEnd": session_ended,
}


class Kimi(ClientAdapter):
    """The adapter of Kimi Code."""

    CLIENT = CLIENT
    EVENTS = EVENTS
    CALL_EVENT = "PreToolUse"
    DECODERS = _DECODERS
    CALL_ID = _CALL_ID

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether the client may have a rule about a command, which would not know it again when it is contained."""
        from lockgate.clients.common.folders import client_folder
        from lockgate.clients.common.rule_words import may_hold
        from lockgate.system import caller

        own = client_folder("KIMI_CODE_HOME", os.path.join(home, ".kimi-code"), caller.environ())
        folders = (own, os.path.join(home, ".kimi-code"), os.path.join(context.workspace, ".kimi-code"))
        files = (os.path.join(folder, name) for folder in folders for name in ("config.toml", "local.toml"))
        return may_hold(_ABOUT_RULES, context.process, files)

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer: a refusal, or nothing. What a hook says of a prompt, the client tells its model."""
        if event_name not in ("PreToolUse", "UserPromptSubmit") or answer.verdict is Verdict.ALLOW:
            return HookOutput("")
        reason = reason_to_repeat(answer, event)
        if reason == "":
            return HookOutput("")
        return HookOutput(json.dumps(hook_output(event_name, refusal(reason or refusal_text(answer)), "")))

    def encode_failure(
        self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
    ) -> HookOutput:
        """Spell "the gate could not decide": stdout, stderr and the exit code. 2 refuses a call or a prompt."""
        reason = failure(message)
        refused = self.encode("PreToolUse", Answer(Verdict.DENY, to_agent=reason))
        return refused._replace(stderr=f"{reason}\n", exit_status=2)


ADAPTER = Kimi()
