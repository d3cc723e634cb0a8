"""Explains one call: analyses it, and decides it under every policy of its folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from lockgate.analysis import analyse
from lockgate.cli.explain.pattern_findings import Check, PatternFindings, open_check
from lockgate.configuration.load import Configuration, find_workspace, load_for_cli
from lockgate.core.display_text import visible
from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, Label, LabelState, Subject, Tier, ToolCall, Verdict
from lockgate.core.questions import Objection, RulesQuestion
from lockgate.gate.authors import whose_words
from lockgate.gate.host.host_view import host_view_of
from lockgate.gate.parts import merge
from lockgate.policy.compiled import Policy
from lockgate.policy.decide import decide
from lockgate.policy.steps import DecisionStep, steps
from lockgate.store.opening import open_existing
from lockgate.system.folders import folders

if TYPE_CHECKING:
    from lockgate.shell.report.outline import CommandStep

Verdicts = Mapping[LabelState, Verdict]
Found = Sequence[tuple[Policy, tuple[Effect, ...]]]
Lacking = Mapping[Verdict, str]
"""Which of ``CONTAIN`` and ``JUDGE`` a host cannot do, and why."""

STATES: Mapping[LabelState, frozenset[Label]] = {
    LabelState.CLEAN: frozenset(),
    LabelState.UNTRUSTED: frozenset({Label.UNTRUSTED}),
    LabelState.SECRET: frozenset({Label.SECRET}),
    LabelState.BOTH: frozenset({Label.UNTRUSTED, Label.SECRET}),
}
_CONTAINS, _JUDGES = frozenset({Verdict.CONTAIN}), frozenset({Verdict.JUDGE})
_NONE: frozenset[Verdict] = frozenset()
_ONLY_COMMANDS = "only a shell command can be contained"


class Explanation(NamedTuple):
    """A call, analysed and decided under every policy of its folder."""

    call: ToolCall
    analysis: Analysis
    tables: Verdicts
    """What the profile's table says, on a host that can contain and judge."""
    found: Found
    """Each policy with the effects that the call has under it. Their texts are as they were."""
    objections: Sequence[Objection] = ()
    """What the built-in rules have against the call, in every state. Plugins are not asked."""
    patterns: PatternFindings = PatternFindings()
    """What the pattern library found. ``call`` and ``analysis`` are without it."""
    words: Sequence[whose_words.ObjectWords] = ()
    """Whose words the call reads, where a person trusts some authors."""
    made: ToolCall | None = None
    """The call as it was made: only the analysis reads it."""

    @property
    def verdicts(self) -> Verdicts:
        """What the table and the rules come to, on a host that can contain and judge."""
        return self._apply_objections(self.tables)

    @property
    def policies(self) -> tuple[Policy, ...]:
        """The policies that hold."""
        return tuple(policy for policy, _ in self.found)

    @property
    def command(self) -> str | None:
        """The shell command, ``None`` where the call has none."""
        return _command(self.call)

    def of(self, effect: Effect, more: frozenset[Verdict] = _NONE) -> Verdicts:
        """What one effect alone would get, on a host that can do some more."""
        return _verdicts([(policy, (effect,)) for policy in self.policies], _able(self.call) | more, self.patterns)

    def here(self, lacking: Lacking, more: frozenset[Verdict] = _NONE) -> Verdicts:
        """The verdicts on a host that lacks something, and can do some more."""
        return self._apply_objections(_verdicts(self.found, (_able(self.call) | more) - lacking.keys(), self.patterns))

    def steps(self, state: LabelState, lacking: Lacking) -> tuple[DecisionStep, ...]:
        """The steps of the decision on such a host, in one state, under the policy that is strictest then."""
        able = _able(self.call) - lacking.keys()
        labels = _labels(state, self.patterns)
        policy, effects = max(self.found, key=lambda one: decide(one[1], labels, one[0].profile, able=able).verdict)
        taken = steps(effects, labels, policy.profile, able=able, lacking={Verdict.CONTAIN: _ONLY_COMMANDS, **lacking})
        for tier, objection in self._against():
            if objection.verdict > max((step.verdict or Verdict.ALLOW) for step in taken):
                last = DecisionStep(tier, objection.reason, objection.verdict)
                taken = (*(step._replace(verdict=None) for step in taken), last)
        return taken

    def _against(self) -> list[tuple[Tier, Objection]]:
        """What decides, of the pattern library and of the rules; nothing where the profile only observes."""
        if all(policy.profile.shadow for policy in self.policies):
            return []
        sides = ((Tier.PATTERNS, self.patterns.objections()), (Tier.RULES, self.objections))
        return [(tier, max(against, key=lambda one: one.verdict)) for tier, against in sides if against]

    def _apply_objections(self, verdicts: Verdicts) -> Verdicts:
        least = max((objection.verdict for _, objection in self._against()), default=Verdict.ALLOW)
        return {state: max(verdict, least) for state, verdict in verdicts.items()}

    def outline(self) -> CommandStep | None:
        """The command as a tree, ``None`` where there is none, or where it was not read."""
        tree = _outline(self.made or self.call)
        if tree is not None:
            tree.rewrite(self.patterns.clean)
        return tree


def explain_call(call: ToolCall, check: Check | None = None) -> Explanation:
    """Analyse a call and decide on it.

    Args:
        call: The call.
        check: Asks the pattern library, where it is open already.

    Raises:
        LockgateError: It cannot be analysed, or the state cannot be read.
    """
    if check is None:
        with open_check() as opened:
            return explain_call(call, opened)
    analyses = [(policy, analyse(call, around)) for policy, around in _policies(call.cwd)]
    found = [(policy, analysis.effects) for policy, analysis in analyses]
    analysis = merge([analysis for _, analysis in analyses])
    patterns = check(call, partial(_outline, call))
    rules = [each._replace(reason=patterns.clean(each.reason)) for each in _objections(call, analysis)]
    return Explanation(
        _clean_call(call, patterns),
        _clean_analysis(analysis, patterns),
        _verdicts(found, _able(call), patterns),
        found,
        rules,
        patterns,
        _words(call, analysis),
        call,
    )


