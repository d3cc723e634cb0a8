"""Events that a client tells the gate, and the gate's answer, in no client's dialect.

An adapter decodes its client's JSON into one of these events and encodes the answer. All text in them is untrusted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.core.model import PolicyDecision, Subject, ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any


class Context(Record):
    """The facts that every event carries."""

    client: str
    """The adapter's name: ``claude-code``."""
    subject: Subject
    cwd: str = ""
    workspace: str = ""
    """The project's root folder, where the client says it; else the working folder."""
    agent_type: str = ""
    process: str = ""
    """The client's process, for linking sessions: ``pid:start-time``, empty where it is not known."""
    transcript: str = ""
    """Path of the session's transcript, empty where there is none."""
    mode: str = ""
    """The client's permission mode."""
    spawned_by: str = ""
    """For a sub-agent: the id of the call that started it, empty where the client has not said it (yet)."""
    job: str = ""
    """The variable that says that the client runs in a job of a CI service; empty where none does.

    A workflow puts issues, titles and diffs of others into the prompt, so that the prompt is nobody's.
    """
    run: str = ""
    """The run of that job, as :func:`lockgate.gate.session.jobs.run_of` names it. Empty where the variables do not say
    it that the client was started with, and for whatever comes from another machine."""
    made_at: str = ""
    """When this process has made the session's id, in seconds since the epoch. Empty where somebody else has, and for
    whatever comes from another machine."""


class ToolRequested(Record):
    """A tool is about to run. The only event that decides."""

    context: Context
    call: ToolCall
    askable: bool = True
    """Whether the client is sure to put a question about this call before a person, or to refuse it."""
    waits: bool = False
    """Whether the client waits while a person elsewhere decides (``lockgate approve``), where it cannot ask itself."""
    rewritable: bool = True
    """Whether the client runs a changed call. Else one that is to be changed is refused, and the model calls anew."""
    headless: bool = False
    """Whether nobody sits before the client, so that the configuration says whether it waits for a person elsewhere."""


class ToolFinished(Record):
    """A tool has run, and its result is about to enter the subject's context."""

    context: Context
    call: ToolCall
    result: Any
    text: str = ""
    """All text of the result, as the model reads it."""
    agent: str = ""
    """For a call that started a sub-agent: that agent's id."""
    background: bool = False
    """Whether the call goes on: its real result comes later."""
    texts: Sequence[tuple[str, str]] = ()
    """Each text of the result that the model reads, with the path to it in ``result``. A path names one place."""
    names: str = ""
    """The names of fields of the result that may hold something, one a line. They are not changed."""
    kept: str = ""
    """A file in which the client keeps the whole of a result that is cut; empty where there is none."""
    shown: str = ""
    """The path of the text that shows the beginning of that file."""
    untold: bool = False
    """Whether the model may be shown what the client does not tell of, as a picture."""


class ToolFailed(Record):
    """A tool has failed; ``error`` enters the subject's context."""

    context: Context
    call: ToolCall
    error: str
    or_refused: bool = False
    """Whether the client tells of a call so, too, that the gate has refused, and that did not run."""


class ToolRefused(Record):
    """A tool was not run after all: the client or the person refused it."""

    context: Context
    call: ToolCall
    reason: str


class CallsAnswered(Record):
    """All calls that an agent has made have come back, or were not run: a batch of them, or its turn, is over."""

    context: Context


PERSON, STRANGER, PROGRAM = "person", "stranger", "program"
"""The author of a part of a prompt: the person, somebody else, or the program with its fixed text."""

REGISTERED = "Lockgate prompt "
"""How a prompt begins whose parts are registered; their id and a line break follow."""


class PromptPart(Record):
    """A part of a prompt, and whose words it is."""

    author: str
    """One of :data:`PERSON`, :data:`STRANGER` and :data:`PROGRAM`."""
    text: str
    source: str = ""
    """Where a stranger's words come from, for a person: ``issue 7``."""


class PromptSubmitted(Record):
    """Text enters the context as the user's turn.

    ``human`` is whether a person wrote it: task notifications and wake-ups also come this way.
    """

    context: Context
    prompt: str
    human: bool
    rejected: tuple[str, ...] = ()
    """Ids of calls that the person answered with no since, as the client's own record shows."""
    outside: bool = False
    """Whether it comes from outside of the session: by a channel, from another session, from a server that pushes."""
    parts: tuple[PromptPart, ...] = ()
    """The parts of the prompt with their authors, where the submitter tells them. Then ``human`` does not count."""


class SessionStarted(Record):
    """A session begins or goes on. ``how``: startup, resume, clear, compact or fork."""

    context: Context
    how: str
    parents: tuple[str, ...] = ()
    """Sessions named by the transcript of a fork."""


class SessionEnded(Record):
    """A session ends. ``why``: clear, resume, logout, prompt_input_exit or other."""

    context: Context
    why: str


class AgentStarted(Record):
    """A sub-agent begins; the context's subject is the sub-agent."""

    context: Context


class AgentStopped(Record):
    """A sub-agent ends; the context's subject is the sub-agent."""

    context: Context


class ConfigChanged(Record):
    """The client's own settings changed during the session."""

    context: Context
    source: str
    file: str
    harm: str = ""
    """What the change does to the protection, for a person; empty where it does nothing to it."""
    acting: str = ""
    """Settings in a project's changed file that run something or change whom the client talks to, for a person."""


class InstructionsLoaded(Record):
    """The client loaded a file of instructions into the context by itself."""

    context: Context
    file: str
    reason: str


Event = (
    ToolRequested
    | ToolFinished
    | ToolFailed
    | ToolRefused
    | CallsAnswered
    | PromptSubmitted
    | SessionStarted
    | SessionEnded
    | AgentStarted
    | AgentStopped
    | ConfigChanged
    | InstructionsLoaded
)


class Answer(Record):
    """The gate's answer to an event.

    A verdict of ``ALLOW`` means *no objection*: an adapter must stay silent then, so that the client's own permission
    rules still hold.
    """

    verdict: Verdict = Verdict.ALLOW
    to_agent: str = ""
    """The reason that the agent reads."""
    to_person: str = ""
    """What the person reads, where the client can show it."""
    context: str = ""
    """Text to add to the agent's context (session start, sub-agent start)."""
    new_input: Mapping[str, Any] | None = None
    """A changed tool input, where the verdict is reached by rewriting the call."""
    permitted: bool = False
    """Whether the client is to run the call unasked. Its own rules let the unchanged call run so, and would not know
    the changed one; or the call is ``harmless``, and no rule is against it."""
    harmless: bool = False
    """Whether a person's configuration wants the client to ask about this call only where a rule of the client does."""
    decision: PolicyDecision | None = None
    texts: Mapping[str, str] = {}
    """Texts that the model reads instead of those of the result, by their paths."""
    withheld: str = ""
    """What the model reads instead of the whole result; empty where it reads that."""
    approval: str = ""
    """The id under which a person was asked, where one was."""
    approved: bool = False
    """Whether that person has just said yes to exactly this call: the client has nobody to ask again."""
