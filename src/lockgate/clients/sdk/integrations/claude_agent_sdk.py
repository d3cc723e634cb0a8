"""Guards agents of the Claude Agent SDK (the extra ``claude-agent-sdk``).

::

    async with Gate.open(workspace="/home/user/shop") as gate:
        options = gated(ClaudeAgentOptions(cwd="/home/user/shop"), gate)
        async for message in query(prompt="fix the tests", options=options):
            ...

The SDK starts Claude Code, which tells this process of each event. It does so in the same words as it tells a hook that
is a program, and obeys the same answers: one adapter reads and writes both. All callbacks are given with
``on_failure="block"``, so that the client refuses what the gate could not be asked about; a client too old for that
does not start. It is registered for all events that a hook is, also for those that the SDK's types do not name: the
client tells of ``InstructionsLoaded`` all the same (observed with claude-agent-sdk 0.2.187). Events and names:
https://docs.claude.com/en/api/agent-sdk/python
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
import logging
import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, cast

from claude_agent_sdk import (
    ClaudeAgentOptions,
    HookMatcher,
    PermissionResultAllow,
    PermissionResultDeny,
    ToolPermissionContext,
)

from lockgate.clients.claude import answers
from lockgate.clients.claude.events import ADAPTER
from lockgate.clients.common import transcripts
from lockgate.clients.sdk.gate import Gate
from lockgate.clients.sdk.model import Ask, Asker, Question
from lockgate.clients.sdk.questions import Asking
from lockgate.core.errors import LockgateError
from lockgate.core.events import Answer, Event, ToolRequested

if TYPE_CHECKING:
    from claude_agent_sdk.types import CanUseTool, HookContext, HookEvent, HookJSONOutput, PermissionResult

_LONGEST_WAIT = 86_460.0
"""Seconds that a callback may take: as long as a person can be given by the configuration, and a minute."""
_SHELL_RULE = "Bash("
_log = logging.getLogger("lockgate")


def gated(options: ClaudeAgentOptions, gate: Gate, *, ask: Ask | None = None) -> ClaudeAgentOptions:
    """The same options, with the gate before every tool call. The given ones are not changed.

    Args:
        options: The options. Hooks of theirs stay, after the gate's.
        gate: The gate.
        ask: Who puts a question before a person. Where it is not given: ``can_use_tool``, if the options have one (it
            gets the reason as ``decision_reason``); else whoever the gate was opened with.

    Raises:
        LockgateError: The agent works in another folder than the gate was opened for.
    """
    cwd = os.path.abspath(os.fspath(options.cwd) if options.cwd else os.getcwd())
    if os.path.realpath(cwd) != os.path.realpath(gate.workspace):
        raise LockgateError(f"the gate was opened for {gate.workspace}, and the agent works in {cwd}")
    if ask is None and options.can_use_tool is not None:
        ask = "caller"
    hooks = dict(options.hooks or {})
    for event, matchers in hooks_for(gate, ask=ask, rewrites=not _has_shell_rules(options)).items():
        others = [matcher for matcher in hooks.get(event, ()) if not _is_ours(matcher)]
        hooks[event] = [*matchers, *others]
    return dataclasses.replace(options, hooks=hooks)


def hooks_for(gate: Gate, *, ask: Ask | None = None, rewrites: bool = True) -> dict[HookEvent, list[HookMatcher]]:
    """The hooks alone, for options that are put together otherwise.

    Args:
        gate: The gate.
        ask: Who puts a question before a person; whoever the gate was opened with where it is not given. With
            ``caller`` the client does, by ``can_use_tool``; without one it refuses.
        rewrites: Whether a command may be rewritten to run contained. Give false where the options have rules about
            commands (``disallowed_tools=["Bash(git push:*)"]``): the client would not know the rewritten one again.
    """
    hook = _Hook(gate, gate.ask if ask is None else ask, rewrites)
    matcher = HookMatcher(hooks=[hook.heard], timeout=_LONGEST_WAIT, on_failure="block")
    return {cast("HookEvent", event): [matcher] for event in transcripts.EVENTS}


def can_use_tool_for(ask: Asker) -> CanUseTool:
    """A ``can_use_tool`` that puts the client's own questions, and those of the gate, before a person.

    Args:
        ask: As for :meth:`lockgate.Gate.open`. The question has no id, labels or provenance: the client puts it.
    """

    async def can_use_tool(tool: str, tool_input: dict[str, Any], context: ToolPermissionContext) -> PermissionResult:
        reason = context.decision_reason or context.title or f"Claude Code asks before it runs {tool}"
        question = Question("", tool, tool_input, (reason,), frozenset(), (), 0.0)
        try:
            said = ask(question) if inspect.iscoroutinefunction(ask) else await asyncio.to_thread(ask, question)
            reply: Any = await said if inspect.isawaitable(said) else said
        except Exception as error:  # noqa: BLE001 - a program that cannot ask has not asked
            _log.error("the person could not be asked", exc_info=error)
            return PermissionResultDeny(message="the person could not be asked")
        approved, why = reply if isinstance(reply, tuple) and len(reply) == 2 else (reply, "")
        if approved is True:
            return PermissionResultAllow()
        return PermissionResultDeny(message=str(why) or "the person refused")

    return can_use_tool


class _Hook:
    """The callback of all events."""

    def __init__(self, gate: Gate, ask: Ask, rewrites: bool) -> None:
        self._driver = gate.driver
        self._home = gate.home
        self._environ = {"CLAUDE_PROJECT_DIR": gate.workspace, "CLAUDE_PID": str(os.getpid())}
        self._ask = ask
        self._asking = Asking(gate.driver, ask)
        self._rewrites = rewrites

    async def heard(self, payload: Any, _: str | None, __: HookContext) -> HookJSONOutput:
        """Answer one event. What cannot be decided is refused, and a result that nobody looked at is withheld."""
        name = payload.get("hook_event_name") if isinstance(payload, Mapping) else None
        try:
            event = await asyncio.to_thread(ADAPTER.decode, payload, self._environ)
            if event is None:
                return {}
            event = self._with_asking(event)
            answer = await self._driver.answer_async(event, self._asking.wait, rewrites=self._rewrites)
            output = ADAPTER.encode(str(name), self._with_permission(event, answer), event)
        except Exception as error:  # noqa: BLE001 - what cannot be decided is refused
            if not isinstance(error, LockgateError):
                _log.error("the gate failed", exc_info=error)
            message = str(error) if isinstance(error, LockgateError) else f"an internal error ({type(error).__name__})"
            output = answers.encode_failure(name, message, payload)
            if not output.stdout or name not in ("PreToolUse", "PostToolUse", "UserPromptSubmit"):
                raise LockgateError(output.stderr) from None  # the client blocks what can be blocked
        return cast("HookJSONOutput", json.loads(output.stdout) if output.stdout else {})

    def _with_asking(self, event: Event) -> Event:
        if not isinstance(event, ToolRequested):
            return event
        native = self._ask == "caller"
        return event._replace(askable=native and event.askable, waits=not native and self._ask != "deny")

    def _with_permission(self, event: Event, answer: Answer) -> Answer:
        if answer.new_input is None or not isinstance(event, ToolRequested):
            return answer
        return answer._replace(permitted=ADAPTER.is_permitted(event.context, event.call, self._home))


def _is_ours(matcher: HookMatcher) -> bool:
    return any(isinstance(getattr(hook, "__self__", None), _Hook) for hook in matcher.hooks)


def _has_shell_rules(options: ClaudeAgentOptions) -> bool:
    """Whether the options themselves may say of some commands that they are refused. Files are looked at per call."""
    said = [*options.disallowed_tools, str(options.settings or ""), str(options.extra_args)]
    return options.settings is not None or any(_SHELL_RULE in rule for rule in said)
