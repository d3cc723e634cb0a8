"""Claude Code's dialect: translates hook payloads to events. ``answers.py`` spells the answers.

Field names, events and the way each answer is obeyed were observed with versions 2.1.197 and 2.1.329; where the two
differ, the form that works in both is used. The client's own reference: https://code.claude.com/docs/en/hooks
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lockgate.clients.adapter import AnswersApart
from lockgate.clients.common import transcripts
from lockgate.clients.common.payload import (
    agent_decoder,
    decoder_of,
    identifier,
    kind,
    optional,
    require_object,
    session_ended,
    text,
)
from lockgate.clients.common.transcripts import EVENTS, IGNORED, parse_json, read_file
from lockgate.core.errors import BadInputError
from lockgate.core.events import (
    AgentStarted,
    AgentStopped,
    CallsAnswered,
    ConfigChanged,
    Context,
    Event,
    InstructionsLoaded,
    PromptSubmitted,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolRefused,
    ToolRequested,
)
from lockgate.core.model import OBJECT, Subject, ToolCall
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

    from lockgate.clients.adapter import Answers
    from lockgate.clients.common.hook_command import HookLaunch
    from lockgate.core.questions import TurnQuestion
    from lockgate.system.folders import Folders

CLIENT = "claude-code"


def _call(payload: Mapping[str, Any], context: Context) -> ToolCall:
    tool_input = require_object(payload, "tool_input")
    tool = text(payload, "tool_name")
    return ToolCall(tool, tool_input, context.cwd, identifier(payload, "tool_use_id", maybe=True))


def _read_request(payload: Mapping[str, Any], context: Context) -> Event:
    # By its whole name: docs/architecture.md, "The hot path".
    from lockgate.clients.claude import asks_person

    call = _call(payload, context)
    return ToolRequested(context, call, asks_person.asks_a_person(call.tool, call.tool_input, context.mode))


def _read_result(payload: Mapping[str, Any], context: Context) -> Event:
    call = _call(payload, context)
    if "tool_response" not in payload:
        raise BadInputError("the payload has no tool_response")
    result = payload["tool_response"]
    import lockgate.clients.claude.results as results
    from lockgate.clients.common import result_texts

    agent, background = results.find_spawned_agent(call.tool, result)
    kept, shown = result_texts.find_kept_file(call.tool, result)
    return ToolFinished(
        context,
        call,
        result,
        text=results.result_text(call.tool, result),
        agent=agent,
        background=background,
        texts=result_texts.texts_of(call.tool, result),
        names=result_texts.names_of(result),
        kept=kept,
        shown=shown,
    )


def _read_failure(payload: Mapping[str, Any], context: Context) -> Event:
    return ToolFailed(context, _call(payload, context), text(payload, "error", empty=True))


def _read_refusal(payload: Mapping[str, Any], context: Context) -> Event:
    return ToolRefused(context, _call(payload, context), optional(payload, "reason"))


def _read_answer(payload: Mapping[str, Any], context: Context) -> Event:
    return CallsAnswered(context)


def _prompt(payload: Mapping[str, Any], context: Context) -> Event:
    prompt = text(payload, "prompt", empty=True)

    human, outside = author(prompt, optional(payload, "source"))
    return PromptSubmitted(context, prompt, human, transcripts.find_rejected_calls(context.transcript), outside)


def _read_start(payload: Mapping[str, Any], context: Context) -> Event:
    how = text(payload, "source")
    parents: tuple[str, ...] = ()
    if how in {"fork", "resume"}:
        parents = transcripts.parent_sessions(context.transcript, context.subject.session)
    return SessionStarted(context, how, parents)


def _instructions(payload: Mapping[str, Any], context: Context) -> Event:
    return InstructionsLoaded(context, text(payload, "file_path"), optional(payload, "load_reason"))


def _config_changed(payload: Mapping[str, Any], context: Context, launch: HookLaunch | None) -> Event:
    from lockgate.clients.common.hook_command import valid_entries

    file = optional(payload, "file_path")
    entries = valid_entries(launch, EVENTS) if launch and launch.settings else {}
    harm = transcripts.harm_of_change(file, launch.settings if launch else "", entries)
    if not harm and file and launch and launch.plugin:
        harm = transcripts.harm_to_plugin(file, launch.plugin, context.workspace)

    source = text(payload, "source")
    return ConfigChanged(context, source, file, harm, find_acting_settings(source, file, entries))


_DECODERS: Mapping[str, Callable[[Mapping[str, Any], Context], Event]] = {
    "PreToolUse": _read_request,
    "PostToolUse": _read_result,
    "PostToolUseFailure": _read_failure,
    "PermissionDenied": _read_refusal,
    "PostToolBatch": _read_answer,
    "Stop": _read_answer,
    "UserPromptSubmit": _prompt,
    "SessionStart": _read_start,
    "SessionEnd": session_ended,
    "SubagentStart": agent_decoder("agent_id", AgentStarted),
    "SubagentStop": agent_decoder("agent_id", AgentStopped),
    "InstructionsLoaded": _instructions,
}


_INSIDE = ("<task-notification", "<agent-message")
"""How text begins that the client itself or an agent of this session submits: its labels come by other ways."""

_OUTSIDE = (
    *("<channel ", "<cross-session-message", "<teammate-message", "<slack-ping", "<slack-tag-message"),
    *("<mcp-resource-update", "<mcp-polling-update", "<remote-review", "<fetched-web-content", "<coordinator-relay"),
)
"""How text begins that comes from elsewhere. What another session has read, nobody knows here."""

_OUTSIDE_SOURCES = frozenset({"poll_event"})
_HUMAN_SOURCES = frozenset({"", "user", "sdk"})
"""The submitter of a prompt, as the client names it; ``sdk`` is an SDK's caller, or ``claude -p``."""


