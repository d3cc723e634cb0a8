"""``Session``: a program tells the gate of one agent's conversation with it."""

from __future__ import annotations

import copy
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from lockgate.clients.sdk.model import Ask, Decision, Result
from lockgate.clients.sdk.questions import Asking
from lockgate.clients.sdk.results import (
    decision_of,
    hook_decision_of,
    make_finished_event,
    make_undecided_decision,
    result_of,
    unreadable,
)
from lockgate.clients.sdk.runner import Driver
from lockgate.configuration.plugins import HookDecision
from lockgate.core.errors import BadInputError
from lockgate.core.events import (
    AgentStarted,
    AgentStopped,
    Context,
    Event,
    PromptPart,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolRefused,
    ToolRequested,
)
from lockgate.core.model import Effect, EffectKind, Label, ToolCall
from lockgate.gate import Parts, session


class Session:
    """One agent's conversation. Get it from :meth:`Gate.session`."""

    def __init__(self, driver: Driver, context: Context, ask: Ask) -> None:
        """Use :meth:`Gate.session`."""
        self._driver = driver
        self._context = context
        self._ask = ask
        self._asking = Asking(driver, ask)

    @property
    def name(self) -> str:
        """The conversation's id."""
        return self._context.subject.session

    def asking(self, ask: Ask) -> Session:
        """The same conversation, with somebody else who puts a question before a person."""
        return Session(self._driver, self._context, ask)

    # ---------------------------------------------------------------- calls
    async def check(
        self, tool: str, tool_input: Mapping[str, Any], *, call_id: str = "", cwd: str = "", rewrites: bool = True
    ) -> Decision:
        """Decide on a call that is about to run.

        Args:
            tool: The tool's name. Names of Claude Code's tools (``Bash``, ``Read``, ``WebFetch``), of MCP tools
                (``mcp__server__tool``) and those that the configuration declares are known; any other tool is taken
                to be able to do anything.
            tool_input: Its input.
            call_id: The id of this call, where the framework gives it one. The result then is known to be this call's.
            cwd: The folder that it runs in, where that is not the session's.
            rewrites: Whether the call can be run with another input. Where it cannot, none is contained.
        """
        try:
            event = self._request(tool, tool_input, call_id, cwd)
            answer = await self._driver.answer_async(event, self._asking.wait, rewrites=rewrites)
            return decision_of(event.call, answer)
        except Exception as error:  # noqa: BLE001 - what cannot be decided is denied
            return make_undecided_decision(tool_input, error)

    def check_sync(
        self, tool: str, tool_input: Mapping[str, Any], *, call_id: str = "", cwd: str = "", rewrites: bool = True
    ) -> Decision:
        """Do what :meth:`check` does, and block until it is decided."""
        try:
            event = self._request(tool, tool_input, call_id, cwd)
            return decision_of(event.call, self._driver.answer(event, self._asking.block, rewrites=rewrites))
        except Exception as error:  # noqa: BLE001 - what cannot be decided is denied
            return make_undecided_decision(tool_input, error)

    async def finished(
        self, tool: str, tool_input: Mapping[str, Any], output: Any, *, call_id: str = "", cwd: str = ""
    ) -> Result:
        """A call has come back: note what its result brings, and take out what the agent must not read.

        Args:
            tool: As for :meth:`check`.
            tool_input: As for :meth:`check`; for a contained call what it was really run with.
            output: What the tool gave: a text, or JSON values with texts in them.
            call_id: As for :meth:`check`.
            cwd: As for :meth:`check`.
        """
        try:
            event = make_finished_event(self._context, self._call(tool, tool_input, call_id, cwd), output)
            return result_of(output, await self._driver.answer_async(event, self._asking.wait))
        except Exception as error:  # noqa: BLE001 - what cannot be looked at is not shown
            return unreadable(output, error)

    def finished_sync(
        self, tool: str, tool_input: Mapping[str, Any], output: Any, *, call_id: str = "", cwd: str = ""
    ) -> Result:
        """Do what :meth:`finished` does, and block until it is done."""
        try:
            event = make_finished_event(self._context, self._call(tool, tool_input, call_id, cwd), output)
            return result_of(output, self._driver.answer(event, self._asking.block))
        except Exception as error:  # noqa: BLE001 - what cannot be looked at is not shown
            return unreadable(output, error)

    async def failed(
        self, tool: str, tool_input: Mapping[str, Any], error: str, *, call_id: str = "", cwd: str = ""
    ) -> Result:
        """A call has failed, and the agent reads the error: it is looked at like a result."""
        return await self.finished(tool, tool_input, error, call_id=call_id, cwd=cwd)

    def failed_sync(
        self, tool: str, tool_input: Mapping[str, Any], error: str, *, call_id: str = "", cwd: str = ""
    ) -> Result:
        """Do what :meth:`failed` does, and block until it is done."""
        return self.finished_sync(tool, tool_input, error, call_id=call_id, cwd=cwd)

    async def before_tool_use(self, tool_name: str, tool_input: Mapping[str, Any]) -> HookDecision:
        """Say whether a call may run as it is: for frameworks whose hooks give a yes or a no, and no other input.

        A call that could only run contained goes on to the judge and the person, or is refused.
        """
        return hook_decision_of(await self.check(tool_name, tool_input, rewrites=False))

    async def after_tool_use(self, tool_name: str, tool_input: Mapping[str, Any], tool_output: Any) -> Result:
        """Do what :meth:`finished` does, under the name that hooks have for it."""
        return await self.finished(tool_name, tool_input, tool_output)

    # ---------------------------------------------------------------- the conversation
    def not_run(self, tool: str, tool_input: Mapping[str, Any], *, call_id: str = "", reason: str = "") -> None:
        """A call that was let run was not run after all, so that its result brings nothing.

        Args:
            tool: As for :meth:`check`.
            tool_input: As for :meth:`check`.
            call_id: As for :meth:`check`.
            reason: Why not, for the audit.
        """
        self._note(ToolRefused(self._context, self._call(tool, tool_input, call_id, ""), reason))

    def prompted(self, text: str | Sequence[PromptPart], *, human: bool = True) -> None:
        """Text enters the conversation as a user's turn.

        Args:
            text: The text, or the parts that it is made of: :func:`person`, :func:`stranger` and :func:`program`.
            human: Whether the person wrote it for whom the agent works. What others can write (a customer's message, a
                mail, another agent) makes the conversation untrusted; addresses in it are not the person's. Parts say
                for themselves whose they are.

        Raises:
            LockgateError: It could not be noted. The agent must not read the text then.
        """
        if not isinstance(text, str):
            whole = "".join(part.text for part in text)
            self._note(PromptSubmitted(self._context, whole, human=False, parts=tuple(text)))
            return
        if not human:
            self.exposed("a message", {Label.UNTRUSTED})
        self._note(PromptSubmitted(self._context, text, human))

    def exposed(self, what: str, labels: Collection[Label]) -> None:
        """Something enters the conversation that no call of a tool brings: a document that was looked up for it.

        Args:
            what: Where it comes from, for the person and the audit.
            labels: What it makes the conversation.

        Raises:
            LockgateError: It could not be noted. The agent must not read it then.
        """
        effects = [effect for label, effect in _exposures(what) if label in labels]

        def note(parts: Parts) -> None:
            with parts.store.transaction() as tx:
                now = parts.clock()
                parts.enter(tx, self._context, now)
                session.expose(tx, self._context.subject, "program", effects, now)

        self._driver.submit(note).result()

    def started(self) -> None:
        """The conversation begins. This puts its beginning into the audit.

        After ``lockgate store restore`` it is needed where the program names its conversations itself: one that the
        state does not know may be of before, and has both labels until then.
        """
        self._note(SessionStarted(self._context, "startup"))

    def ended(self) -> None:
        """The conversation is over."""
        self._note(SessionEnded(self._context, "other"))

    def sub_agent(self, agent: str, *, agent_type: str = "", call_id: str = "") -> Session:
        """A sub-agent of this conversation, with its labels. Its own come back with :meth:`sub_agent_ended`.

        Args:
            agent: Its id, which must be new in this conversation.
            agent_type: What kind of agent it is.
            call_id: The id of the call that started it.
        """
        subject = self._context.subject._replace(agent=agent)
        context = self._context._replace(subject=subject, agent_type=agent_type, spawned_by=call_id)
        self._note(AgentStarted(context))
        return Session(self._driver, context, self._ask)

    def sub_agent_ended(self) -> None:
        """This sub-agent is done; what it read comes back to the main agent."""
        self._note(AgentStopped(self._context))

    def labels(self) -> frozenset[Label]:
        """What this agent has been exposed to, with what a running call may bring."""
        subject = self._context.subject

        def look(parts: Parts) -> frozenset[Label]:
            with parts.store.reading() as tx:
                return session.labels_of(tx, subject)

        return self._driver.submit(look).result()

    def _note(self, event: Event) -> None:
        self._driver.answer(event, self._asking.block)

    def _call(self, tool: str, tool_input: Mapping[str, Any], call_id: str, cwd: str) -> ToolCall:
        if not isinstance(tool, str) or not isinstance(tool_input, Mapping):
            raise BadInputError("a call has a tool's name and a mapping as its input")
        # A copy: what is decided must not change while somebody thinks about it.
        return ToolCall(tool, copy.deepcopy(tool_input), cwd or self._context.cwd, call_id)

    def _request(self, tool: str, tool_input: Mapping[str, Any], call_id: str, cwd: str) -> ToolRequested:
        call = self._call(tool, tool_input, call_id, cwd)
        context = self._context._replace(cwd=call.cwd)
        by_caller = self._ask == "caller"
        return ToolRequested(context, call, askable=by_caller, waits=not by_caller and self._ask != "deny")


def _exposures(what: str) -> tuple[tuple[Label, Effect], ...]:
    rule, because = "program:exposed", "the program says so"
    return (
        (Label.UNTRUSTED, Effect(EffectKind.INGEST, what, rule, because, gives=Label.UNTRUSTED)),
        (Label.SECRET, Effect(EffectKind.READ_SECRET, what, rule, because, gives=Label.SECRET)),
    )
