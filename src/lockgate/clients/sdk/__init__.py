"""The gate in-process, for programs that run agents themselves.

::

    from lockgate import Gate

    async with Gate.open() as gate:
        session = gate.session("support-42")
        decision = await session.check("Bash", {"command": "git push"})
        if not decision.allowed:
            return decision.reason
"""

from lockgate.clients.sdk.gate import Gate
from lockgate.clients.sdk.model import Ask, Asker, Call, Decision, Question, Reply, Result, person, program, stranger
from lockgate.clients.sdk.session import Session
from lockgate.configuration.plugins import HookContext, HookDecision
from lockgate.core.questions import JudgeQuestion, Opinion

__all__ = [
    "Ask",
    "Asker",
    "Call",
    "Decision",
    "Gate",
    "HookContext",
    "HookDecision",
    "JudgeQuestion",
    "Opinion",
    "Question",
    "Reply",
    "Result",
    "Session",
    "person",
    "program",
    "stranger",
]