class Author(Record):
    """The author of a prompt."""

    human: bool
    """Whether a person did."""
    outside: bool
    """Whether it comes from outside of the session."""


def author(prompt: str, source: str) -> Author:
    """Tell who wrote a prompt. A mark counts wherever it stands: queued messages are submitted as one.

    Args:
        prompt: Its text.
        source: Who submitted it, empty where the client does not say so.
    """
    outside = source in _OUTSIDE_SOURCES or any(mark in prompt for mark in _OUTSIDE)
    inside = any(mark in prompt for mark in _INSIDE)
    return Author(source in _HUMAN_SOURCES and not outside and not inside, outside)


# What a project's settings run, or whom they have the client talk to. It takes a changed file into the running session
# at once (seen with version 2.1.329): hooks that came with a branch run at the next call.
# Keys: https://code.claude.com/docs/en/settings
_MAX = 4 * 1024 * 1024
_SOURCES = frozenset({"project_settings", "local_settings"})
_ACTING = (
    *("env", "statusLine", "subagentStatusLine", "fileSuggestion", "apiKeyHelper", "otelHeadersHelper"),
    *("awsAuthRefresh", "awsCredentialExport", "gcpAuthRefresh", "enabledPlugins", "extraKnownMarketplaces"),
    *("enableAllProjectMcpServers", "enabledMcpjsonServers"),
)
"""Settings that name a command, code that is loaded, or variables of the client."""