def _words(call: ToolCall, analysis: Analysis) -> tuple[whose_words.ObjectWords, ...]:
    trust = _configuration(call.cwd).options.trust
    if trust is None:
        return ()
    store = open_existing(folders().state)
    try:
        return whose_words.explain_words(
            call, analysis, _policies(call.cwd)[0][1], trust, store, store.clock() if store is not None else 0.0
        )
    finally:
        if store is not None:
            store.close()


def _outline(call: ToolCall) -> CommandStep | None:
    from lockgate.shell.report.outline import outline

    command = _command(call)
    return None if command is None else outline(command, call.cwd, _policies(call.cwd)[0][1])


def _command(call: ToolCall) -> str | None:
    command = call.tool_input.get("command")
    return command if call.tool == "Bash" and isinstance(command, str) else None


def _clean_call(call: ToolCall, patterns: PatternFindings) -> ToolCall:
    return call._replace(tool_input=_clean_json(dict(call.tool_input), patterns.clean))


def _clean_json(value: Any, clean: Callable[[str], str]) -> Any:
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, dict):
        return {clean(str(key)): _clean_json(inner, clean) for key, inner in value.items()}
    if isinstance(value, list):
        return [_clean_json(inner, clean) for inner in value]
    if isinstance(value, int | float) and not isinstance(value, bool):
        shown = clean(str(value))
        return value if shown == str(value) else shown
    return value


def _clean_analysis(analysis: Analysis, patterns: PatternFindings) -> Analysis:
    return analysis._replace(
        effects=tuple(effect.map_texts(patterns.clean) for effect in analysis.effects),
        hints=tuple(map(patterns.clean, analysis.hints)),
        programs=tuple(name if name is None else patterns.clean(name) for name in analysis.programs),
        flows=tuple(
            flow._replace(
                source=patterns.clean(flow.source),
                through=tuple(map(patterns.clean, flow.through)),
                sink=patterns.clean(flow.sink),
            )
            for flow in analysis.flows
        ),
    )


def forget() -> None:
    """Read configurations anew for what is explained from now on: a process that lasts outlives them."""
    _policies.cache_clear()
    _configuration.cache_clear()


def _objections(call: ToolCall, analysis: Analysis) -> Sequence[Objection]:
    from lockgate.gate.objections import Objectors, rule_sets

    sets = rule_sets(_configuration(call.cwd))._replace(plugins=())
    context = Context("lockgate", Subject("explain"), call.cwd)
    return Objectors(folders().home, lambda *_: None).before(RulesQuestion(context, call, analysis, sets))


def _able(call: ToolCall) -> frozenset[Verdict]:
    """What a host that can do all could do with a call: only a shell command can be contained."""
    return _CONTAINS | _JUDGES if call.tool == "Bash" else _JUDGES


@lru_cache(maxsize=64)
def _policies(folder: str) -> tuple[tuple[Policy, Any], ...]:
    """What holds in a folder: each policy with the view of this machine that its rules are part of."""
    where = folders()
    there = os.path.isdir(folder)
    workspace = find_workspace(folder, where.home) if there else folder
    policies = _configuration(folder).policies
    return tuple((policy, host_view_of(where, workspace, "", policy.rules)) for policy in policies)


@lru_cache(maxsize=64)
def _configuration(folder: str) -> Configuration:
    # A folder that is not there has no configuration of its own (the calling folder's holds), and is a project.
    configuration = load_for_cli(folder if os.path.isdir(folder) else os.getcwd())
    for problem in configuration.problems:
        click.echo(f"lockgate: {visible(str(problem), 600)}", err=True)
    return configuration


def _verdicts(found: Found, able: frozenset[Verdict], patterns: PatternFindings) -> dict[LabelState, Verdict]:
    """For each state the strictest verdict of all policies."""

    def strictest(labels: frozenset[Label]) -> Verdict:
        return max(decide(effects, labels, policy.profile, able=able).verdict for policy, effects in found)

    return {state: strictest(_labels(state, patterns)) for state in STATES}


def _labels(state: LabelState, patterns: PatternFindings) -> frozenset[Label]:
    """The labels that a call is decided with: whoever writes a secret into it knows that secret."""
    return STATES[state] | {Label.SECRET} if patterns.holds_secret else STATES[state]


def find_lacking(explanation: Explanation) -> dict[Verdict, str]:
    """Why this host cannot contain or judge, where it cannot and some cell of the policies asks for it."""
    folder = explanation.call.cwd
    found = {}
    for verdict, look in ((Verdict.CONTAIN, cannot_contain), (Verdict.JUDGE, cannot_judge)):
        if any(policy.profile.says(verdict) for policy in explanation.policies) and (problem := look(folder)):
            found[verdict] = problem
    return found


def cannot_judge(folder: str) -> str:
    """Why no judge can be asked on this host about a call in a folder, empty where one can."""
    from lockgate.gate.judge.api_key import why_not

    return why_not(_configuration(folder).options.judge, os.environ, folders().state)


def cannot_contain(folder: str) -> str:
    """Why this host cannot contain a command in a folder, empty where it can."""
    from lockgate.containment.host import problem, workspace_problem

    home = folders().home
    workspace = find_workspace(folder, home) if os.path.isdir(folder) else ""
    return problem() or (workspace_problem(workspace, home) if workspace else "")
