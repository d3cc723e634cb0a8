"""What the agent and the person read when a rule set or a plugin objects. Pure text."""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.core.display_text import visible
from lockgate.core.model import Reason, ToolCall
from lockgate.gate.messages.calls import call_text

_SHOWN = 5
_TO_AGENT = (
    "This is a rule of this machine, and holds whatever was read before: for sub-agents too, in any spelling. "
    "Do what you can without it, or tell the person what you wanted to do."
)
_TO_PERSON = "To let it through: run it yourself, or change the rule (lockgate config show, lockgate plugins list)."


def blocked(call: ToolCall, reasons: Sequence[Reason]) -> tuple[str, str]:
    """Build what both read of a call that is refused."""
    said = [f"{visible(reason.effect.because, 400)} [{visible(reason.effect.rule, 100)}]" for reason in reasons]
    why = "; ".join(said[:_SHOWN]) + (f"; and {len(said) - _SHOWN} more" if len(said) > _SHOWN else "")
    tool = visible(call.tool, 80)
    return (
        f"Lockgate blocked this call of {tool}.\nWhy: {why}.\n{_TO_AGENT}",
        f"Lockgate blocked {call_text(call, 300)}\nWhy: {why}.\n{_TO_PERSON}",
    )
