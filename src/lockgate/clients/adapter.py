"""The base class of client adapters. It serves as the adapter of a client of which nothing more is known.

Each client's ``events.py`` holds a subclass that says what is different; ``ADAPTER`` is its only object. A hook imports
that of its own client.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from lockgate.clients.common.payload import decoder_of, identifier, optional, text
from lockgate.clients.common.transcripts import client_process
from lockgate.core.events import Context, ToolFinished, ToolRequested
from lockgate.core.model import Subject, Verdict
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.files import ELSEWHERE

if TYPE_CHECKING:
    from typing import Any, Protocol

    from lockgate.clients.common.hook_command import HookLaunch
    from lockgate.core.events import Answer, Event
    from lockgate.core.model import ToolCall
    from lockgate.core.questions import Objection, RulesQuestion, TurnQuestion
    from lockgate.system.folders import Folders

    Decoder = Callable[[Mapping[str, Any], Context], Event]

    class Answers(Protocol):
        """A module that spells a client's answers."""

        def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
            """See :meth:`ClientAdapter.encode`."""

        def encode_failure(
            self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
        ) -> HookOutput:
            """See :meth:`ClientAdapter.encode_failure`."""


class HookOutput(Record):
    """The output of a hook, and its exit status."""

    stdout: str
    stderr: str = ""
    exit_status: int = 0


_NEVER = float("inf")
_SAME_CLOCK, _OTHER_CLOCK = 2.0, 60.0
"""Seconds by which a result may seem older than the beginning of its session."""
_SESSIONS = 1000
"""Sessions of which it is remembered what the store knew of them."""


