"""The gate for agents of the OpenAI Agents SDK (the extra ``openai-agents``).

::

    async with Gate.open(workspace="/home/user/shop") as gate:
        agent = gate_agent(Agent(name="helper", tools=[search, ShellTool(executor=run)]), gate)
        await Runner.run(agent, "fix the tests")

Function tools and the tools of MCP servers get guardrails, which the SDK runs before and after each call. Shells,
patches and custom tools have none in the SDK, so that what executes them is wrapped. What OpenAI runs elsewhere cannot
be stopped by anybody here, and is refused unless it is declared. Names and order of events were read from
openai-agents 0.24; reference: https://openai.github.io/openai-agents-python/
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

from agents import (
    Agent,
    ApplyPatchTool,
    CustomTool,
    FunctionTool,
    Handoff,
    LocalShellTool,
    RunContextWrapper,
    ShellTool,
    Tool,
)

from lockgate.clients.sdk.gate import Gate
from lockgate.clients.sdk.integrations.openai_agents.calls import AgentTools, OpenAIAsk, SessionOf
from lockgate.clients.sdk.integrations.openai_agents.executors import Editor, LocalShell, Shell, await_value, copy_tool
from lockgate.clients.sdk.integrations.openai_agents.functions import (
    gate_custom,
    gate_function,
    gate_server,
    is_gated,
)
from lockgate.clients.sdk.session import Session
from lockgate.core.errors import LockgateError
from lockgate.core.model import Label

_PROMPT = "prompt"
_MARK = "_lockgate_calls"
"""The member by which a gated agent is known again."""


def gate_agent(
    agent: Agent[Any],
    gate: Gate,
    *,
    session: Session | str | SessionOf | None = None,
    ask: OpenAIAsk | None = None,
    allow_hosted: Mapping[str, Collection[Label | str]] | None = None,
    names: Mapping[str, str] | None = None,
    in_place: bool = False,
) -> Agent[Any]:
    """A copy of an agent with the gate before every tool, also of all agents that it can hand over to.

    To gate it again changes nothing, but for tools that were added to it since: they are gated then, and not before.

    Args:
        agent: The agent. It is not changed.
        gate: The gate.
        session: The conversation: a session of the gate, its name, or a function that finds it for a run. Where it is
            not given there is a new one for this copy: all runs of the copy belong to it, so make one per conversation.
        ask: Who puts a question before a person; whoever the gate was opened with where it is not given. With
            ``interrupt`` the run stops with an interruption, and goes on with ``RunState.approve`` or ``reject``.
        allow_hosted: What OpenAI runs elsewhere and may be used all the same (``web_search``, ``file_search``,
            ``code_interpreter``, ``image_generation``, ``hosted_mcp``, ``computer_use_preview``, ``prompt``), with the
            labels that each gives: the conversation has them from its beginning, since nobody here sees the results.
        names: Which tool a function is, of those that the gate knows: ``{"run_command": "Bash"}``. It must take the
            same arguments and do the same.
        in_place: Change the agent itself, and those that it uses, and return it. Agents that are used as tools can
            only be gated so; else gate them before ``as_tool`` is called.

    Raises:
        LockgateError: The agent has what cannot be gated; the message says what can be done.
    """
    known: AgentTools | None = getattr(agent, _MARK, None)
    calls = known if known is not None and session is None else AgentTools(gate, session, ask, names or {})
    allowed = {name: frozenset(map(Label, labels)) for name, labels in (allow_hosted or {}).items()}
    return _Walk(calls, allowed, in_place).agent(agent)


class _Walk:
    """One walk over an agent and all that it reaches."""

    def __init__(self, calls: AgentTools, allowed: Mapping[str, frozenset[Label]], in_place: bool) -> None:
        self._calls, self._allowed, self._in_place = calls, allowed, in_place
        self._done: dict[int, tuple[Agent[Any], Agent[Any]]] = {}
        """Agents and their copies, by the agent's identity: agents can hand over in circles."""

    def agent(self, agent: Agent[Any]) -> Agent[Any]:
        """The gated agent."""
        if id(agent) in self._done:
            return self._done[id(agent)][1]
        _refuse_unknown_kinds(agent)
        known: AgentTools | None = getattr(agent, _MARK, None)
        if known is not None and not known.is_of(self._calls):
            raise LockgateError(
                f"the agent {agent.name} was gated for another conversation, which would not know what this one has "
                "read: gate both with the same session"
            )
        if agent.prompt is not None:
            self._check_hosted(_PROMPT, agent, "its prompt is kept by OpenAI and can bring tools along")
        made = agent if self._in_place else agent.clone(tools=list(agent.tools), handoffs=[])
        self._done[id(agent)] = self._done[id(made)] = (agent, made)
        object.__setattr__(made, _MARK, self._calls)
        made.tools = [self._tool(tool, agent) for tool in agent.tools]
        made.handoffs = [self._handoff(handoff) for handoff in agent.handoffs]
        made.mcp_servers = [gate_server(self._calls, server) for server in agent.mcp_servers]
        return made

    def _handoff(self, handoff: Agent[Any] | Handoff[Any, Any]) -> Agent[Any] | Handoff[Any, Any]:
        if not isinstance(handoff, Handoff):
            return self.agent(handoff)
        if isinstance(handoff.on_invoke_handoff, _HandingOver):
            return handoff
        return copy_tool(handoff, on_invoke_handoff=_HandingOver(self.agent, handoff.on_invoke_handoff))  # type: ignore[no-any-return]

    def _tool(self, tool: Tool, agent: Agent[Any]) -> Tool:
        calls = self._calls
        match tool:
            case _ if is_gated(tool, calls):
                return tool
            case FunctionTool() if tool._is_agent_tool:
                return self._agent_tool(tool, agent)
            case FunctionTool():
                return gate_function(calls, tool)
            case CustomTool():
                return gate_custom(calls, tool)
            case LocalShellTool():
                return dataclasses.replace(tool, executor=LocalShell(calls, tool.executor))
            case ShellTool() if tool.executor is not None:
                return _gate_shell(calls, tool)
            case ApplyPatchTool():
                return _gate_patches(calls, tool)
            case _ if tool.name == "tool_search":
                return tool  # it only finds definitions of tools, which are gated themselves
            case _:
                self._check_hosted(tool.name, agent, "it is run by OpenAI, where no gate of this machine is")
                return tool

    def _agent_tool(self, tool: FunctionTool, agent: Agent[Any]) -> FunctionTool:
        """An agent that is used as a tool can do nothing but by its own tools, which are gated."""
        inner = tool._agent_instance
        if not isinstance(inner, Agent):
            return gate_function(self._calls, tool)
        if self._in_place:
            self.agent(inner)
        elif not _belongs(inner, self._calls):
            raise LockgateError(
                f"the tool {tool.name} of the agent {agent.name} runs the agent {inner.name}: gate that one before its "
                "as_tool() is called, in the same session, or give in_place=True"
            )
        return tool

    def _check_hosted(self, name: str, agent: Agent[Any], why: str) -> None:
        known: AgentTools | None = getattr(agent, _MARK, None)
        allowed = {**known.hosted, **self._allowed} if known is not None else self._allowed
        if name not in allowed:
            raise LockgateError(
                f"the agent {agent.name} has {name}, which cannot be gated: {why}. Take it away, or declare what it "
                f'brings: allow_hosted={{"{name}": {{"untrusted"}}}}'
            )
        self._calls.hosted[name] = allowed[name]


