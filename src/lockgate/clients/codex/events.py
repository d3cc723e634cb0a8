"""Codex CLI's dialect: translates hook payloads to events. ``answers.py`` spells the answers.

Seen with version 0.169.0. Which answers it takes stands in its sources: ``codex-rs/hooks/src/engine/output_parser.rs``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from lockgate.clients.adapter import AnswersApart
from lockgate.clients.codex import transcript
from lockgate.clients.common import tool_names
from lockgate.clients.common.payload import agent_decoder, identifier, require_object, session_ended, text
from lockgate.core.errors import BadInputError
from lockgate.core.events import (
    AgentStarted,
    AgentStopped,
    Context,
    Event,
    PromptSubmitted,
    SessionStarted,
    ToolFinished,
    ToolRequested,
)
from lockgate.core.lazy import lazy_re
from lockgate.core.model import ToolCall
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

    from lockgate.clients.adapter import Answers
    from lockgate.core.questions import Objection, RulesQuestion

CLIENT = "codex"
EVENTS = (
    "PreToolUse",
    "PostToolUse",
    "UserPromptSubmit",
    "SessionStart",
    "SessionEnd",
    "SubagentStart",
    "SubagentStop",
)
"""The events that the gate is registered for."""
IGNORED = frozenset({"PermissionRequest", "PreCompact", "PostCompact", "Stop", "StopFailure", "Interrupt"})
"""Events that exist and need nothing from the gate."""

_UNCONFINED = "bypassPermissions"
"""The mode in which Codex runs commands without a sandbox of its own. Inside of that, ours could not be built."""
_MACHINE_MARKS = ("<agent_message", "<subagent_notification", "<codex_delegation", "<hook_prompt")
"""How text begins that the client or another agent submits as the user's turn."""


def _call(payload: Mapping[str, Any], context: Context, *, ran: bool = False) -> ToolCall:
    call = ToolCall(
        text(payload, "tool_name"),
        require_object(payload, "tool_input"),
        context.cwd,
        identifier(payload, "tool_use_id", maybe=True),
    )
    call = tool_names.translate(CLIENT, call)
    command = call.tool_input.get("command")
    if call.tool != "Bash" or not isinstance(command, str):
        return call
    from lockgate.clients.codex.working_folder import find_working_folder

    cwd = find_working_folder(context.transcript, call.call_id, command, context.cwd, ran=ran)
    return _read_as_patch(call, command, cwd) or call._replace(cwd=cwd)


def _read_as_patch(call: ToolCall, command: str, cwd: str) -> ToolCall | None:
    """A command that changes files by a patch, which Codex does without a shell, as such a call."""
    if not cwd or "apply_patch" not in command:
        return None
    found = patch_in(command)
    if found is None:
        return None
    folder = os.path.normpath(os.path.join(cwd, found.folder))
    return call._replace(tool="ApplyPatch", tool_input={"patch": found.text}, cwd=folder)


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    return ToolRequested(context, _call(payload, context), askable=False, headless=True)


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    if "tool_response" not in payload:
        raise BadInputError("the payload has no tool_response")
    from lockgate.clients.common import results

    call, result = _call(payload, context, ran=True), payload["tool_response"]
    return results.make_finished_event(context, call, result)


def _prompt(payload: Mapping[str, Any], context: Context) -> Event:
    prompt = text(payload, "prompt", empty=True)
    human = not context.subject.agent and not any(mark in prompt for mark in _MACHINE_MARKS)
    return PromptSubmitted(context, prompt, human)


def _read_start(payload: Mapping[str, Any], context: Context) -> Event:
    how = text(payload, "source")
    parents = transcript.parent_sessions(context.transcript, context.subject.session)
    return SessionStarted(context, "fork" if parents else how, parents)


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Context], Event]] = {
    "PreToolUse": _read_request,
    "PostToolUse": _read_result,
    "UserPromptSubmit": _prompt,
    "SessionStart": _read_start,
    "SessionEnd": session_ended,
    "SubagentStart": agent_decoder("agent_id", AgentStarted),
    "SubagentStop": agent_decoder("agent_id", AgentStopped),
}


