"""Lockgate: an information-flow reference monitor for AI agents.

``from lockgate import Gate`` is the gate for programs, with all names of :mod:`lockgate.clients.sdk`. They are imported
when they are asked for: a hook, which is a process for each call of a tool, needs none of them.
"""

from lockgate.core.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lockgate.clients.sdk import (
        Ask,
        Asker,
        Call,
        Decision,
        Gate,
        HookContext,
        HookDecision,
        JudgeQuestion,
        Opinion,
        Question,
        Reply,
        Result,
        Session,
        person,
        program,
        stranger,
    )

__all__ = [
    "Ask",
    "Asker",
    "Call",
    "Decision",
    "Gate",
    "HookContext",
    "HookDecision",
    "JudgeQuestion",
    "Opinion",
    "Question",
    "Reply",
    "Result",
    "Session",
    "__version__",
    "person",
    "program",
    "stranger",
]
_FOR_PLUGINS = frozenset({"HookContext", "HookDecision"})
"""What a plugin imports, in the process of a hook: so without the rest."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _FOR_PLUGINS:
        from lockgate.configuration import plugins

        return getattr(plugins, name)
    from lockgate.clients import sdk

    return getattr(sdk, name)
