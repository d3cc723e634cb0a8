"""Tells the gate of calls in one conversation of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, Literal
from uuid import uuid4

from agents import RunContextWrapper
from pydantic import BaseModel

from lockgate.analysis.tools import list_known_tools
from lockgate.clients.sdk.gate import Gate
from lockgate.clients.sdk.model import Ask, Decision, Result
from lockgate.clients.sdk.session import Session
from lockgate.core.model import Label
from lockgate.system.digests import json_object

OpenAIAsk = Ask | Literal["interrupt"]
SessionOf = Callable[[RunContextWrapper[Any]], "Session | str"]


class AgentTools:
    """The state that the tools of one gated agent share, with those of all agents that it hands over to."""

    def __init__(
        self, gate: Gate, session: Session | str | SessionOf | None, ask: OpenAIAsk | None, names: Mapping[str, str]
    ) -> None:
        """Begin.

        Args:
            gate: The gate.
            session: As for ``gate_agent``.
            ask: As for ``gate_agent``.
            names: As for ``gate_agent``.
        """
        self.gate = gate
        self.interrupts = ask == "interrupt"
        self.hosted: dict[str, frozenset[Label]] = {}
        """The tools that run elsewhere, with the labels that they give."""
        self._ask: Ask | None = "caller" if self.interrupts else ask  # type: ignore[assignment]
        self._names = names
        self._session = session if callable(session) else self._open(session)
        self._exposed: dict[str, frozenset[str]] = {}

    def _open(self, session: Session | str | None) -> Session:
        if isinstance(session, Session):
            return session if self._ask is None else session.asking(self._ask)
        return self.gate.session(session or "", ask=self._ask)

    def is_of(self, other: AgentTools) -> bool:
        """Whether these are calls of the same conversation as those."""
        mine, theirs = self._session, other._session
        if isinstance(mine, Session) and isinstance(theirs, Session):
            return mine.name == theirs.name
        return mine is theirs

    async def session(self, context: RunContextWrapper[Any] | None) -> Session:
        """The conversation that a run belongs to, with the labels of what runs elsewhere."""
        found = self._session
        session = found if isinstance(found, Session) else self._open(found(context or RunContextWrapper(None)))
        missing = self.hosted.keys() - self._exposed.get(session.name, frozenset())
        for name in sorted(missing):
            await asyncio.to_thread(session.exposed, f"the hosted tool {name}", self.hosted[name])
        self._exposed[session.name] = frozenset(self.hosted)
        return session

    def name_of(self, tool: str) -> str:
        """The name under which the gate knows a function tool.

        A function that is called like a tool of Claude Code need not do what that does, so that it gets another name.
        """
        if tool in self._names:
            return self._names[tool]
        return f"function:{tool}" if tool in list_known_tools() or tool.startswith("mcp__") else tool

    # ---------------------------------------------------------------- one call
    async def refusal(
        self,
        context: RunContextWrapper[Any],
        tool: str,
        tool_input: Mapping[str, Any],
        call_id: str,
        sdk_name: str,
    ) -> str | None:
        """Why a call must not be run as it is; ``None`` where it may."""
        decision = await self.decide(context, tool, tool_input, call_id, rewrites=False)
        return None if self.permits(context, decision, sdk_name, call_id) else refusal_of(decision)

    async def decide(
        self,
        context: RunContextWrapper[Any] | None,
        tool: str,
        tool_input: Mapping[str, Any],
        call_id: str,
        *,
        cwd: str = "",
        rewrites: bool = True,
    ) -> Decision:
        """Decide on a call."""
        session = await self.session(context)
        return await session.check(tool, tool_input, call_id=call_id, cwd=cwd, rewrites=rewrites)

    async def asks(
        self, context: RunContextWrapper[Any], tool: str, tool_input: Mapping[str, Any], call_id: str, *, rewrites: bool
    ) -> bool:
        """Whether the run is to be interrupted, so that a person can be asked about a call."""
        if not self.interrupts:
            return False
        decision = await self.decide(context, tool, tool_input, call_id, rewrites=rewrites)
        return decision.verdict == "ask"

    def permits(self, context: RunContextWrapper[Any] | None, decision: Decision, sdk_name: str, call_id: str) -> bool:
        """Whether a call may run: by the gate's word, or where that is a question, by a person's about this very call.

        An approval for all calls of a tool (``always_approve``) is none for this one.
        """
        if decision.allowed:
            return True
        if decision.verdict != "ask" or not self.interrupts or context is None:
            return False
        always = context.is_tool_approved(sdk_name, f"lockgate-{uuid4().hex}")
        return context.is_tool_approved(sdk_name, call_id) is True and always is not True

    async def note_result(
        self,
        context: RunContextWrapper[Any] | None,
        tool: str,
        tool_input: Mapping[str, Any],
        output: Any,
        call_id: str,
        *,
        cwd: str = "",
    ) -> Result:
        """Note a result; what the model may read of it."""
        session = await self.session(context)
        return await session.finished(tool, tool_input, plain(output), call_id=call_id, cwd=cwd)


def refusal_of(decision: Decision) -> str:
    """What the model reads where a call is not run."""
    return decision.reason or "Lockgate blocked this call"


def arguments_of(text: str) -> Mapping[str, Any] | None:
    """The arguments of a call; ``None`` where they are no object."""
    return json_object(text) if text.strip() else {}


def plain(output: Any) -> Any:
    """An output of a function tool as JSON values, where it is made of the SDK's own types."""
    if isinstance(output, BaseModel):
        return output.model_dump(mode="json")
    if isinstance(output, list | tuple):
        return [plain(item) for item in output]
    return output


def as_text(output: Any) -> str:
    """An output as one text for the model."""
    return output if isinstance(output, str) else json.dumps(output, ensure_ascii=False, default=str)
