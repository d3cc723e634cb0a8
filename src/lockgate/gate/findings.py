"""Derives the verdict and the labels from what the pattern library found in a call or a result.

What was matched is neither said nor recorded: ``masking`` takes it out of all that tells of the call.
"""

from __future__ import annotations

from lockgate.configuration.load import Configuration
from lockgate.core.model import Effect, EffectKind, LabelState, PolicyDecision, Reason, Tier, Verdict
from lockgate.patterns.model import GuardrailDecision, GuardrailResult, PatternMatch, Severity
from lockgate.policy.profiles import PAUSED

ROW = "guardrail"
"""What stands in a reason in the place of a table's row."""
CANARY = "canary/"
"""How the rules of canary values begin: nothing but an attack or a mistake sends one."""
MARK_RULE = "guardrail/redaction_mark"
"""For a mark of ours in what a call would write."""
UNSEEN_RULE = "guardrail/unseen_file"
"""For the file of a long result that could not be looked at: whoever reads it may learn anything."""
_VERDICTS = {
    GuardrailDecision.APPROVE: Verdict.ALLOW,
    GuardrailDecision.WARN: Verdict.ALLOW,
    GuardrailDecision.ASK: Verdict.ASK,
    GuardrailDecision.BLOCK: Verdict.DENY,
}


def decide_on_findings(result: GuardrailResult) -> GuardrailDecision:
    """The strictest of all that was found, with the fallbacks of what could not be evaluated."""
    if result.is_empty:
        return GuardrailDecision.APPROVE
    said = [result.decision, *(group.fallback for group in result.expired)]
    if is_canary(result):
        said.append(GuardrailDecision.BLOCK)
    return max(said, key=lambda each: each.rank)


def is_canary(result: GuardrailResult) -> bool:
    """Whether a canary value was found."""
    return any(match.rule.startswith(CANARY) for match in result.pattern_matches)


def join_findings(decision: PolicyDecision, result: GuardrailResult) -> PolicyDecision:
    """A table's decision together with what was found: the strictest wins, and equals share the reasons."""
    verdict = _VERDICTS[decide_on_findings(result)]
    if verdict is Verdict.ALLOW or verdict < decision.verdict:
        return decision
    return stricter(decision, verdict, reasons_of(result, decision.column), Tier.PATTERNS)


def stricter(decision: PolicyDecision, verdict: Verdict, reasons: tuple[Reason, ...], tier: Tier) -> PolicyDecision:
    """A decision with a verdict that is no looser than its own: an equal one shares its reasons."""
    if verdict is decision.verdict:
        return decision._replace(reasons=tuple(dict.fromkeys((*decision.reasons, *reasons))))
    return decision._replace(verdict=verdict, reasons=reasons, tier=tier)


def reasons_of(result: GuardrailResult, column: LabelState) -> tuple[Reason, ...]:
    """What has the strictest decision: matches, and groups that could not be evaluated."""
    strictest = decide_on_findings(result)
    found = [
        _effect(match.rule, f"{match.type} in {match.path}", match.path)
        for match in result.pattern_matches
        if match.decision is strictest or match.rule.startswith(CANARY)
    ]
    found += [
        _effect(group.group, f"the patterns of {group.group} could not be evaluated ({group.because})", "")
        for group in result.expired
        if group.fallback is strictest
    ]
    if not found:
        found = [_effect(ROW, result.reason or "the pattern library objects", "")]
    return tuple(Reason(effect, ROW, column, _VERDICTS[strictest]) for effect in dict.fromkeys(found))


def _effect(rule: str, because: str, path: str) -> Effect:
    return Effect(EffectKind.EGRESS, path, rule, because)


def is_enforced(configuration: Configuration) -> bool:
    """Whether a profile decides; one that only observes has a shadow."""
    return any(policy.profile.shadow is None for policy in configuration.policies)


def redacts(configuration: Configuration) -> bool:
    """Whether secrets are taken out of results: also while a person has paused the gate, as that interrupts nobody."""
    return is_enforced(configuration) or any(policy.profile.name == PAUSED for policy in configuration.policies)


def is_from_guard(decision: PolicyDecision) -> bool:
    """Whether nothing but the pattern library stands behind a verdict."""
    return bool(decision.reasons) and all(reason.row == ROW for reason in decision.reasons)


def find_noted(result: GuardrailResult) -> list[PatternMatch]:
    """Matches that stop nothing and that agent and person are told of."""
    return [
        match
        for match in result.pattern_matches
        if match.decision is GuardrailDecision.WARN and match.severity >= Severity.HIGH
    ]


def secrets_in(result: GuardrailResult) -> list[PatternMatch]:
    """The matches that make it certain that whoever reads this knows a secret."""
    return [match for match in result.pattern_matches if result._replace(pattern_matches=(match,)).found_secret]


def sources(result: GuardrailResult, where: str) -> tuple[str, ...]:
    """Where the label ``secret`` comes from: ``secrets_detection/github_pat in Bash command``."""
    if not result.pattern_matches:
        return ()
    return tuple(dict.fromkeys(f"{match.rule} in {where} {match.path}" for match in secrets_in(result)))
