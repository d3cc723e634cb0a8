"""OpenCode's own permission rules about a shell command, where the gate is about to spell that command differently.

Observed with version 1.18.33: a plugin changes a call before the rules are held against it. So one that refuses the
unchanged command, or asks about it, would be lost. Form of the rules: https://opencode.ai/docs/permissions
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase

from lockgate.clients.common.rule_words import mentions, stays_inside
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_SHELL = "bash"
_OUTSIDE_RULE = "external_directory"


def may_be_refused(permissions: Any, command: str, workspace: str) -> bool:
    """Whether a rule that refuses or asks may be about a command. In doubt it is.

    Args:
        permissions: The values of ``permission`` in the configuration, of each agent, and of sessions.
        command: The command.
        workspace: The project's folder: what is below it is not outside.
    """
    if not isinstance(permissions, list):
        return True
    for value in permissions:
        for key, pattern, action in _rules(value):
            if action == "allow":
                continue
            if key == _OUTSIDE_RULE and action == "deny" and not stays_inside(command, workspace):
                return True
            if fnmatchcase(_SHELL, key) and (not pattern or mentions(pattern, command)):
                return True
    return False


def _rules(value: Any) -> Iterator[tuple[str, str, str]]:
    """Each rule as (what it is about, pattern, action); one that is not understood is about the shell, and refuses."""
    if value is None:
        return
    if isinstance(value, str):
        yield "*", "*", value
    elif isinstance(value, dict):
        for key, said in value.items():
            for pattern, action in said.items() if isinstance(said, dict) else [("*", said)]:
                yield str(key), str(pattern), str(action)
    elif isinstance(value, list) and all(isinstance(rule, dict) for rule in value):
        for rule in value:
            yield str(rule.get("permission", "*")), str(rule.get("pattern", "*")), str(rule.get("action", "deny"))
    else:
        yield _SHELL, "", "deny"
