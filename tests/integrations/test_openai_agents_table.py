"""The cascade's truth table through what executes the tools of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from agents import Agent, RunContextWrapper, ShellActionRequest, ShellCallData, ShellCommandRequest, ShellTool
from agents.tool_context import ToolContext

from lockgate import Session
from lockgate.clients.sdk.integrations.openai_agents import gate_agent
from lockgate.clients.sdk.integrations.openai_agents.calls import AgentTools
from support.cascade_cases import Case
from support.court import CASES, CONTAINED, Court


@pytest.fixture(scope="module")
def court(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Court]:
    made = Court(tmp_path_factory.mktemp("court"))
    yield made
    made.gate.close()


@pytest.mark.parametrize("case", [case for case in CASES if case.call.tool == "Bash"], ids=lambda case: case.name)
def test_a_shell(court: Court, case: Case) -> None:
    ran: list[str] = []

    def execute(request: ShellCommandRequest) -> str:
        ran.extend(request.data.action.commands)
        return ""

    def check(session: Session, name: str) -> Any:
        agent = gate_agent(Agent(name="a", tools=[ShellTool(execute)]), court.gate, session=session)
        (tool,) = agent.tools
        assert isinstance(tool, ShellTool)
        assert tool.executor is not None
        data = ShellCallData(name, ShellActionRequest([case.call.tool_input["command"]]))
        said: Any = tool.executor(ShellCommandRequest(RunContextWrapper(None), data))
        return asyncio.run(said)

    _rest(court, case, check)
    due = {"allow": [case.call.tool_input["command"]], "contain": [CONTAINED], "deny": []}
    assert (ran, court.judged, court.asked) == (due[case.verdict], case.judged, case.asked)


@pytest.mark.parametrize("case", [case for case in CASES if case.call.tool != "Bash"], ids=lambda case: case.name)
def test_a_function(court: Court, case: Case) -> None:
    call = case.call

    def check(session: Session, name: str) -> str | None:
        calls = AgentTools(court.gate, session, None, {})
        context = ToolContext(None, tool_name=call.tool, tool_call_id=name, tool_arguments="{}")
        return asyncio.run(calls.refusal(context, call.tool, call.tool_input, name, call.tool))

    refusal = _rest(court, case, check)
    assert (refusal is None, court.judged, court.asked) == (case.verdict == "allow", case.judged, case.asked)


def _rest(court: Court, case: Case, check: Any) -> Any:
    """Hear a case in a session of its own: a shell's result is read here, and what was read stays."""
    labels = case.labels
    column = court.sessions[case.column]
    fresh = court.gate.session()
    fresh.exposed("a test", {label for label in column.labels() if label in labels})
    court.sessions[case.column] = fresh
    try:
        return court.hear(case, check)
    finally:
        court.sessions[case.column] = column
