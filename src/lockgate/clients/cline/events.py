"""The dialect of Cline, which is our own: a plugin in the client (``cline_plugin.js``) writes it and reads it.

Seen with version 3.0.65. The client waits three seconds for the plugin, so that nobody can be asked meanwhile.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping

from lockgate.clients.adapter import HookOutput, OwnDialect, refusal_text
from lockgate.clients.common import tool_names
from lockgate.clients.common.payload import identifier, prompt_submitted, require_object, session_started, text
from lockgate.core.events import Answer, Context, Event, ToolFinished, ToolRequested
from lockgate.core.model import ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

CLIENT = "cline"
EVENTS = ("before_tool", "after_tool", "prompt", "session_start")
"""The events that the plugin passes on, by names of its own."""
_ACTING = frozenset({"act", "yolo"})
"""The modes in which the client has no rules of its own about commands."""
_SERVER_MARK = "__"
"""What stands between a server and its tool in a name; no tool of the client's own has it."""


def _texts_of(value: Any, *fields: str) -> list[str]:
    """The texts of a list of objects, or of texts where no field is named; empty where anything is something else."""
    items: list[Any] = value if isinstance(value, list) else []
    told = [item.get(field) if isinstance(item, dict) else None for item in items for field in fields]
    texts = [each for each in (told if fields else items) if isinstance(each, str)]
    return texts if len(texts) == len(items) * max(len(fields), 1) else []


def _join_commands(commands: list[str]) -> str:
    """Commands as one: the client gives each of them a shell of its own, in the folder of the project."""
    return commands[0] if len(commands) == 1 else "; ".join(f"bash -c {shlex.quote(each)}" for each in commands)


def _translate_list_call(tool: str, given: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """A call of a tool that takes a list, as the analysis knows it; ``None`` where it is none, or is not understood."""
    if tool == "run_commands" and (commands := _texts_of(given.get("commands"))):
        return "Bash", {"command": _join_commands(commands)}
    if tool == "read_files" and (paths := _texts_of(given.get("files"), "path")):
        return "ReadFiles", {"paths": paths}
    if tool == "fetch_web_content" and (words := _texts_of(given.get("requests"), "url", "prompt")):
        return "WebFetches", {"prompt": "\n".join(words)}
    if tool == "search_codebase" and (patterns := _texts_of(given.get("queries"))):
        return "Grep", {"pattern": "\n".join(patterns)}
    return None


def _call(payload: Mapping[str, Any], context: Context) -> ToolCall:
    call_id = identifier(payload, "tool_use_id", maybe=True)
    call = ToolCall(text(payload, "tool_name"), require_object(payload, "tool_input"), context.cwd, call_id)
    if known := _translate_list_call(call.tool, call.tool_input):
        return call._replace(tool=known[0], tool_input=known[1])
    if _SERVER_MARK in call.tool:
        return call._replace(tool=f"mcp__{call.tool}")
    return tool_names.translate(CLIENT, call)


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    return ToolRequested(context, _call(payload, context), askable=False)


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    from lockgate.clients.common import results

    return results.make_finished_event(context, _call(payload, context), payload.get("tool_output"))


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Context], Event]] = {
    "before_tool": _read_request,
    "after_tool": _read_result,
    "prompt": prompt_submitted,
    "session_start": session_started,
}


class Cline(OwnDialect):
    """The adapter of Cline."""

    CLIENT = CLIENT
    EVENTS = EVENTS
    CALL_EVENT = "before_tool"
    DECODERS = _DECODERS
    AGENT = "agent_id"
    TOLD = {"mode": "mode"}  # noqa: RUF012

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """A call is where a plan is made: there the client has a list of commands that it does not run."""
        return context.mode not in _ACTING

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer: the plugin skips a call, changes its arguments or shows another result, as it is told.

        It takes anything but one JSON object with exit code 0 for a refusal.
        """
        output: dict[str, Any] = {}
        if event_name == "before_tool" and answer.verdict is Verdict.CONTAIN and answer.new_input is not None:
            output["args"] = {"commands": [answer.new_input.get("command")]}
        elif event_name in ("before_tool", "prompt") and answer.verdict is not Verdict.ALLOW:
            output["deny"] = refusal_text(answer)
        if isinstance(event, ToolFinished) and (answer.withheld or answer.texts):
            from lockgate.clients.common import results

            output["output"] = answer.withheld or results.with_texts(event.result, answer.texts)
        return HookOutput(json.dumps(output))


ADAPTER = Cline()
