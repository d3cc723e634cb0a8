"""The plugin hooks, as pluggy's specifications.

Plugins need no marker: a function with the name of a hook is one. Those who like markers take :data:`hookimpl`.
"""

from __future__ import annotations

from typing import Any

import pluggy

from lockgate.configuration.plugins.model import HookContext, HookDecision

PROJECT = "lockgate"
"""The name of pluggy's project, and of the group of entry points."""
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


@hookspec
def before_tool_use(
    tool_name: str, tool_input: dict[str, Any], context: HookContext
) -> HookDecision | dict[str, Any] | None:
    """Say something against a call that is about to run.

    Args:
        tool_name: The tool's name, as the client spells it: ``Bash``, ``mcp__github__get_issue``.
        tool_input: A copy of its input.
        context: Whose call it is.

    Returns:
        Nothing, an empty dictionary, a :class:`HookDecision`, or a dictionary with some of the keys ``decision``
        (``deny``, ``ask`` or ``allow``), ``allowed`` and ``reason``.
    """


@hookspec
def after_tool_use(
    tool_name: str, tool_input: dict[str, Any], tool_output: str, context: HookContext
) -> HookDecision | dict[str, Any] | None:
    """Say something against a result that the model is about to read.

    Args:
        tool_name: As for :func:`before_tool_use`.
        tool_input: A copy of the input of the call.
        tool_output: All text of the result, as the model would read it.
        context: Whose call it is.
    """
