"""Translates a tool's output for the gate, and the gate's answers for a program."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Literal

from lockgate.clients.common.result_texts import names_of, texts_of, with_texts, withheld
from lockgate.clients.common.results import all_text
from lockgate.clients.sdk.model import Decision, Result
from lockgate.configuration.plugins import HookDecision
from lockgate.core.errors import LockgateError
from lockgate.core.events import Answer, Context, ToolFinished
from lockgate.core.model import ToolCall, Verdict

_log = logging.getLogger("lockgate")
_ANY_TOOL = ""
"""No tool of Claude Code's: a program's tools may have the same names, and their results another shape."""


def make_finished_event(context: Context, call: ToolCall, output: Any) -> ToolFinished:
    """The event of a call that has come back.

    Args:
        context: The session.
        call: The call.
        output: A text, or JSON values with texts in them. Anything else is looked at as its ``str``.
    """
    shown = _readable(output)
    texts = texts_of(_ANY_TOOL, shown)
    return ToolFinished(
        context, call, shown, text=all_text(call.tool, shown, texts), texts=texts, names=names_of(shown)
    )


def result_of(output: Any, answer: Answer) -> Result:
    """What the agent reads of an output."""
    if answer.withheld:
        return Result(_withheld(output, answer.withheld), True, answer.context)
    if answer.texts:
        return Result(with_texts(_ANY_TOOL, _readable(output), answer.texts), True, answer.context)
    return Result(output, False, answer.context)


def unreadable(output: Any, error: Exception) -> Result:
    """What the agent reads where the output could not be looked at: nothing of it."""
    notice = f"Lockgate could not look at this result and withholds it: {_describe_error(error)}"
    return Result(_withheld(output, notice), True, notice)


def _withheld(output: Any, notice: str) -> Any:
    try:
        return withheld(_ANY_TOOL, _readable(output), notice) or notice
    except Exception:  # noqa: BLE001 - a shape that cannot be kept is given up
        return notice


def _readable(output: Any) -> Any:
    """The output as JSON values where it is made of such; else its text."""
    if isinstance(output, str):
        return str(output)
    try:
        return json.loads(json.dumps(output))
    except (TypeError, ValueError, RecursionError):
        return str(output)


_VERDICTS: Mapping[Verdict, Literal["allow", "contain", "ask", "deny"]] = {
    Verdict.ALLOW: "allow",
    Verdict.CONTAIN: "contain",
    Verdict.ASK: "ask",
    Verdict.DENY: "deny",
}


def decision_of(call: ToolCall, answer: Answer) -> Decision:
    """What is to happen with a call."""
    decision = answer.decision
    return Decision(
        _VERDICTS.get(answer.verdict, "deny"),
        call.tool_input if answer.new_input is None else answer.new_input,
        answer.to_agent,
        answer.to_person,
        answer.context,
        decision.tier.value if decision else "",
        decision.profile if decision else "",
        answer.approval,
    )


def make_undecided_decision(tool_input: Mapping[str, Any], error: Exception) -> Decision:
    """What is to happen with a call on which the gate failed to decide."""
    reason = f"Lockgate could not decide and blocks to be safe: {_describe_error(error)}"
    return Decision("deny", tool_input, reason, reason)


def hook_decision_of(decision: Decision) -> HookDecision:
    """The decision in a hook's words. Nothing but ``allow`` lets a call run as it is."""
    if decision.verdict == "allow":
        return HookDecision(True, None, "allow")
    return HookDecision(False, decision.reason, "ask" if decision.verdict == "ask" else "deny")


def _describe_error(error: Exception) -> str:
    if isinstance(error, LockgateError):
        return str(error)
    _log.error("the gate failed", exc_info=error)
    return f"an internal error ({type(error).__name__})"