# ---------------------------------------------------------------- patches
# A command of Codex that its shell never sees: ``apply_patch`` with a here-document, which Codex carries out itself.
# Contained, it would be another command, and no shell has such a program. Codex takes a script for a patch if it is
# this one statement, with ``cd FOLDER &&`` before it at most. It refuses a patch that it cannot read:
# ``codex-rs/apply-patch/src/invocation.rs``. What is read here is a part of that, quoted word for word.
_STATEMENT = lazy_re(
    r"(?:cd (?P<folder>[\w./+@-]+) && )?apply_patch <<(?P<quote>['\"])(?P<mark>\w+)(?P=quote)\n"
    r"(?P<patch>\*\*\* Begin Patch\n[^\0\r]*\n\*\*\* End Patch)\n(?P=mark)\n?"
)


class Patch(Record):
    """A change of files that Codex makes by itself."""

    text: str
    folder: str
    """Where the patch's names begin, from the command's folder; empty for that folder."""


def patch_in(command: str) -> Patch | None:
    """The patch that a command is; ``None`` where a shell runs it."""
    found = _STATEMENT.fullmatch(command)
    # The shell's text ends at the first such line, and what follows would be commands.
    if found is None or found["mark"] in found["patch"].split("\n"):
        return None
    return Patch(found["patch"], found["folder"] or "")


class Codex(AnswersApart):
    """The adapter of Codex CLI."""

    CLIENT = CLIENT
    EVENTS = EVENTS
    CALL_EVENT = "PreToolUse"
    IGNORED = IGNORED
    DECODERS = _DECODERS
    OBJECTS = True
    AGENT = "agent_id"
    """Beside the id of its session."""
    TOLD = {"agent_type": "agent_type", "transcript": "transcript_path", "mode": "permission_mode"}  # noqa: RUF012

    def answers(self) -> Answers:
        """Load what spells an answer."""
        # By its whole name: docs/architecture.md, "The hot path".
        import lockgate.clients.codex.answers as answers

        return answers

    def find_missed(self, event: Event) -> Sequence[Event]:
        """Web searches, which the model's provider makes: no hook is run for them, but the transcript tells."""
        if not isinstance(event, ToolRequested | ToolFinished | PromptSubmitted):
            return ()
        return transcript.searches(event.context)

    def objections(self, question: RulesQuestion) -> Sequence[Objection]:
        """Programs that stay open: Codex types into them without asking a hook."""
        if question.call.tool != "Bash":
            return ()
        program = next(iter(question.analysis.listens), "")
        if not program:
            return ()
        from lockgate.core.questions import Objection

        reason = (
            f"`{program}` would run what is typed into it later, and Codex lets nobody look at that: "
            "give it a file or a here-document, or the text as an argument (-c, -e)"
        )
        return (Objection("codex:open-session", reason),)

    def parents_of(self, context: Context) -> tuple[str, ...]:
        """The sessions that a forked one came from."""
        return transcript.parent_sessions(context.transcript, context.subject.session)

    def has_history(self, context: Context) -> bool:
        """Whether a session's transcript shows that it has read something already."""
        return transcript.has_history(context.transcript)

    def results_since(self, context: Context, since: float) -> Sequence[str]:
        """The calls whose results a session's transcript holds that are newer than a time."""
        return transcript.results_since(context.transcript, since)

    def results_before(self, context: Context, until: float) -> Sequence[str]:
        """The first calls whose results a session's transcript holds that are older than a time."""
        return transcript.results_before(context.transcript, until)

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether a call must not be rewritten: in a sandbox of Codex, a second one could not be built."""
        return context.mode != _UNCONFINED

    def is_permitted(self, context: Context, call: ToolCall, home: str) -> bool:
        """Codex takes a rewritten call only with its permission, and asks by its own policy all the same."""
        return True


ADAPTER = Codex()
