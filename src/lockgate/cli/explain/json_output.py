"""Prints an explanation as JSON. ``docs/explain-json.md`` describes the keys; they stay, and more may come."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lockgate.cli.explain.explanation import Explanation, Verdicts, find_lacking
from lockgate.core.display_text import visible
from lockgate.core.model import LabelState, Verdict
from lockgate.policy.steps import DecisionStep, find_deciding_step

if TYPE_CHECKING:
    from lockgate.core.model import Effect
    from lockgate.shell.report.outline import CommandStep, ProgramRun


def short(explanation: Explanation) -> dict[str, Any]:
    """One answer of ``--jsonl``."""
    analysis = explanation.analysis
    return {
        "effects": list(dict.fromkeys(effect.kind.value for effect in analysis.effects)),
        "programs": list(analysis.programs),
        "category": analysis.category.value,
        "verdicts": _words(explanation.verdicts),
        "reasons": [
            *(f"{effect.rule}: {visible(effect.because)}" for effect in analysis.effects),
            *(f"{each.rule}: {visible(each.reason)}" for each in explanation.patterns.objections()),
        ],
    }


def whole(explanation: Explanation) -> dict[str, Any]:
    """The object of ``--json``."""
    call, analysis = explanation.call, explanation.analysis
    outline = explanation.outline()
    return {
        "tool_name": call.tool,
        "tool_input": dict(call.tool_input),
        "cwd": call.cwd,
        "profiles": [policy.profile.name for policy in explanation.policies],
        "programs": list(analysis.programs),
        "category": analysis.category.value,
        "gives": sorted(label.value for label in analysis.gives),
        "verdicts": _words(explanation.verdicts),
        "here": _verdicts_here(explanation),
        "objections": [
            {"rule": each.rule, "verdict": each.verdict.word, "reason": visible(each.reason)}
            for each in (*explanation.patterns.objections(), *explanation.objections)
        ],
        "patterns": [
            {"rule": match.rule, "type": match.type, "path": visible(match.path), "decision": match.decision.value}
            for match in explanation.patterns.result.pattern_matches
        ],
        "effects": [_effect(effect, explanation.of(effect)) for effect in analysis.effects],
        "whose_words": [words._asdict() for words in explanation.words],
        "flows": [{**flow._asdict(), "says": flow.sentence} for flow in analysis.flows],
        "hints": list(analysis.hints),
        "commands": [_step(step) for step in outline.steps()] if outline is not None else None,
    }


def _verdicts_here(explanation: Explanation) -> dict[str, Any]:
    """What comes of it on this machine, where something may be lacking."""
    lacking = find_lacking(explanation)
    steps = {state: explanation.steps(state, lacking) for state in LabelState}
    return {
        "verdicts": _words(explanation.here(lacking)),
        "cannot_contain": lacking.get(Verdict.CONTAIN, ""),
        "cannot_judge": lacking.get(Verdict.JUDGE, ""),
        "decided_by": {state.value: find_deciding_step(taken).value for state, taken in steps.items()},
        "tiers": {state.value: [_tier(step) for step in taken] for state, taken in steps.items()},
    }


def _effect(effect: Effect, verdicts: Verdicts) -> dict[str, Any]:
    return {
        "kind": effect.kind.value,
        "row": effect.row,
        "what": effect.what,
        "rule": effect.rule,
        "because": effect.because,
        "address": effect.address,
        "gives": effect.gives.value if effect.gives else None,
        "uncontainable": effect.uncontainable,
        "verdicts": _words(verdicts),
    }


def _words(verdicts: Verdicts) -> dict[str, str]:
    return {state.value: verdict.word for state, verdict in verdicts.items()}


def _tier(step: DecisionStep) -> dict[str, str | None]:
    return {
        "tier": step.tier.value,
        "says": step.says,
        "verdict": step.verdict.word if step.verdict is not None else None,
    }


def _step(step: CommandStep) -> dict[str, Any]:
    return {
        "kind": step.kind,
        "text": step.text,
        "position": step.position,
        "runs": [_run(run) for run in step.runs.values()],
        "effects": [{"kind": effect.kind.value, "rule": effect.rule, "what": effect.what} for effect in step.effects],
        "commands": [_step(part) for part in step.steps()],
    }


def _run(run: ProgramRun) -> dict[str, Any]:
    return {
        "program": run.program,
        "about": run.about,
        "words": list(run.words),
        "uses": [use._asdict() for use in run.uses],
    }