class _HandingOver:
    """Finds the agent that is handed over to, and gates it."""

    def __init__(self, gate: Callable[[Agent[Any]], Agent[Any]], invoke: Callable[..., Any]) -> None:
        self._gate, self._invoke = gate, invoke

    async def __call__(self, context: RunContextWrapper[Any], arguments: str) -> Agent[Any]:
        agent: Agent[Any] = await await_value(self._invoke(context, arguments))
        return self._gate(agent)


def _refuse_unknown_kinds(agent: Agent[Any]) -> None:
    """Agents of other kinds bring tools that are not among their ``tools``."""
    if not isinstance(agent, Agent) or hasattr(agent, "capabilities"):
        raise LockgateError(f"an agent of the kind {type(agent).__name__} cannot be gated")


def _belongs(agent: Agent[Any], calls: AgentTools) -> bool:
    known: AgentTools | None = getattr(agent, _MARK, None)
    return known is not None and known.is_of(calls)


def _gate_shell(calls: AgentTools, tool: ShellTool) -> ShellTool:
    shell = Shell(calls, tool.name, tool.executor)
    return dataclasses.replace(tool, executor=shell, **_options_to_ask(calls, shell, tool))


def _gate_patches(calls: AgentTools, tool: ApplyPatchTool) -> ApplyPatchTool:
    editor = Editor(calls, tool.name, tool.editor)
    return dataclasses.replace(tool, editor=editor, **_options_to_ask(calls, editor, tool))


def _options_to_ask(calls: AgentTools, gated: Shell | Editor, tool: ShellTool | ApplyPatchTool) -> dict[str, Any]:
    """What makes a run stop where a person is to be asked; nothing where a run is not to be stopped."""
    given = tool.needs_approval
    if not calls.interrupts:
        return {}

    async def needs_approval(context: RunContextWrapper[Any], asked: Any, call_id: str) -> bool:
        return await gated.needs_approval(context, asked, call_id, given)

    return {"needs_approval": needs_approval}
