"""The gate in-process, for programs that run agents themselves.

::

    from lockgate import Gate

    async with Gate.open() as gate:
        session = gate.session("support-42")
        decision = await session.check("Bash", {"command": "git push"})
        if not decision.allowed:
            return decision.reason
"""

from lockgate.api.gate import Gate
from lockgate.api.model import Ask, Asker, Call, Decision, Question, Reply, Result
from lockgate.api.session import Session
from lockgate.deliberation import JudgeQuestion, Opinion
from lockgate.plugins import HookContext, HookDecision

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
]
