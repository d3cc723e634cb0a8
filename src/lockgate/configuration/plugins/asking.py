"""Asks a configuration's plugins in their order. The first denial ends it, and a failure denies."""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lockgate.configuration.plugins import files
from lockgate.configuration.plugins.answers import verdict_of
from lockgate.configuration.plugins.loading import Plugin, PluginFunction, load, name_of, plugin_of
from lockgate.configuration.plugins.model import HookContext
from lockgate.configuration.plugins.time_limit import TimedOutcome, call
from lockgate.core.display_text import visible
from lockgate.core.errors import PluginError
from lockgate.core.model import Verdict
from lockgate.core.questions import Objection, PluginEntry, ResultQuestion, RulesQuestion
from lockgate.system.error_log import place_of

SECONDS = 1.0
"""For one call of one plugin."""
_LOADING = 2
"""How many times as long loading one may take."""

Log = Callable[[str, str, str], None]
"""Receives what failed: the plugin's name, the class of the error, and its place in the code."""


def _no_log(*_: str) -> None:
    """Keep nothing."""


class Plugins:
    """The plugins of this machine. Loaded when first asked, and again when a file of theirs has changed."""

    def __init__(self, home: str, log: Log = _no_log, seconds: float = SECONDS) -> None:
        """Begin with none loaded.

        Args:
            home: The user's home folder.
            log: Told of what failed.
            seconds: For one call of one plugin; loading one may take twice as long.
        """
        self._home, self._log, self._seconds = home, log, seconds
        self._loaded: dict[PluginEntry, tuple[object, Plugin]] = {}
        self._lock = threading.Lock()

    def before(self, question: RulesQuestion) -> list[Objection]:
        """What plugins have against a call. Never raises: one that fails denies."""

        def collect() -> dict[str, Any]:
            call = question.call
            return {"tool_name": call.tool, "tool_input": copy_value(call.tool_input), "context": _context(question)}

        return self._ask(question.sets.plugins, lambda plugin: plugin.before, collect)

    def after(self, question: ResultQuestion) -> list[Objection]:
        """What plugins have against a result. Never raises: one that fails denies."""

        def collect() -> dict[str, Any]:
            call = question.call
            told = {"tool_name": call.tool, "tool_input": copy_value(call.tool_input), "context": _context(question)}
            return {**told, "tool_output": question.text}

        return self._ask(question.sets.plugins, lambda plugin: plugin.after, collect)

    def add(self, name: str, loaded: object) -> PluginEntry:
        """Take an object of this program for a plugin, which is loaded by that.

        Args:
            name: What it is called in reasons and records; no file's name.
            loaded: The object, or a module.

        Raises:
            PluginError: It is no plugin.
        """
        entry = PluginEntry(name)
        with self._lock:
            self._loaded[entry] = (self._mark(entry), plugin_of(entry, loaded))
        return entry

    def load(self, entry: PluginEntry) -> Plugin:
        """A plugin, loaded now where it was not, or where its file is another one.

        Raises:
            PluginError: It cannot be; the message says why, and tells nothing of its code.
        """
        mark = self._mark(entry)
        with self._lock:
            kept = self._loaded.get(entry)
            if kept is not None and kept[0] == mark:
                return kept[1]
            from lockgate.configuration.plugins.time_limit import AbandonedCalls

            most = self._seconds * _LOADING
            outcome = call(lambda: load(entry, self._home), most, AbandonedCalls())
            if not isinstance(outcome.value, Plugin):
                raise PluginError(self._failure(entry, outcome, "cannot be loaded", most))
            self._loaded[entry] = (mark, outcome.value)
            return outcome.value

    def _mark(self, entry: PluginEntry) -> object:
        """Changes with the file; nothing for an entry point, which is what it was when this process began."""
        if not files.is_file(entry.text):
            return None
        try:
            found = os.stat(files.path_of(entry.text, self._home, entry.base))
        except (OSError, ValueError, PluginError):
            return object()
        return (found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_mode)

    # ---------------------------------------------------------------- asking
    def _ask(
        self,
        entries: Iterable[PluginEntry],
        hook_of: Callable[[Plugin], PluginFunction | None],
        given: Callable[[], dict[str, Any]],
    ) -> list[Objection]:
        found: list[Objection] = []
        for entry in entries:
            objection = self._one(entry, hook_of, given)
            if objection is not None:
                found.append(objection)
                if objection.verdict is Verdict.DENY:
                    break
        return found

    def _one(
        self,
        entry: PluginEntry,
        hook_of: Callable[[Plugin], PluginFunction | None],
        given: Callable[[], dict[str, Any]],
    ) -> Objection | None:
        try:
            plugin = self.load(entry)
        except PluginError as error:
            return Objection(f"plugin:{name_of(entry)}", str(error))
        hook = hook_of(plugin)
        if hook is None:
            return None

        def work() -> Any:
            told = given()
            return hook.function(**{name: told[name] for name in hook.takes})

        outcome = call(work, self._seconds, plugin.late)
        if outcome.error is not None or outcome.late:
            return Objection(plugin.rule, self._failure(entry, outcome, "failed", self._seconds))
        try:
            verdict, reason = verdict_of(outcome.value)
        except PluginError as error:
            self._log(name_of(entry), type(error).__name__, str(error))
            return Objection(plugin.rule, f"the plugin `{name_of(entry)}` gave no answer that counts: {error}")
        if verdict is Verdict.ALLOW:
            return None
        return Objection(plugin.rule, reason or f"the plugin `{name_of(entry)}` objects", verdict)

    def _failure(self, entry: PluginEntry, outcome: TimedOutcome, what: str, seconds: float) -> str:
        """What is said of a plugin that failed. Its own words go nowhere, but for those of ours about it."""
        if outcome.error is None:
            self._log(name_of(entry), "TimeoutError", "?")
            return f"the plugin `{name_of(entry)}` {what}: it took longer than {seconds:g} s"
        kind = visible(type(outcome.error).__name__, 60)
        self._log(name_of(entry), kind, visible(place_of(outcome.error), 100))
        says = str(outcome.error) if isinstance(outcome.error, PluginError) else kind
        return f"the plugin `{name_of(entry)}` {what}: {visible(says, 300)}"


def _context(question: RulesQuestion | ResultQuestion) -> HookContext:
    context, call = question.context, question.call
    subject = context.subject
    return HookContext(context.client, subject.session, subject.agent, call.cwd or context.cwd, context.workspace)


def copy_value(value: Mapping[str, Any]) -> dict[str, Any]:
    """A copy that shares nothing which can be changed. Raises where a value cannot be copied."""
    return {name: copy.deepcopy(item) for name, item in value.items()}
