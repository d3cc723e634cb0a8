"""Explains the steps of a decision, in order, for a person who asks why.

The decision itself is made by ``lockgate.policy.decide`` at once. This says the same in the order of ``model.Tier``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.core.model import Effect, Label, LabelState, PolicyDecision, Tier, Verdict
from lockgate.core.record import Record
from lockgate.policy.decide import decide
from lockgate.policy.profiles import Chain, Profile

_STATES = {
    LabelState.CLEAN: "nothing was read that matters",
    LabelState.UNTRUSTED: "the session has read what somebody else wrote",
    LabelState.SECRET: "the session has read what must not leave",
    LabelState.BOTH: "the session has read what somebody else wrote, and what must not leave",
}


class DecisionStep(Record):
    """The outcome of one step for a call."""

    tier: Tier
    says: str
    """In our own words."""
    verdict: Verdict | None = None
    """What it decides; ``None`` where it leaves that to the next."""


def steps(
    effects: Sequence[Effect],
    labels: frozenset[Label],
    profile: Profile,
    *,
    able: frozenset[Verdict],
    lacking: Mapping[Verdict, str],
) -> tuple[DecisionStep, ...]:
    """The steps of a decision until the first that decides; what the judge flags may go to a person after it.

    Args:
        effects: What the call can do.
        labels: What its subject has been exposed to.
        profile: The table.
        able: Which of ``CONTAIN`` and ``JUDGE`` this host can do with the call.
        lacking: Why it cannot do the others.
    """
    decision = decide(effects, labels, profile, able=able)
    chains = {effect.row: profile.cell(effect.row, decision.column) for effect in effects}
    return (
        *_before_the_table(effects, labels, decision),
        *_table(chains, decision),
        *_containment_steps(effects, chains, decision, able, lacking),
        *_judge_steps(effects, labels, profile, chains, decision, able, lacking),
        *([DecisionStep(Tier.PERSON, "a person is asked", Verdict.ASK)] if decision.verdict is Verdict.ASK else []),
    )


def find_deciding_step(taken: Sequence[DecisionStep]) -> Tier:
    """The first step that decides."""
    return next(step.tier for step in taken if step.verdict is not None)


def _before_the_table(
    effects: Sequence[Effect], labels: frozenset[Label], decision: PolicyDecision
) -> list[DecisionStep]:
    if decision.tier is Tier.LABELS:
        return [DecisionStep(Tier.LABELS, _STATES[LabelState.CLEAN], Verdict.ALLOW)]
    state = _STATES[LabelState.of(labels)]
    if decision.column is not LabelState.of(labels):
        state += "; the call reads a secret and can carry it out, and counts as if it were read before"
    if decision.tier is Tier.LOCAL:
        return [DecisionStep(Tier.LABELS, state), DecisionStep(Tier.LOCAL, "it has no effect", Verdict.ALLOW)]
    kinds = ", ".join(dict.fromkeys(effect.kind.value for effect in effects))
    return [DecisionStep(Tier.LABELS, state), DecisionStep(Tier.LOCAL, f"it can {kinds}")]


def _table(chains: Mapping[str, Chain], decision: PolicyDecision) -> list[DecisionStep]:
    if decision.tier in (Tier.LABELS, Tier.LOCAL):
        return []
    held = {row: chain for row, chain in chains.items() if chain != (Verdict.ALLOW,)}
    says = "; ".join(f"{row}: {' else '.join(verdict.word for verdict in chain)}" for row, chain in held.items())
    final = decision.verdict if decision.verdict in (Verdict.ALLOW, Verdict.DENY) else None
    return [DecisionStep(Tier.TABLE, says or f"{', '.join(chains)}: allow", final)]


def _containment_steps(
    effects: Sequence[Effect],
    chains: Mapping[str, Chain],
    decision: PolicyDecision,
    able: frozenset[Verdict],
    lacking: Mapping[Verdict, str],
) -> list[DecisionStep]:
    if decision.verdict is Verdict.CONTAIN:
        return [DecisionStep(Tier.CONTAINMENT, "it runs where it can reach nobody", Verdict.CONTAIN)]
    if not _is_asked_for(Verdict.CONTAIN, chains, decision):
        return []
    if Verdict.CONTAIN not in able:
        return [DecisionStep(Tier.CONTAINMENT, lacking[Verdict.CONTAIN])]
    could_not = (each.uncontainable for each in effects if each.uncontainable and Verdict.CONTAIN in chains[each.row])
    return [DecisionStep(Tier.CONTAINMENT, next(could_not, "another of its effects cannot be contained"))]


def _judge_steps(
    effects: Sequence[Effect],
    labels: frozenset[Label],
    profile: Profile,
    chains: Mapping[str, Chain],
    decision: PolicyDecision,
    able: frozenset[Verdict],
    lacking: Mapping[Verdict, str],
) -> list[DecisionStep]:
    if decision.verdict is not Verdict.JUDGE:
        if not _is_asked_for(Verdict.JUDGE, chains, decision) or decision.verdict is Verdict.CONTAIN:
            return []
        cannot = "another of its effects is not the judge's to decide" if Verdict.JUDGE in able else ""
        return [DecisionStep(Tier.JUDGE, cannot or lacking[Verdict.JUDGE])]
    # A call that the judge is asked about is not contained as well.
    fine, flagged = (
        decide(effects, labels, profile, able=able - {Verdict.CONTAIN}, flagged=said).verdict for said in (False, True)
    )
    asked = DecisionStep(Tier.JUDGE, f"not flagged: {fine.word}; flagged, or no answer: {flagged.word}", Verdict.JUDGE)
    person = (
        [DecisionStep(Tier.PERSON, "a person is asked where it says ask")] if Verdict.ASK in (fine, flagged) else []
    )
    return [asked, *person]


def _is_asked_for(verdict: Verdict, chains: Mapping[str, Chain], decision: PolicyDecision) -> bool:
    """Whether a cell names a verdict, where the table itself does not deny."""
    return decision.verdict is not Verdict.DENY and any(verdict in chain for chain in chains.values())
