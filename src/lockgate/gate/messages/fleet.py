"""What the agent and the person read where the policy of the machine's fleet is missing. Pure text."""

from __future__ import annotations

from lockgate.core.display_text import visible
from lockgate.core.model import ToolCall
from lockgate.gate.messages.calls import call_text

_WHY = (
    "this machine belongs to a fleet, and no valid policy of the fleet is in force here. Until one is, only local work"
    " goes on: reading, editing and searching this project"
)


def blocked(call: ToolCall) -> tuple[str, str]:
    """Build what both read of a call that is refused for want of a policy."""
    return (
        f"Lockgate blocked this call of {visible(call.tool, 80)}: {_WHY}.\nNo other form of the call and no sub-agent"
        " gets it through. Do what is local, or tell the person what you wanted to do.",
        f"Lockgate blocked {call_text(call, 300)}\nWhy: {_WHY}.\nTo mend it: lockgate policy status",
    )
