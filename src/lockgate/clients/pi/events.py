"""The dialect of pi, which is our own: an extension in the client (``pi_extension.js``) writes it and reads it.

Seen with version 1.5.2. Calls that a script of ``codemode`` makes come with ids of their own, as any other call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from lockgate.clients.adapter import HookOutput, OwnDialect, refusal_text
from lockgate.clients.common import tool_names, transcripts
from lockgate.clients.common.payload import identifier, optional, require_object, session_ended, text
from lockgate.core.events import (
    REGISTERED,
    Answer,
    Context,
    Event,
    InstructionsLoaded,
    PromptSubmitted,
    SessionStarted,
    ToolFinished,
    ToolRequested,
)
from lockgate.core.model import ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

CLIENT = "pi"
EVENTS = ("tool_call", "tool_result", "input", "context_file", "session_start", "session_shutdown")
"""The events that the extension passes on. ``context_file`` is its own name for one file of instructions."""
_BEGINNINGS = {"startup": "startup", "reload": "resume", "new": "clear", "resume": "resume", "fork": "fork"}
"""How a session begins, in the words of the gate."""
_FILE = "<file name="
"""How the content of a file begins that the client itself has put into a prompt (``pi -p @file``)."""
_TURN = b'"role":"assistant"'
"""What stands in the record of a session that has gone on for a turn."""


def _call(payload: Mapping[str, Any], context: Context) -> ToolCall:
    call_id = identifier(payload, "tool_use_id", maybe=True)
    call = ToolCall(text(payload, "tool_name"), require_object(payload, "tool_input"), context.cwd, call_id)
    return tool_names.translate(CLIENT, call)


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    attended = payload.get("has_ui") is True
    return ToolRequested(context, _call(payload, context), askable=attended, headless=not attended)


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    from lockgate.clients.common import results

    return results.make_finished_event(context, _call(payload, context), payload.get("tool_output"))


def _prompt(payload: Mapping[str, Any], context: Context) -> Event:
    """What somebody typed is a person's, unless another extension wrote it, or it brings the text of a file along."""
    prompt = text(payload, "prompt", empty=True)
    typed = optional(payload, "source") != "extension" and _FILE not in prompt
    return PromptSubmitted(context, prompt, human=typed or prompt.startswith(REGISTERED))


def _read_beginning(payload: Mapping[str, Any], context: Context) -> Event:
    how = _BEGINNINGS.get(text(payload, "reason"), "resume")
    parent = identifier(payload, "parent", maybe=True)
    if how == "startup" and _goes_on(context):
        how = "resume"
    return SessionStarted(context, how, parents=(parent,) if parent else ())


def _goes_on(context: Context) -> bool:
    """Whether a session has been used before: ``pi --continue`` tells of its beginning as of a new one's."""
    return any(_TURN in line for line in transcripts.ends_of(context.transcript))


def _instructions(payload: Mapping[str, Any], context: Context) -> Event:
    return InstructionsLoaded(context, text(payload, "file"), "session_start")


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Context], Event]] = {
    "tool_call": _read_request,
    "tool_result": _read_result,
    "input": _prompt,
    "context_file": _instructions,
    "session_start": _read_beginning,
    "session_shutdown": session_ended,
}


class Pi(OwnDialect):
    """The adapter of pi."""

    CLIENT = CLIENT
    EVENTS = EVENTS
    CALL_EVENT = "tool_call"
    DECODERS = _DECODERS
    TOLD = {"transcript": "transcript_path"}  # noqa: RUF012

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """No call is: the client has no rules of its own that could be about one."""
        return False

    def has_history(self, context: Context) -> bool:
        """Whether the client's record of a session shows that it has gone on for a turn; in doubt it has."""
        return not context.transcript or _goes_on(context)

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer: the extension refuses, asks, changes arguments or shows another result, as it is told.

        It takes anything but one JSON object with exit code 0 for a refusal.
        """
        output: dict[str, Any] = {}
        if event_name in ("tool_call", "input") and answer.verdict is not Verdict.ALLOW:
            output = _call_answer(answer) if event_name == "tool_call" else {"deny": refusal_text(answer)}
        if isinstance(event, ToolFinished) and (answer.withheld or answer.texts):
            output["output"] = _new_content(answer, event)
        return HookOutput(json.dumps(output))


def _call_answer(answer: Answer) -> dict[str, Any]:
    if answer.verdict is Verdict.CONTAIN and answer.new_input is not None:
        return {"args": dict(answer.new_input)}
    return {"ask" if answer.verdict is Verdict.ASK else "deny": refusal_text(answer)}


def _new_content(answer: Answer, event: ToolFinished) -> Any:
    """The content that the model reads instead, as the client has it: a list of blocks."""
    from lockgate.clients.common import results

    if answer.withheld:
        return [{"type": "text", "text": answer.withheld}]
    return results.with_texts(event.result, answer.texts)


ADAPTER = Pi()
