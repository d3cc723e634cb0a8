"""Recognises calls that only look: nothing on this machine holds afterwards what they have read.

The table is ``data/looking.yaml``. What no row names leaves something behind.
"""

from __future__ import annotations

from functools import lru_cache

from lockgate.analysis.mcp import is_mcp
from lockgate.core.model import Analysis, Command, EffectKind, ToolCall
from lockgate.core.version import resource_table

_LOOKS = frozenset({EffectKind.INGEST, EffectKind.READ_SECRET, EffectKind.FETCH})
_SAYS = _LOOKS | {EffectKind.EGRESS}
"""What a command does that shows something, or tells it to somebody elsewhere: no file here is another one by it."""
_WORDS = 3
"""The most words of a name in the table."""


def looks_only(call: ToolCall, analysis: Analysis) -> bool:
    """Whether a call leaves no file, plan or agent behind that may hold what its subject has read.

    Args:
        call: The call.
        analysis: What it can do.
    """
    kinds = {effect.kind for effect in analysis.effects}
    if call.tool == "Bash":
        commands = analysis.commands
        return bool(commands) and not analysis.writes and kinds <= _SAYS and all(map(_is_listed, commands))
    if is_mcp(call.tool):
        # What is typed into a page of this machine may stay there.
        from lockgate.analysis.mcp_servers import PAGE_HERE

        acts = any(effect.rule == PAGE_HERE for effect in analysis.effects)
        return bool(kinds) and kinds <= _LOOKS and not acts
    return kinds <= _LOOKS and call.tool in _names("tool")


def _is_listed(command: Command) -> bool:
    names = _names("command")
    return any(" ".join(command.words[:count]) in names for count in range(1, _WORDS + 1))


@lru_cache(maxsize=2)
def _names(kind: str) -> frozenset[str]:
    return frozenset(name for row in resource_table("looking") if row["kind"] == kind for name in row["names"])
