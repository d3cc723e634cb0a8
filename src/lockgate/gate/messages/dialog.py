"""What a person reads in a client's own dialog, and what is said of an answer there. Pure text.

A client may cut a long question: Claude Code 2.1.329 does after ten lines of the screen. What a person cannot see they
cannot answer, so what does not fit is not asked there.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.core.display_text import barred, indented, visible
from lockgate.core.model import Decision, Label, Reason, Taint, ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.messages.calls import call_text, provenance_text

if TYPE_CHECKING:
    from lockgate.store.rows import ApprovalRow

LINES = 10
"""Most lines of a question, as a terminal of 80 columns shows them."""
COLUMNS = 72
"""Columns that the client leaves for a line of text there."""
_REASONS = 2
_PASSED_OVER = {"description": str, "timeout": int, "run_in_background": bool}
"""Fields of Bash that change nothing about what it does, with their types. Another tool's field may be what it sends.

Source: the tool's schema of Claude Code 2.1.329.
"""
_TITLE = "Lockgate: let exactly this run once?"
_MORE = "    "
"""Before what the screen has no room for in a line of ours."""
_WHOLE = 4000
"""Characters of a field above which nothing fits anyhow."""


def asked(
    call: ToolCall, decision: Decision, taints: Sequence[Taint], approval: str, reached: Sequence[str] = ()
) -> str:
    """Build the question: the whole call, where it goes, what locked the session, and where more stands.

    Args:
        call: The call.
        decision: Why it is asked.
        taints: What the session has read.
        approval: The question's id.
        reached: Addresses that stand behind names in the call.

    Returns:
        At most :data:`LINES` lines; empty where all that must stand there takes more.
    """
    lines = _because(decision.reasons)
    where = _where(decision.reasons, call, reached)
    lines += [f"To: {where}"] if where else []
    for label, said in ((Label.UNTRUSTED, "Locked by"), (Label.SECRET, "It holds private data")):
        source = provenance_text(taints, label, 1)
        lines += [f"{said}: {source}"] if source else []
    lines.append(f"more: lockgate question {approval}")
    # Cut here and not by the client: a piece of a long line would begin as one of ours does.
    shown = barred("\n".join(_call(call)), COLUMNS)
    shown += [piece for line in lines for piece in indented(line, COLUMNS, "", _MORE)]
    return "\n".join([_TITLE, *shown]) if len(shown) < LINES else ""


def _because(reasons: Sequence[Reason]) -> list[str]:
    found = list(
        dict.fromkeys(f"{visible(each.effect.because, 120)} [{visible(each.effect.rule, 80)}]" for each in reasons)
    )
    more = [f"and {len(found) - _REASONS} more reasons"] if len(found) > _REASONS else []
    return [f"Why: {line}" for line in found[:_REASONS]] + more


def _call(call: ToolCall) -> list[str]:
    """The whole call: nothing of it is left out, and a line break is a line break."""
    fields = {name: value for name, value in call.tool_input.items() if not _passed_over(call.tool, name, value)}
    if list(fields) == ["command"] and isinstance(fields["command"], str):
        return _lines(f"{call.tool}: {fields['command']}")
    return [visible(call.tool, 200), *(line for name, value in fields.items() for line in _lines(f"{name}: {value}"))]


def _passed_over(tool: str, name: str, value: object) -> bool:
    return tool == "Bash" and type(value) is _PASSED_OVER.get(name)


def _lines(text: str) -> list[str]:
    # Much longer than what fits: it need not be made safe to show first.
    return [visible(line, 10 * _WHOLE) for line in text[:_WHOLE].split("\n")] if len(text) < _WHOLE else ["x"] * LINES


def _where(reasons: Sequence[Reason], call: ToolCall, reached: Sequence[str]) -> str:
    """Where it goes, as far as that does not stand in the call already."""
    effects = [reason.effect for reason in reasons]
    own = [effect.what for effect in effects if effect.rule != f"program:{effect.what.replace(' ', '/')}"]
    found = dict.fromkeys([*reached, *(what for what in own if what != call.tool)])
    return ", ".join(visible(each, 10 * _WHOLE) for each in found)


def unasked(because: str) -> str:
    """Say why nobody was asked."""
    return f"Nobody was asked: {visible(because, 400)}."


def changed(call: ToolCall, approval: str) -> str:
    """Say that another call ran than the one that a person was asked about."""
    return (
        f"Lockgate: another call ran than the one that a person was asked about ({call_text(call, 200)}): something "
        f"has changed its input. This session's window asks nothing more (lockgate question {visible(approval, 40)})."
    )


def words(row: ApprovalRow) -> str:
    """Say to the agent what the person has said with a no."""
    tool = visible(str(row.about.get("tool", "")), 80)
    return f"Lockgate: a person said no to a call of {tool} that you made: {visible(row.reason, 400)}"
