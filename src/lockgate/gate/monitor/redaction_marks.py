"""Finds redaction marks in what a call would write: they would overwrite the values that they stand for.

No tool needs a mark, but a person may ask to look for one. So it is decided on what a tool does with the text: in what
a tool writes to a file a mark is refused, in a command, which may do either, it is remarked on.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lockgate.core.model import ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.findings import MARK_RULE
from lockgate.patterns.model import GuardrailDecision, GuardrailResult, Kind, Mode, PatternMatch, Severity
from lockgate.patterns.redaction.spans import has_mark

if TYPE_CHECKING:
    from typing import Any

_COMMANDS = frozenset({"Bash"})
_NOT_WRITERS = frozenset({"Read", "Grep", "Glob", "LS", "LSP", "NotebookRead"})
"""Tools of the client that name a file and write none."""
_FILES = frozenset({"file", "filename", "filepath", "notebookpath", "path", "target", "uri"})
"""Fields that name the file that a tool works on, without case, ``-`` and ``_``."""
_SOUGHT = frozenset(
    {"find", "needle", "oldstr", "oldstring", "oldtext", "original", "pattern", "query", "regex", "search"}
)
"""Fields that hold what a tool looks for: what replaces a mark that stands in the file itself destroys nothing."""


def with_marks(result: GuardrailResult, call: ToolCall) -> GuardrailResult:
    """Object to a call that would write a mark into a file, and remark on a command that holds one."""
    path = _first_mark(call)
    if not path:
        return result
    decision = GuardrailDecision.WARN if call.tool in _COMMANDS else GuardrailDecision.BLOCK
    match = PatternMatch(
        MARK_RULE,
        "redaction mark",
        Severity.HIGH,
        Mode.BLOCK,
        Kind.OTHER,
        path,
        0,
        0,
        decision=decision,
    )
    strictest = max(result.decision, decision, key=lambda each: each.rank)
    return result._replace(decision=strictest, pattern_matches=(*result.pattern_matches, match))


def _first_mark(call: ToolCall) -> str:
    """The path of the first text with a mark that the call may write; empty where there is none."""
    if call.tool in _COMMANDS:
        command = call.tool_input.get("command")
        return "command" if isinstance(command, str) and has_mark(command) else ""
    if call.tool in _NOT_WRITERS or not any(_plain(name) in _FILES for name in call.tool_input):
        return ""
    return next(_find_marked("", call.tool_input), "")


def _find_marked(path: str, value: Any) -> Iterator[str]:
    """The paths of texts with marks, but where the same object also looks for one."""
    if isinstance(value, str):
        if has_mark(value):
            yield path
    elif isinstance(value, Mapping):
        sought = {name: text for name, text in value.items() if _plain(name) in _SOUGHT}
        if not any(isinstance(text, str) and has_mark(text) for text in sought.values()):
            for name, inner in value.items():
                if name not in sought:
                    yield from _find_marked(f"{path}.{name}" if path else str(name), inner)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            yield from _find_marked(f"{path}[{index}]", inner)


def _plain(name: str) -> str:
    return str(name).replace("-", "").replace("_", "").lower()