def find_acting_settings(source: str, file: str, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> str:
    """The settings in a changed file that act, for a person; empty where there are none.

    Only the files of a project: whoever brings in a branch brings in those, and no agent can write the others.

    Args:
        source: Which settings the client says have changed.
        file: Their file.
        entries: The gate's own hooks for each event.
    """
    if source not in _SOURCES or not file:
        return ""
    settings = parse_json(read_file(file, _MAX))
    if not isinstance(settings, Mapping):
        return ""
    found = ["hooks"] if _has_other_hooks(settings.get("hooks"), entries) else []
    return ", ".join(found + [name for name in _ACTING if settings.get(name)])


def _has_other_hooks(hooks: Any, entries: Mapping[str, Sequence[Mapping[str, Any]]]) -> bool:
    """Whether there are hooks, or what could be hooks, beside the gate's own. Those are known by their whole entry."""
    if not isinstance(hooks, Mapping):
        return bool(hooks)
    return any(
        not _are_all_in(group, entries.get(event, ()))
        for event, groups in hooks.items()
        for group in (groups if isinstance(groups, list) else [groups])
    )


def _are_all_in(group: Any, own: Sequence[Mapping[str, Any]]) -> bool:
    inside = group.get("hooks") if isinstance(group, Mapping) else None
    return isinstance(inside, list) and all(entry in own for entry in inside)


class Claude(AnswersApart):
    """The adapter of Claude Code."""

    CLIENT = CLIENT
    EVENTS = EVENTS
    CALL_EVENT = "PreToolUse"
    AGENT = "agent_id"
    ASKING_TOOL = "AskUserQuestion"

    def decode(
        self, payload: Mapping[str, Any], environ: Mapping[str, str], launch: HookLaunch | None = None
    ) -> Event | None:
        """Translate a payload as the base class does; look closer at changed settings and questions to a person."""
        if not isinstance(payload, OBJECT):
            raise BadInputError(f"the payload must be a JSON object, not {kind(payload)}")
        if payload.get("hook_event_name") == "ConfigChange":
            return _config_changed(payload, self.context(payload, environ), launch)
        decoder = decoder_of(payload, _DECODERS, IGNORED)
        if decoder is None:
            return None
        event = decoder(payload, self.context(payload, environ))
        if not isinstance(event, ToolRequested) or environ.get("CLAUDE_CODE_ENTRYPOINT", "cli") == "cli":
            return event
        from lockgate.clients.claude.asks_person import mark_headless

        return mark_headless(event, environ)

    def context(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Context:
        """The context of a payload: subject, folder, process."""
        cwd = text(payload, "cwd")
        transcript = optional(payload, "transcript_path")
        agent = identifier(payload, "agent_id", maybe=True)
        subject = Subject(identifier(payload, "session_id"), agent)
        workspace = environ.get("CLAUDE_PROJECT_DIR") or cwd
        agent_type = optional(payload, "agent_type")
        process = transcripts.client_process(environ.get("CLAUDE_PID", ""))
        mode = optional(payload, "permission_mode")
        spawned_by = transcripts.find_spawning_call(transcript, agent) if agent else ""
        return Context(CLIENT, subject, cwd, workspace, agent_type, process, transcript, mode, spawned_by)

    def answers(self) -> Answers:
        """Load what spells an answer."""
        # By its whole name: docs/architecture.md, "The hot path".
        import lockgate.clients.claude.answers as answers

        return answers

    # Who wrote what the client submits as the user's turn: the marks are those of version 2.1.329.

    def find_missed(self, event: Event) -> Sequence[Event]:
        """What instructions for agents of any kind include: the client loads them without an event."""
        if isinstance(event, PromptSubmitted) or (isinstance(event, ToolFinished) and event.call.tool == "Read"):
            from lockgate.clients.claude import agents_md

            return agents_md.find_loaded(event)
        return ()

    def parents_of(self, context: Context) -> tuple[str, ...]:
        """The sessions that a fork's transcript names; none before it is written, at the first tool call."""
        return transcripts.parent_sessions(context.transcript, context.subject.session)

    def turn_reader(self, context: Context, home: str) -> Callable[[TurnQuestion], frozenset[str]] | None:
        """A reader of the calls in one message, where a transcript lies in the place that can be believed."""
        from lockgate.clients.claude import turns

        return turns.turn_reader(context, home)

    def why_unattended(self, context: Context, call: ToolCall, folders: Folders) -> str:
        """Why a question may be answered by somebody else than the person in the terminal; empty where it cannot."""
        from lockgate.clients.claude import attendance
        from lockgate.system import caller

        if not attendance.shows_reason(call.tool):
            return "in the client's window about such a call the person would not read why they are asked"
        if call.tool == self.ASKING_TOOL and context.mode in attendance.WITHOUT_ASKING:
            return f"in the permission mode {context.mode} the client refuses its tool for questions"
        return attendance.why_unattended(context, folders, caller.environ())

    def has_history(self, context: Context) -> bool:
        """Whether a session's transcript shows that it has read something already."""
        return transcripts.has_history(context.transcript)

    def results_since(self, context: Context, since: float) -> Sequence[str]:
        """The calls whose results a session's transcript holds that are newer than a time."""
        return transcripts.results_since(context.transcript, since)

    def results_before(self, context: Context, until: float) -> Sequence[str]:
        """The first calls whose results a session's transcript holds that are older than a time."""
        return transcripts.results_before(context.transcript, until)

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether a call must not be rewritten: the client may have a rule about it, and would not know it again."""
        from lockgate.clients.claude.permission_rules import may_be_refused

        return may_be_refused(context, call, home)

    def is_permitted(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether the client's own rules let a call run unasked."""
        from lockgate.clients.claude.permission_rules import is_allowed

        return is_allowed(context, call, home)

    def may_skip_prompt(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether the client asks about the call only because no rule lets it run."""
        from lockgate.clients.claude.permission_rules import asks_by_default

        return asks_by_default(context, call, home)


ADAPTER = Claude()