class ClientAdapter:
    """One client's dialect: payloads to events, and answers to what the client reads."""

    CLIENT = ""
    """The client's name, as a command line spells it."""
    EVENTS: tuple[str, ...] = ()
    """The events that the gate is registered for, as the client names them."""
    CALL_EVENT = ""
    """The event of a call that is about to run."""
    ASKING_TOOL = ""
    """The tool by which an agent asks its person, where a hook may change what it shows and is told what was said."""
    IGNORED: frozenset[str] = frozenset()
    """Events that exist and need nothing from the gate."""
    DECODERS: Mapping[str, Decoder] = {}
    """What makes an event of a payload, by the payload's name of it."""
    OBJECTS = False
    """Whether :meth:`objections` has any."""
    UNNAMED = False
    """Whether a payload does not say its event, so that the command line must."""
    EVENT_FIELD = "hook_event_name"
    """The field with the event's name."""
    SESSION: tuple[str, ...] = ("session_id",)
    """The fields with the session's id: the first that says something."""
    AGENT = ""
    """The field with a sub-agent's id; empty where a payload has none."""
    TOOL = "tool_name"
    """The field with the name of the tool that is called."""
    CALL_ID = "tool_use_id"
    """The field with a call's id; empty where a payload has none."""
    TOLD: Mapping[str, str] = {}
    """Further fields of a :class:`Context` that a payload tells, and what it calls them."""

    # ------------------------------------------------------------ payload to event
    def decode(
        self, payload: Mapping[str, Any], environ: Mapping[str, str], launch: HookLaunch | None = None
    ) -> Event | None:
        """Translate a payload; ``None`` where it needs nothing.

        Args:
            payload: The JSON object that the client wrote to the hook's stdin.
            environ: The hook's environment.
            launch: How the gate was started, to tell whether changed settings would still start it so.

        Raises:
            BadInputError: The payload is not one that the client sends.
        """
        decoder = decoder_of(payload, self.DECODERS, self.IGNORED, self.EVENT_FIELD)
        return decoder(payload, self.context(payload, environ)) if decoder is not None else None

    def context(self, payload: Mapping[str, Any], environ: Mapping[str, str]) -> Context:
        """The context of a payload: subject, folder, process."""
        cwd = text(payload, "cwd")
        agent = identifier(payload, self.AGENT, maybe=True) if self.AGENT else ""
        subject = Subject(identifier(payload, "session_id"), agent)
        told = {field: optional(payload, name) for field, name in self.TOLD.items()}
        told["workspace"] = told.get("workspace") or cwd
        return Context(client=self.CLIENT, subject=subject, cwd=cwd, process=client_process(""), **told)

    def names(self, payload: Mapping[str, Any]) -> dict[str, object]:
        """What a record says of a call that nobody could decide on, from a payload that need not be valid."""
        said = {"session": next(filter(None, map(payload.get, self.SESSION)), "")}
        fields = {"event": self.EVENT_FIELD, "agent": self.AGENT, "tool": self.TOOL, "call": self.CALL_ID}
        return said | {name: payload.get(field, "") for name, field in fields.items() if field}

    # ------------------------------------------------------------ answers
    def load_answers(self) -> None:
        """Load what spells an answer, where that is a module of its own."""

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer."""
        raise NotImplementedError

    def encode_failure(
        self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
    ) -> HookOutput:
        """Spell "the gate could not decide", so that the client blocks."""
        raise NotImplementedError

    # ------------------------------------------------------------ what the hook asks beside
    def find_missed(self, event: Event) -> Sequence[Event]:
        """What came into the context without an event of its own, as far as the client's files tell."""
        return ()

    def objections(self, question: RulesQuestion) -> Sequence[Objection]:
        """What must never run in this client, because it could not be watched."""
        return ()

    def parents_of(self, context: Context) -> tuple[str, ...]:
        """The sessions that a forked one came from."""
        return ()

    def turn_reader(self, context: Context, home: str) -> Callable[[TurnQuestion], frozenset[str]] | None:
        """A reader of the calls in one message, where the client's files can prove which those are.

        Neither raises.
        """
        return None

    def why_unattended(self, context: Context, call: ToolCall, folders: Folders) -> str:
        """Why a question about a call in the client's own dialog may be answered by somebody else than the person.

        Empty where it is put whole before that person alone. Of a client of which that was not observed, it is not.
        """
        from lockgate.core.questions import NO_DIALOG

        return NO_DIALOG

    def has_history(self, context: Context) -> bool:
        """Whether a session has read something already. One whose beginning was not seen counts as one that has."""
        return True

    def results_since(self, context: Context, since: float) -> Sequence[str]:
        """The calls whose results a session's transcript holds that are newer than a time, as far as it can tell."""
        return ()

    def results_before(self, context: Context, until: float) -> Sequence[str]:
        """The first calls whose results a session's transcript holds that are older than a time, likewise."""
        return ()

    def make_reader_of_older(self, state: str, *, stays: bool = False) -> Callable[[Context, float], Sequence[str]]:
        """A reader of the results that are older than the beginning of a session.

        Args:
            state: The state folder.
            stays: Whether one process asks again and again. A session is then looked at until nothing was found, once
                for each of the client's processes.
        """
        known: set[tuple[str, str, str, float]] = set()

        def look(context: Context, began: float) -> Sequence[str]:
            name = context.subject.session, context.process, context.transcript, began
            if name in known:
                return ()
            # A shared store has a clock of its own.
            is_shared = os.path.lexists(os.path.join(state, ELSEWHERE))
            found = self.results_before(context, began - (_OTHER_CLOCK if is_shared else _SAME_CLOCK))
            if stays and not found:
                if len(known) >= _SESSIONS:
                    known.clear()
                known.add(name)
            return found

        return look

    def make_reader_of_newer(self, state: str, *, stays: bool = False) -> Callable[[Context, float], Sequence[str]]:
        """A reader of newer results, which reads only where a transcript was written to since.

        Args:
            state: The state folder, where refusals wait that are not recorded yet: their calls are left out.
            stays: Whether one process asks again and again. A session is then looked at once for each of the client's
                processes, and when the store knows less of it than it did before.
        """
        known: dict[tuple[str, str], float] = {}

        def look(context: Context, since: float) -> Sequence[str]:
            name = context.subject.session, context.process
            if stays and since >= known.get(name, _NEVER):
                known[name] = since
                return ()
            if len(known) >= _SESSIONS:
                known.clear()
            found = self.results_since(context, since) if _is_newer(context.transcript, since) else ()
            if found:
                from lockgate.store.audit.refusals import Refusal

                return [call for call in found if call not in Refusal.calls_waiting(state)]
            if stays:
                known[name] = since
            return ()

        return look

    def is_fixed(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether a call must not be rewritten: the client may have a rule about it, or would not run it.

        It must not, where nobody knows that the client holds its own rules against what was asked for.
        """
        return True

    def is_permitted(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether the client's own rules let a call run unasked."""
        return False

    def may_skip_prompt(self, context: Context, call: ToolCall, home: str) -> bool:
        """Whether the client may be told to run a harmless call unasked: it obeys that, and no rule of it is lost.

        It may not, where nobody knows what the client's ``allow`` drops.
        """
        return False


class AnswersApart(ClientAdapter):
    """A client whose answers a module of its own spells, which is loaded when the first one is needed."""

    def answers(self) -> Answers:
        """Load that module."""
        raise NotImplementedError

    def load_answers(self) -> None:
        """Load what spells an answer."""
        self.answers()

    def encode(self, event_name: str, answer: Answer, event: Event | None = None) -> HookOutput:
        """Spell an answer."""
        return self.answers().encode(event_name, answer, event)

    def encode_failure(
        self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
    ) -> HookOutput:
        """Spell "the gate could not decide"."""
        return self.answers().encode_failure(event_name, message, payload)


class OwnDialect(ClientAdapter):
    """A client in which a file of the gate's own starts the hook, and reads its answer."""

    def encode_failure(
        self, event_name: str | None, message: str, payload: Mapping[str, Any] | None = None
    ) -> HookOutput:
        """Spell "the gate could not decide"."""
        import json

        reason = failure(message)
        return HookOutput(json.dumps({"deny": reason}), f"{reason}\n", 2)


def _is_newer(path: str, since: float) -> bool:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return False
    return max(found.st_mtime, found.st_ctime) > since


# ---------------------------------------------------------------- what several dialects say alike
def refusal_text(answer: Answer) -> str:
    """Why something is refused."""
    return answer.to_agent or answer.to_person or "Lockgate blocked this"


def refusal(reason: str) -> dict[str, Any]:
    """What Claude Code's protocol calls the refusal of a call."""
    return {"permissionDecision": "deny", "permissionDecisionReason": reason}


_RUN_INSTEAD = (
    "Lockgate has this command run without network. Nobody has to be asked: call the same tool again with exactly this"
    " as its command, in one line, and its output will come."
)


def reason_to_repeat(answer: Answer, event: Event | None) -> str | None:
    """Why a client refuses a command that is to run contained, where it changes no call: its model calls the other one.

    Empty where this is that one; ``None`` where the answer is another.
    """
    if answer.verdict is not Verdict.CONTAIN or answer.new_input is None:
        return None
    if isinstance(event, ToolRequested) and dict(event.call.tool_input) == dict(answer.new_input):
        return ""
    return f"{_RUN_INSTEAD}\n{answer.new_input.get('command', '')}"


def failure(message: str) -> str:
    """Why a gate that could not decide refuses."""
    from lockgate.core.display_text import visible

    return f"Lockgate could not decide and blocks to be safe: {visible(message) or 'unknown failure'}"


def new_text(answer: Answer, event: Event | None) -> str | None:
    """What the model reads instead of a result, ``None`` where it reads that."""
    if not isinstance(event, ToolFinished) or not (answer.withheld or answer.texts):
        return None
    return answer.withheld or "\n".join(answer.texts.get(path, text) for path, text in event.texts)


def hook_output(event_name: str, specific: Mapping[str, Any], to_person: str) -> dict[str, Any]:
    """The fields of an answer that Claude Code, Codex, Gemini, Kimi and Qwen spell alike.

    Args:
        event_name: The event that is answered, as the client named it.
        specific: What the client does with its event; empty for nothing.
        to_person: What the client shows to the person; empty for nothing.
    """
    output: dict[str, Any] = {}
    if to_person:
        output["systemMessage"] = to_person
    if specific:
        output["hookSpecificOutput"] = {"hookEventName": event_name, **specific}
    return output


# ---------------------------------------------------------------- which client
_MODULES = {
    "claude-code": "claude",
    "codex": "codex",
    "gemini-cli": "gemini",
    "copilot-cli": "copilot",
    "opencode": "opencode",
    "cursor": "cursor",
    "qwen-code": "qwen",
    "pi": "pi",
    "kilo": "kilo",
    "cline": "cline",
    "kimi-code": "kimi",
}
_LOADED: dict[str, ClientAdapter] = {}
CLIENTS = tuple(_MODULES)
"""The names of the clients, as a command line spells them."""


def adapter(client: str) -> ClientAdapter:
    """The adapter of a client.

    Raises:
        BadInputError: There is none.
    """
    loaded = _LOADED.get(client)
    if loaded is not None:
        return loaded
    module = _MODULES.get(client)
    if module is None:
        from lockgate.core.errors import BadInputError

        raise BadInputError(f"unknown client {client!r}; known: {', '.join(CLIENTS)}")
    found: ClientAdapter = __import__(f"lockgate.clients.{module}.events", fromlist=["ADAPTER"]).ADAPTER
    _LOADED[client] = found
    return found
