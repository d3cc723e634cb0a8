"""What is told to the gate of a tool's output, and its answers in a program's words."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import Any, Literal

from lockgate.adapters.claude_output import names_of, texts_of, with_texts, withheld
from lockgate.api.model import Decision, Result
from lockgate.errors import LockgateError
from lockgate.events import Answer, Context, ToolFinished
from lockgate.model import ToolCall, Verdict

_log = logging.getLogger("lockgate")


def finished_event(context: Context, call: ToolCall, output: Any) -> ToolFinished:
    """The event of a call that has come back.

    Args:
        context: The session.
        call: The call.
        output: A text, or JSON values with texts in them. Anything else is looked at as its ``str``.
    """
    shown = _readable(output)
    texts = texts_of(call.tool, shown)
    return ToolFinished(
        context, call, shown, text="\n".join(text for _, text in texts), texts=texts, names=names_of(shown)
    )


def result_of(tool: str, output: Any, answer: Answer) -> Result:
    """What the agent reads of an output."""
    shown = _readable(output)
    if answer.withheld:
        return Result(_withheld(tool, shown, answer.withheld), True, answer.context)
    if answer.texts:
        return Result(with_texts(tool, shown, answer.texts), True, answer.context)
    return Result(output, False, answer.context)


def unreadable(tool: str, output: Any, error: Exception) -> Result:
    """What the agent reads where the output could not be looked at: nothing of it."""
    notice = f"Lockgate could not look at this result and withholds it: {_what_failed(error)}"
    return Result(_withheld(tool, _readable(output), notice), True, notice)


def _withheld(tool: str, shown: Any, notice: str) -> Any:
    try:
        return withheld(tool, shown, notice) or notice
    except Exception:  # noqa: BLE001 - a shape that cannot be kept is given up
        return notice


def _readable(output: Any) -> Any:
    """The output where it is made of JSON values; else its text."""
    try:
        json.dumps(output)
    except (TypeError, ValueError):
        return str(output)
    return output


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


def undecided(call: ToolCall, error: Exception) -> Decision:
    """What is to happen with a call on which the gate failed to decide."""
    reason = f"Lockgate could not decide and blocks to be safe: {_what_failed(error)}"
    return Decision("deny", call.tool_input, reason, reason)


def _what_failed(error: Exception) -> str:
    if isinstance(error, LockgateError):
        return str(error)
    _log.error("the gate failed", exc_info=error)
    return f"an internal error ({type(error).__name__})"
