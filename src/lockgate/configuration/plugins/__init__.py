"""Hooks that a person adds: asked about each call before it runs and about each result before it is read.

A plugin is a module, or any object, with one or both of these functions, plain or ``async``::

    def before_tool_use(tool_name, tool_input): ...
    def after_tool_use(tool_name, tool_input, tool_output): ...

Both may also take ``context``, a :class:`HookContext`. ``docs/plugins.md`` describes them.
"""

from lockgate.configuration.plugins.model import BEFORE_TOOL_USE, HookContext, HookDecision, HookEvent

__all__ = ["BEFORE_TOOL_USE", "HookContext", "HookDecision", "HookEvent"]
