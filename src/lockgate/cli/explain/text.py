"""Prints an explanation for a person, as a tree."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lockgate.cli.explain.explanation import Explanation, Verdicts, find_lacking
from lockgate.core.display_text import visible
from lockgate.core.model import Effect, EffectKind, LabelState, Variant, Verdict
from lockgate.patterns.model import GuardrailDecision
from lockgate.policy.steps import DecisionStep, find_deciding_step

if TYPE_CHECKING:
    from rich.text import Text
    from rich.tree import Tree

    from lockgate.shell.report.outline import CommandStep, ProgramRun

_WIDEST = 10_000
_LONGEST_WORD, _LONGEST_COMMAND = 80, 160
_MOST_RUNS, _MOST_STEPS = 3, 60
_COLOURS = {
    Verdict.ALLOW: "green",
    Verdict.CONTAIN: "cyan",
    Verdict.JUDGE: "cyan",
    Verdict.ASK: "yellow",
    Verdict.DENY: "red",
}
_ALARMING = frozenset({EffectKind.EGRESS, EffectKind.PERSIST, EffectKind.DESTROY, EffectKind.TAMPER})
_ASKED = frozenset({Verdict.ASK})
"""What a host can do in front of which a person is."""
_TEACHING = "to teach it: an entry (docs/contributing-programs.md), or a pattern under bash_patterns: safe of your own"


def show(explanation: Explanation, state: LabelState | None = None) -> None:
    """Print the tree; with a state also what each tier says in it."""
    from rich.console import Console

    # rich looks for a terminal and for NO_COLOR itself. Elsewhere no line is folded, so that it can be searched.
    width = None if sys.stdout.isatty() else _WIDEST
    Console(width=width, highlight=False, emoji=False, markup=False).print(_tree(explanation, state))


def _tree(explanation: Explanation, state: LabelState | None) -> Tree:
    from rich.text import Text
    from rich.tree import Tree

    call, analysis = explanation.call, explanation.analysis
    title = explanation.command or json.dumps(dict(call.tool_input), ensure_ascii=False)
    tree = Tree(Text.assemble((visible(call.tool, 200), "bold"), " ", visible(title, 300)))
    outline = explanation.outline()
    if outline is not None:
        _add_steps(tree.add(Text("what runs")), outline.steps(), [_MOST_STEPS])
    elif analysis.programs:
        names = ", ".join("(dynamic)" if name is None else visible(name, 60) for name in analysis.programs)
        tree.add(Text(f"programs: {names}"))
    for effect in analysis.effects:
        _add_effect(tree, effect, explanation, outline)
    if not analysis.effects:
        tree.add(Text("no effect: it is local"))
    _add_words_and_flows(tree, explanation)
    tree.add(Text(f"category {analysis.category.value} (Lockbox)"))
    profiles = ", ".join(dict.fromkeys(policy.profile.name for policy in explanation.policies))
    tree.add(_colour(f"verdict under {profiles}", explanation.verdicts, explanation.here({}, _ASKED)))
    _add_objections(tree, explanation)
    lacking = find_lacking(explanation)
    _add_lacking(tree, explanation, lacking)
    _add_tiers(tree, {one: explanation.steps(one, lacking) for one in LabelState}, state)
    return tree


def _add_words_and_flows(tree: Tree, explanation: Explanation) -> None:
    """Whose words it reads, where secrets go, and what could be written instead."""
    from rich.text import Text

    for words in explanation.words:
        branch = tree.add(Text(f"whose words {visible(words.object, 200)}: {visible(words.says, 300)}"))
        for author in words.authors:
            branch.add(Text(visible(author, 200)))
    for flow in explanation.analysis.flows:
        tree.add(Text(f"flow: {visible(flow.sentence, 300)}"))
    for hint in explanation.analysis.hints:
        tree.add(Text(f"hint: {visible(hint)}"))


def _add_lacking(tree: Tree, explanation: Explanation, lacking: Mapping[Verdict, str]) -> None:
    """What this host cannot do of what the tables say, and what comes of that."""
    from rich.text import Text

    named = set(explanation.tables.values())
    lacks = {verdict: why for verdict, why in lacking.items() if verdict in named}
    for verdict, why in lacks.items():
        tree.add(Text(f"this host cannot {verdict.word}: {visible(why, 300)}"))
    if lacks:
        tree.add(_colour("here it is", explanation.here(lacking), explanation.here(lacking, _ASKED)))


def _add_objections(tree: Tree, explanation: Explanation) -> None:
    """What the pattern library and the rules say, whatever was read before."""
    from rich.text import Text

    patterns = explanation.patterns
    for objection in (*patterns.objections(), *explanation.objections):
        said = Text.assemble((objection.verdict.word, _COLOURS[objection.verdict]), " in every state: ")
        tree.add(said.append(f"{visible(objection.reason, 300)} [{visible(objection.rule, 100)}]"))
    for match in patterns.result.pattern_matches:
        if match.decision is GuardrailDecision.WARN:
            tree.add(Text(f"is let pass: {match.type} in {visible(match.path, 100)} [{visible(match.rule, 100)}]"))
    if patterns.holds_secret:
        tree.add(Text("the call holds a secret: it makes the session secret, and is decided so"))


# -- who decides
# --------------------------------------------------------------------------------------------------------


def _add_tiers(tree: Tree, steps: Mapping[LabelState, Sequence[DecisionStep]], state: LabelState | None) -> None:
    """Which step decides in each state; for one state also what each step says until then."""
    from rich.text import Text

    if state is None:
        said = ", ".join(f"{one.value} {find_deciding_step(taken).value}" for one, taken in steps.items())
        tree.add(Text(f"decided by: {said}"))
        return
    branch = tree.add(Text(f"tiers where {state.value}, the first that decides ends it"))
    for step in steps[state]:
        line = Text.assemble((step.tier.value, "bold"), f": {visible(step.says, 300)}")
        if step.verdict is not None:
            line.append(" = ").append(step.verdict.word, style=_COLOURS[step.verdict])
        branch.add(line)


# -- what runs
# ----------------------------------------------------------------------------------------------------------


def _add_steps(parent: Tree, steps: list[CommandStep], left: list[int]) -> None:
    """Add commands as long as there are some ``left``."""
    from rich.text import Text

    for number, step in enumerate(steps):
        if left[0] <= 0:
            parent.add(Text(f"and {len(steps) - number} more (--json has all)", style="dim"))
            return
        left[0] -= 1
        _add_step(parent, step, left)


def _add_step(parent: Tree, step: CommandStep, left: list[int]) -> None:
    from rich.text import Text

    runs = list(step.runs.values())
    label = Text.assemble((visible(step.text, _LONGEST_COMMAND), "bold" if step.kind == "simple" else ""))
    if runs and runs[0].about:
        label.append(f"  {visible(runs[0].about, _LONGEST_WORD)}", style="dim")
    branch = parent.add(label)
    for run in runs[:_MOST_RUNS]:
        _add_run(branch, run, step)
    if len(runs) > _MOST_RUNS:
        branch.add(Text(f"and {len(runs) - _MOST_RUNS} more", style="dim"))
    if step.effects:
        branch.add(_kinds(step))
    _add_steps(branch, step.steps(), left)


def _add_run(branch: Tree, run: ProgramRun, step: CommandStep) -> None:
    from rich.text import Text

    again = run.program == next(iter(step.runs.values())).program
    if step.expands or not again:
        about = f"  {visible(run.about, _LONGEST_WORD)}" if run.about and not again else ""
        words = visible(" ".join(run.words), _LONGEST_COMMAND)
        branch.add(Text.assemble("is " if again else "runs ", words, (about, "dim")))
    for use in run.uses:
        option = f" ({use.option})" if use.option else ""
        branch.add(Text(f"{use.verb} {visible(use.text, _LONGEST_WORD)}{option}"))


def _kinds(step: CommandStep) -> Text:
    from rich.text import Text

    text = Text("can ")
    for number, kind in enumerate(dict.fromkeys(effect.kind for effect in step.effects)):
        text.append(", " if number else "")
        text.append(kind.value, style="red" if kind in _ALARMING else "yellow")
    return text


# -- what it can do
# -----------------------------------------------------------------------------------------------------


def _add_effect(tree: Tree, effect: Effect, explanation: Explanation, outline: CommandStep | None) -> None:
    from rich.text import Text

    branch = tree.add(Text.assemble((_kind(effect), "bold"), f" {visible(effect.what, 200)}"))
    branch.add(Text(f"because {visible(effect.because)}"))
    if outline is not None and (texts := _commands_with(effect, outline)):
        branch.add(Text(f"in {visible(texts[0], _LONGEST_COMMAND)}" + (", and elsewhere" if len(texts) > 1 else "")))
    branch.add(Text(f"rule {effect.rule}", style="dim"))
    if effect.uncontainable:
        branch.add(Text(f"is not contained: {visible(effect.uncontainable)}"))
    if effect.variant is Variant.UNLISTED:
        branch.add(Text(_TEACHING))
    if effect.gives is not None:
        branch.add(Text(f"its result makes the session {effect.gives.value}"))
    if len(explanation.analysis.effects) > 1:
        branch.add(_colour("alone", explanation.of(effect), explanation.of(effect, _ASKED)))


def _kind(effect: Effect) -> str:
    """What it is; the row that decides it where that says something else."""
    told = effect.variant is Variant.SCRIPT and effect.kind is not EffectKind.EXECUTE
    return f"{effect.kind.value} in a script, decided as {effect.row}:" if told else effect.row


def _commands_with(effect: Effect, outline: CommandStep) -> list[str]:
    """The simple commands that have an effect, where there is more than one command."""
    simple = [step for step in outline.below() if step.kind == "simple"]
    same = (effect.kind, effect.rule, effect.what)
    found = [step.text for step in simple if any((one.kind, one.rule, one.what) == same for one in step.effects)]
    return list(dict.fromkeys(found)) if len(simple) > 1 else []


def _colour(title: str, verdicts: Verdicts, asked: Verdicts) -> Any:
    """The verdicts, and those where a person is proven to be there, as far as these are others."""
    from rich.text import Text

    text = Text(f"{title}:")
    for number, (state, verdict) in enumerate(verdicts.items()):
        text.append(f"{',' if number else ''} {state.value} ")
        if asked[state] is not verdict:
            text.append(asked[state].word, style=_COLOURS[asked[state]]).append(", else ")
        text.append(verdict.word, style=_COLOURS[verdict])
    return text
