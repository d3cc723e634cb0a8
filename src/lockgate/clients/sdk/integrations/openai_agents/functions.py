"""Guards function tools and MCP servers of the OpenAI Agents SDK with its guardrails."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agents import (
    CustomTool,
    FunctionTool,
    RunContextWrapper,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
)
from agents.mcp import MCPServer

from lockgate.clients.sdk.integrations.openai_agents.calls import AgentTools, arguments_of, as_text
from lockgate.clients.sdk.integrations.openai_agents.executors import Editor, LocalShell, Shell, await_value, copy_tool
from lockgate.core.errors import LockgateError

_NO_ARGUMENTS = "Lockgate blocks this call: its arguments are no JSON object"
_NO_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


class ToolGuardrails:
    """The gate as the two guardrails of a tool, or of all tools of an MCP server."""

    def __init__(self, calls: AgentTools, server: str | None = None) -> None:
        """Begin.

        Args:
            calls: The conversation's calls.
            server: The name of the MCP server, where they are its tools.
        """
        self.calls, self._server = calls, server
        self.before: ToolInputGuardrail[Any] = ToolInputGuardrail(self._before, name="lockgate")
        self.after: ToolOutputGuardrail[Any] = ToolOutputGuardrail(self._after, name="lockgate")

    def name_of(self, tool: str) -> str:
        """The name under which the gate knows a tool."""
        return self.calls.name_of(tool) if self._server is None else f"mcp__{self._server}__{tool}"

    async def needs_approval(self, context: RunContextWrapper[Any], tool: str, given: Any, call_id: str) -> bool:
        """Whether the run is to be interrupted because the gate asks."""
        return isinstance(given, Mapping) and await self.calls.asks(
            context, self.name_of(tool), given, call_id, rewrites=False
        )

    async def _before(self, data: ToolInputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = data.context
        given = arguments_of(context.tool_arguments)
        if given is None:
            return ToolGuardrailFunctionOutput.reject_content(_NO_ARGUMENTS)
        name = self.name_of(context.tool_name)
        refusal = await self.calls.refusal(context, name, given, context.tool_call_id, context.tool_name)
        if refusal is None:
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(refusal)

    async def _after(self, data: ToolOutputGuardrailData) -> ToolGuardrailFunctionOutput:
        context = data.context
        given = arguments_of(context.tool_arguments) or {}
        name = self.name_of(context.tool_name)
        result = await self.calls.note_result(context, name, given, data.output, context.tool_call_id)
        if not result.changed:
            return ToolGuardrailFunctionOutput.allow()
        return ToolGuardrailFunctionOutput.reject_content(as_text(result.output))


def find_gate_of(tool: Any) -> AgentTools | None:
    """The conversation that a tool or a server was gated for; ``None`` where it was not."""
    if isinstance(tool, FunctionTool | MCPServer):
        functions = [guardrail.guardrail_function for guardrail in tool.tool_input_guardrails or ()]
        guards = [getattr(function, "__self__", None) for function in functions]
        return next((guard.calls for guard in guards if isinstance(guard, ToolGuardrails)), None)
    wrapped = (getattr(tool, name, None) for name in ("executor", "editor", "on_invoke_tool"))
    return next((each.calls for each in wrapped if isinstance(each, Shell | LocalShell | Editor | _Custom)), None)


def is_gated(tool: Any, calls: AgentTools) -> bool:
    """Whether a tool or a server is one that was gated for this conversation.

    Raises:
        LockgateError: It was gated for another one.
    """
    known = find_gate_of(tool)
    if known is not None and not known.is_of(calls):
        raise LockgateError(
            f"{tool.name} was gated for another conversation, which would not know what this one has read: give the "
            "one that was not gated, or gate both with the same session"
        )
    return known is not None


def gate_function(calls: AgentTools, tool: FunctionTool) -> FunctionTool:
    """A function tool with the gate after its own guardrails: what those refuse is no call, what they hide is gone."""
    guard = ToolGuardrails(calls)
    changes: dict[str, Any] = {
        "tool_input_guardrails": [*(tool.tool_input_guardrails or ()), guard.before],
        "tool_output_guardrails": [*(tool.tool_output_guardrails or ()), guard.after],
    }
    if calls.interrupts:
        changes["needs_approval"] = _approval(guard, tool.name, tool.needs_approval)
    made: FunctionTool = copy_tool(tool, **changes)
    return made


def _approval(guard: ToolGuardrails, tool: str, own: Any) -> Any:
    async def needs_approval(context: RunContextWrapper[Any], given: dict[str, Any], call_id: str) -> bool:
        if bool(await await_value(own(context, given, call_id)) if callable(own) else own):
            return True
        return await guard.needs_approval(context, tool, given, call_id)

    return needs_approval


# ---------------------------------------------------------------- MCP servers
def gate_server(calls: AgentTools, server: MCPServer) -> MCPServer:
    """The same server, connected or not, whose tools have the gate as a guardrail.

    It is another object of a class of its own that shares all state with the given one: a connection belongs to both.
    """
    if is_gated(server, calls):
        return server
    # A server without a name of its own is called by its address, which may hold credentials.
    guard = ToolGuardrails(calls, _NO_NAME.sub("_", server._error_name))

    def before(self: Any) -> list[ToolInputGuardrail[Any]]:
        return [*(self.__dict__.get("tool_input_guardrails") or ()), guard.before]

    def after(self: Any) -> list[ToolOutputGuardrail[Any]]:
        return [*(self.__dict__.get("tool_output_guardrails") or ()), guard.after]

    members: dict[str, Any] = {"tool_input_guardrails": property(before), "tool_output_guardrails": property(after)}
    if calls.interrupts:
        members["_get_needs_approval_for_tool"] = _server_approval(guard)
    kind = type(server)
    made: MCPServer = object.__new__(type(f"Gated{kind.__name__}", (kind,), members))
    made.__dict__ = server.__dict__
    return made


def _server_approval(guard: ToolGuardrails) -> Any:
    def policy(self: Any, tool: Any, agent: Any) -> Any:
        own = super(type(self), self)._get_needs_approval_for_tool(tool, agent)
        return _approval(guard, tool.name, own)

    return policy


# ---------------------------------------------------------------- custom tools
class _Custom:
    """Runs a custom tool, which takes one text."""

    def __init__(self, calls: AgentTools, tool: CustomTool) -> None:
        self.calls, self._tool = calls, tool

    async def __call__(self, context: Any, text: str) -> Any:
        name, given = self.calls.name_of(self._tool.name), {"input": text}
        call_id = str(context.tool_call_id)
        refusal = await self.calls.refusal(context, name, given, call_id, self._tool.name)
        if refusal is not None:
            return refusal
        output = await await_value(self._tool.on_invoke_tool(context, text))
        result = await self.calls.note_result(context, name, given, output, call_id)
        return as_text(result.output) if result.changed else output


def gate_custom(calls: AgentTools, tool: CustomTool) -> CustomTool:
    """A custom tool that is run where the gate lets it."""
    custom, own = _Custom(calls, tool), tool.needs_approval
    if not calls.interrupts:
        made: CustomTool = copy_tool(tool, on_invoke_tool=custom)
        return made

    async def needs_approval(context: RunContextWrapper[Any], text: str, call_id: str) -> bool:
        if bool(await await_value(own(context, text, call_id)) if callable(own) else own):
            return True
        return await calls.asks(context, calls.name_of(tool.name), {"input": text}, call_id, rewrites=False)

    asking: CustomTool = copy_tool(tool, on_invoke_tool=custom, needs_approval=needs_approval)
    return asking
