"""Lets a known secret be written to the very file that it comes from: honest work, and no way out.

Whoever changes ``.env`` with a tool that writes files gives the tool the lines that are there already. Nothing leaves
by that, so it is a remark and no more. The same value in any other file, or in a command, is refused.
"""

from __future__ import annotations

import os

from lockgate.configuration.known_secrets.collect import SearchScope, comes_from
from lockgate.core.model import ToolCall
from lockgate.patterns.engine.results import decision_of_all, reason_of
from lockgate.patterns.model import GuardrailDecision, GuardrailResult, Kind, PatternMatch

_GROUP = "known_secrets/"
_FILE_FIELDS = {"Edit": "file_path", "MultiEdit": "file_path", "NotebookEdit": "notebook_path", "Write": "file_path"}
"""Tools of the client that write one file and do nothing else, with the field that names it."""


def excuse_own_values(result: GuardrailResult, call: ToolCall, where: SearchScope) -> GuardrailResult:
    """A result in which values on their way back into their own file are worth a warning.

    Args:
        result: What was found in a call's input.
        call: The call.
        where: Where known secrets were looked for.
    """
    file = _file_of(call)
    if not file:
        return result
    own = [
        match
        for match in result.pattern_matches
        if match.rule.startswith(_GROUP) and comes_from(match.detail, file, where)
    ]
    if not own:
        return result
    matches = tuple(_excuse(match, own) for match in result.pattern_matches)
    decision = decision_of_all(matches, result.expired)
    return result._replace(decision=decision, reason=reason_of(matches, result.expired), pattern_matches=matches)


def _file_of(call: ToolCall) -> str:
    """The file that a call writes; empty where that is not sure: a link could lead to any other."""
    name = call.tool_input.get(_FILE_FIELDS.get(call.tool, ""))
    if not isinstance(name, str) or not name or "\0" in name or ".." in name.split("/"):
        return ""
    file = os.path.normpath(os.path.join(call.cwd, name))
    return file if os.path.isabs(file) and os.path.realpath(file) == _real_folder(file) else ""


def _real_folder(file: str) -> str:
    """The path of a file with no link in its folders. The file itself may still be one."""
    folder, name = os.path.split(file)
    return os.path.join(os.path.realpath(folder), name)


def _excuse(match: PatternMatch, own: list[PatternMatch]) -> PatternMatch:
    """A match that is one of the file's own values, or another rule's match of it."""
    is_own = match.kind is Kind.SECRET and any(
        match.path == other.path and match.start < other.end and other.start < match.end for other in own
    )
    if not is_own or match.decision.rank <= GuardrailDecision.WARN.rank or not _is_same_source(match, own):
        return match
    return match._replace(decision=GuardrailDecision.WARN)


def _is_same_source(match: PatternMatch, own: list[PatternMatch]) -> bool:
    """A canary stays one, and so does a known secret of another file."""
    return match in own or not match.rule.startswith((_GROUP, "canary/"))
