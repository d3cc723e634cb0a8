"""Loads the functions that the configuration's plugin entries name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lockgate.configuration.plugins import files
from lockgate.configuration.plugins.model import HookEvent
from lockgate.core.display_text import visible
from lockgate.core.errors import PluginError
from lockgate.core.questions import PluginEntry
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from pluggy import HookImpl, HookimplOpts

    from lockgate.configuration.plugins.time_limit import AbandonedCalls

GROUP = "lockgate"
_EVENTS: Sequence[str] = tuple(event.value for event in HookEvent)
_GIVEN = {
    HookEvent.BEFORE_TOOL_USE.value: ("tool_name", "tool_input", "context"),
    HookEvent.AFTER_TOOL_USE.value: ("tool_name", "tool_input", "tool_output", "context"),
}
_PLAIN: HookimplOpts = {
    "wrapper": False,
    "hookwrapper": False,
    "optionalhook": False,
    "tryfirst": False,
    "trylast": False,
    "specname": None,
}


def name_of(entry: PluginEntry) -> str:
    """What a plugin is called in reasons and records."""
    return files.stem(entry.text) if files.is_file(entry.text) else visible(entry.text, 60)


class PluginFunction(Record):
    """A plugin's function for one event."""

    function: Callable[..., Any]
    takes: tuple[str, ...]
    """The names of its arguments."""


class Plugin(Record):
    """A plugin that was loaded."""

    entry: PluginEntry
    version: str
    """The beginning of the file's SHA-256, or the version of the package; empty where there is none."""
    source: str
    """The file's path, or what the entry point names."""
    digest: str
    """The file's SHA-256, hexadecimal; empty for an entry point."""
    before: PluginFunction | None
    after: PluginFunction | None
    late: AbandonedCalls

    @property
    def rule(self) -> str:
        """The plugin's name in evidence."""
        return f"plugin:{name_of(self.entry)}" + (f"@{self.version}" if self.version else "")


def load(entry: PluginEntry, home: str) -> Plugin:
    """Load one plugin.

    Raises:
        PluginError: It cannot be found, is not safe from others, or is no plugin.
        Exception: Whatever its own code raises.
    """
    # Found first: where the environment was not set up, this does it, for what the plugin itself imports.
    library("pluggy")
    if files.is_file(entry.text):
        code = files.read(files.path_of(entry.text, home, entry.base))
        return plugin_of(entry, files.load(code), code.digest[:12], code.path, code.digest)
    loaded, version, source = _entry_point(entry.text)
    return plugin_of(entry, loaded, version, source, "")


def _entry_point(name: str) -> tuple[Any, str, str]:
    from importlib.metadata import entry_points

    found = {point.value: point for point in entry_points(group=GROUP, name=name)}
    if not found:
        raise PluginError(
            f"no package in Lockgate's own environment has an entry point `{name}` in the group `{GROUP}`"
        )
    if len(found) > 1:
        raise PluginError("several packages have an entry point of this name")
    point = next(iter(found.values()))
    version = visible(point.dist.version, 40) if point.dist is not None else ""
    return point.load(), version, visible(point.value, 200)


def plugin_of(entry: PluginEntry, loaded: Any, version: str = "", source: str = "", digest: str = "") -> Plugin:
    """Take a module or an object for a plugin.

    Raises:
        PluginError: It is none.
    """
    from lockgate.configuration.plugins.time_limit import AbandonedCalls

    hooks = hooks_of(loaded)
    return Plugin(
        entry,
        version,
        source,
        digest,
        hooks.get(HookEvent.BEFORE_TOOL_USE),
        hooks.get(HookEvent.AFTER_TOOL_USE),
        AbandonedCalls(),
    )


def hooks_of(loaded: Any) -> dict[str, PluginFunction]:
    """The functions of a plugin, checked against the specifications.

    Raises:
        PluginError: It has none, or one that cannot be called as it would be.
    """
    import inspect

    import pluggy

    from lockgate.configuration.plugins import hookspecs

    if inspect.isclass(loaded):
        raise PluginError("it is a class; give a module or an object")
    for event in HookEvent:
        if not inspect.isroutine(getattr(loaded, event, inspect.isroutine)):
            raise PluginError(f"its `{event}` is not a function")

    class HookManager(pluggy.PluginManager):
        """Takes every function that has the name of a hook for one: no marker is needed."""

        def parse_hookimpl_opts(self, plugin: object, name: str) -> pluggy.HookimplOpts | None:
            return super().parse_hookimpl_opts(plugin, name) or (_PLAIN if name in _EVENTS else None)

    manager = HookManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    try:
        manager.register(loaded)
        manager.check_pending()
    except pluggy.PluginValidationError as error:
        raise PluginError(" ".join(str(error).split())) from None
    found = {event: _hook(event, getattr(manager.hook, event).get_hookimpls()) for event in _EVENTS}
    if not any(found.values()):
        raise PluginError(f"it has none of the functions {', '.join(_EVENTS)}")
    return {event: hook for event, hook in found.items() if hook is not None}


def _hook(event: str, found: Sequence[HookImpl]) -> PluginFunction | None:
    import inspect

    if not found:
        return None
    if len(found) > 1:
        raise PluginError(f"it has several functions for `{event}`")
    made = found[0]
    if made.hookwrapper or made.wrapper:
        raise PluginError(f"its `{event}` is a wrapper, and no plugin can change what others say")
    takes = (*made.argnames, *(name for name in made.kwargnames if name in _GIVEN[event]))
    try:
        # Known now, and not at the first call.
        inspect.signature(made.function).bind(**dict.fromkeys(takes))
    except TypeError as error:
        raise PluginError(f"its `{event}` cannot be called with {', '.join(takes) or 'nothing'}: {error}") from None
    return PluginFunction(made.function, takes)
