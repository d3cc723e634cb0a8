"""Plugins that are objects of the program itself, asked after those of the configuration."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from lockgate.configuration.load import Configuration
from lockgate.configuration.plugins.asking import Plugins
from lockgate.core.model import Verdict
from lockgate.core.questions import Objection, ResultQuestion, RuleSets, RulesQuestion
from lockgate.gate import Consultants

_log = logging.getLogger("lockgate")


def with_plugins(consultants: Consultants, home: str, given: Sequence[object]) -> Consultants:
    """The same consultants, who ask some objects too.

    Args:
        consultants: Who is asked.
        home: The user's home folder.
        given: Objects with ``before_tool_use``, ``after_tool_use`` or both.

    Raises:
        PluginError: One of them is no plugin.
    """
    plugins = Plugins(home, lambda *what: _log.error("the plugin %s failed: %s at %s", *what))
    entries = tuple(plugins.add(f"{type(each).__name__}#{number}", each) for number, each in enumerate(given, 1))

    def rule_sets(configuration: Configuration) -> RuleSets:
        sets = consultants.rule_sets(configuration)
        return sets._replace(plugins=(*sets.plugins, *entries))

    def theirs(sets: RuleSets) -> RuleSets:
        return sets._replace(plugins=tuple(entry for entry in sets.plugins if entry not in entries))

    ours = RuleSets(plugins=entries)

    def rules(question: RulesQuestion) -> Sequence[Objection]:
        found = list(consultants.rules(question._replace(sets=theirs(question.sets))))
        if all(objection.verdict is not Verdict.DENY for objection in found):
            found += plugins.before(question._replace(sets=ours))
        return found

    def results(question: ResultQuestion) -> Sequence[Objection]:
        found = consultants.results(question._replace(sets=theirs(question.sets)))
        return [*found, *plugins.after(question._replace(sets=ours))]

    return consultants._replace(has_rules=lambda _: True, rule_sets=rule_sets, rules=rules, results=results)
