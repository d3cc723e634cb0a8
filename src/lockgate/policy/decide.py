"""The decision: effects x labels x profile -> verdict. A pure function of its arguments."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockgate.core.model import REACHING, Effect, EffectKind, Label, LabelState, PolicyDecision, Reason, Tier, Verdict
from lockgate.policy.profiles import FINAL, Chain, Profile

_CONTAINING = frozenset((Verdict.CONTAIN,))


def possible(chain: Chain, able: frozenset[Verdict]) -> Verdict:
    """The first verdict of a chain that the host can do; what it cannot do is skipped toward stricter.

    Every host can allow, deny, and at the end of a chain ask. An ``ask`` with something stricter after it takes
    ``ASK`` in ``able``: the question is sure to reach a person, and nobody else can answer it.
    """
    for verdict in chain:
        if verdict in able or (verdict in FINAL and not (verdict is Verdict.ASK and verdict is not chain[-1])):
            return verdict
    return Verdict.DENY


def decide(
    effects: Sequence[Effect],
    labels: frozenset[Label],
    profile: Profile,
    *,
    able: frozenset[Verdict] = frozenset(),
    flagged: bool | None = None,
) -> PolicyDecision:
    """Decide on one call.

    Args:
        effects: What the call can do. None at all means that it is local.
        labels: What its subject has been exposed to.
        profile: The table. A row that it does not have is denied.
        able: Which of ``CONTAIN`` and ``JUDGE`` this host can do, and ``ASK`` where a person is proven to be there. It
            can always allow, deny, and ask where a cell has nothing after that.
        flagged: What the judge said of the call, once it was asked: the cells that call it then say what comes of that.

    Returns:
        The strictest verdict of all effects, with every effect that has it as a reason, each once.
    """
    column = LabelState.of(labels | _read_on_the_way(effects, labels))
    strictest = possible(profile.cell("local", column), able)
    reasons: dict[Reason, None] = {}
    judged = False
    for effect in effects:
        row = effect.row
        # What could only fail in a sandbox is decided as where there is none.
        verdict = possible(profile.cell(row, column), able - _CONTAINING if effect.uncontainable else able)
        if verdict is Verdict.JUDGE and flagged is not None:
            judged = True
            verdict = profile.when_flagged(row, column) if flagged else Verdict.ALLOW
        if verdict > strictest:
            strictest, reasons = verdict, {}
        if verdict == strictest:
            reasons[Reason(effect, row, column, verdict)] = None
    return PolicyDecision(
        strictest, column, tuple(reasons), profile.name, _tier(effects, column, strictest, judged=judged)
    )


def _tier(effects: Sequence[Effect], column: LabelState, verdict: Verdict, *, judged: bool) -> Tier:
    """Which step of the cascade a verdict comes from: the first that decides."""
    if verdict is Verdict.ALLOW and column is LabelState.CLEAN:
        return Tier.LABELS
    if verdict is Verdict.ALLOW and not effects:
        return Tier.LOCAL
    if verdict is Verdict.CONTAIN:
        return Tier.CONTAINMENT
    return Tier.JUDGE if judged or verdict is Verdict.JUDGE else Tier.TABLE


def _read_on_the_way(effects: Sequence[Effect], labels: frozenset[Label]) -> frozenset[Label]:
    """An untrusted subject's call that reads a secret and can carry it out counts as if the secret were read before."""
    if Label.UNTRUSTED not in labels:
        return frozenset()
    kinds = {effect.kind for effect in effects}
    carries = EffectKind.READ_SECRET in kinds and not kinds.isdisjoint(REACHING)
    return frozenset((Label.SECRET,)) if carries else frozenset()


def strictest(decisions: Iterable[PolicyDecision]) -> PolicyDecision:
    """Join decisions on the same call: the strictest verdict, with the reasons of all that have it.

    Column and profile are those of the first decision that has it. At least one decision is needed (``ValueError``).
    """
    every = list(decisions)
    if len(every) == 1:
        return every[0]
    verdict = max(decision.verdict for decision in every)
    having = [decision for decision in every if decision.verdict == verdict]
    reasons = dict.fromkeys(reason for decision in having for reason in decision.reasons)
    return having[0]._replace(reasons=tuple(reasons))
