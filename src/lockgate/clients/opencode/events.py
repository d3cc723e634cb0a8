"""OpenCode's dialect, which is our own: a plugin in the client (``opencode_plugin.js``) writes it and reads it.

Seen with version 1.18.33. The plugin gives every event the root session's id, and a sub-agent's own beside it. Kilo is
a descendant of OpenCode, loads the same plugin and speaks the same dialect.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping

from lockgate.clients.adapter import HookOutput, OwnDialect, new_text, refusal_text
from lockgate.clients.common import tool_names
from lockgate.clients.common.payload import (
    identifier,
    prompt_submitted,
    require_object,
    session_started,
    text,
)
from lockgate.core.events import Answer, Context, Event, ToolRequested
from lockgate.core.model import ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


EVENTS = ("tool.execute.before", "tool.execute.after", "chat.message", "session.created")
"""The events that the plugin passes on."""
_RULED = "ruled"
"""The mode of a call to which a permission rule of the client may apply."""


def _call(payload: Mapping[str, Any], context: Context) -> ToolCall:
    call_id = identifier(payload, "tool_use_id", maybe=True)
    call = ToolCall(text(payload, "tool_name"), require_object(payload, "tool_input"), context.cwd, call_id)
    if call.tool.startswith("mcp__"):  # a name of the client's own, that says nothing of a server
        return call._replace(tool=f"{context.client}:{call.tool}")
    return tool_names.translate(context.client, call)


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    call = _call(payload, context)
    command = call.tool_input.get("command")
    if call.tool == "Bash" and isinstance(command, str):
        ruled = may_be_refused(payload.get("permissions"), command, context.workspace)
        context = context._replace(mode=_RULED) if ruled else context
    return ToolRequested(context, call, askable=False, headless=True)


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    from lockgate.clients.common import results

    output = text(payload, "tool_output", empty=True)
    return results.make_finished_event(context, _call(payload, context), output, whole=False)


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Context], Event]] = {
    "tool.execute.before": _read_request,
    "tool.execute.after": _read_result,
    "chat.message": prompt_submitted,
    "session.created": session_started,
}


_SHELL = "bash"
_OUTSIDE_RULE = "external_directory"


def may_be_refused(permissions: Any, command: str, workspace: str) -> bool:
    """Whether a rule that refuses or asks may be about a command. In doubt it is.

    A plugin changes a call before the rules are held against it (seen with version 1.18.33). So a rule that is about
    the unchanged command would be lost. Form of the rules: https://opencode.ai/docs/permissions

    Args:
        permissions: The values of ``permission`` in the configuration, of each agent, and of sessions.
        command: The command.
        workspace: The project's folder: what is below it is not outside.
    """
    if not isinstance(permissions, list):
        return True
    # Here, because few calls come this far.
    from fnmatch import fnmatchcase

    from lockgate.clients.common.rule_words import mentions, stays_inside

    for value in permissions:
        for key, pattern, action in _rules(value):
            if action == "allow":
                continue
            if key == _OUTSIDE_RULE and action == "deny" and not stays_inside(command, workspace):
                return True
            if fnmatchcase(_SHELL, key) and (not pattern or mentions(pattern, command)):
                return True
    return False


def _rules(value: Any) -> Iterator[tuple[str, str, str]]:
    """Each rule as (what it is about, pattern, action); one that is not understood is about the shell, and refuses."""
    if value is None:
        return
    if isinstance(value, str):
        yield "*", "*", value
    elif isinstance(value, dict):
        for key, said in value.items():
            for pattern, action in said.items() if isinstance(said, dict) else [("*", said)]:
                yield str(key), str(pattern), str(action)
    elif isinstance(value, list) and all(isinstance(rule, dict) for rule in value):
        for rule in value:
            yield str(rule.get("permission", "*")), str(rule.get("pattern", "*")), str(rule.get("action", "deny"))
    else:
        yield _SHELL, "", "deny"


class OpenCode(OwnDialect):
    """The adapter of OpenCode."""

    CLIENT = "opencode"
    EVENTS = EVENTS
    CALL_EVENT = "tool.execute.before"
    DECODERS = _DECODERS
    AGENT = "agent_id"
    TOLD = {"workspace": "workspace"}  # noqa: RUF012

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether a call must not be rewritten: the client may have a rule about it, and would not know it again."""
        return context.mode == _RULED

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer: ``deny`` is thrown by the plugin; ``args`` and ``output`` replace arguments and result.

        The plugin takes anything but one JSON object with exit code 0 for a refusal.
        """
        output: dict[str, Any] = {}
        if event_name == "tool.execute.before" and answer.verdict is Verdict.CONTAIN and answer.new_input is not None:
            output["args"] = dict(answer.new_input)
        elif event_name in ("tool.execute.before", "chat.message") and answer.verdict is not Verdict.ALLOW:
            output["deny"] = refusal_text(answer)
        new = new_text(answer, event)
        if new is not None:
            output["output"] = new
        return HookOutput(json.dumps(output))


ADAPTER = OpenCode()
