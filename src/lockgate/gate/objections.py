"""Collects objections to a call: those of built-in rule sets first, then those of plugins."""

from __future__ import annotations

import os
from _thread import allocate_lock  # what threading.Lock is, without the rest of that module
from collections.abc import Callable, Sequence

from lockgate.configuration.load import Configuration
from lockgate.core.model import Verdict
from lockgate.core.questions import GitRules, Objection, PluginEntry, ResultQuestion, RuleSets, RulesQuestion
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.configuration.plugins.asking import Plugins


def rule_sets(configuration: Configuration) -> RuleSets:
    """The rule sets and plugins that a configuration has asked. Every policy can add some, and none removes one."""
    folders = {layer.name: os.path.dirname(layer.path) for layer in configuration.layers}
    git: dict[str, GitRules] = {}
    plugins: dict[PluginEntry, None] = {}
    for compiled in configuration.compiled:
        scalars = compiled["scalars"]
        if "git" in scalars:
            git.setdefault(repr(scalars["git"]), GitRules(*scalars["git"]))
        names, layer = scalars.get("plugins", ((), ""))
        for name in names:
            plugins[PluginEntry(name, folders.get(layer, ""))] = None
    return RuleSets(tuple(git.values()), tuple(plugins))


class Objectors:
    """Those who may object, on one machine. Several threads may ask at once."""

    def __init__(self, home: str, log: Callable[[str, str, str], None]) -> None:
        """Load nothing yet.

        Args:
            home: The user's home folder.
            log: Told which plugin failed, with the class of the error and its place.
        """
        self._home, self._log = home, log
        self._plugins: Plugins | None = None
        self._making = allocate_lock()
        """Held while they are made, so that there is one of each."""

    def before(self, question: RulesQuestion) -> Sequence[Objection]:
        """What is to be said against a call. Nobody is asked after one has said no."""
        found: list[Objection] = []
        if question.sets.git and question.analysis.commands:
            from lockgate.policy.git.objections import objections
            from lockgate.policy.git.repository import repository

            found += objections(question, lambda folder: repository(folder, self._home))
        if question.sets.plugins and all(objection.verdict is not Verdict.DENY for objection in found):
            found += self.plugins.before(question)
        return found

    def after(self, question: ResultQuestion) -> Sequence[Objection]:
        """What plugins say against a result."""
        return self.plugins.after(question)

    @property
    def plugins(self) -> Plugins:
        """The plugins, which cost nothing before they are asked."""
        with self._making:
            if self._plugins is None:
                from lockgate.configuration.plugins.asking import Plugins

                self._plugins = Plugins(self._home, self._log)
            return self._plugins
