"""Derives the effect of a match: the mode of its group bounds it, and the severity of its rule lowers it.

| mode | critical | high | medium | low |
| --- | --- | --- | --- | --- |
| block | block | block | ask | warn |
| ask | ask | ask | warn | warn |
| warn | warn | warn | warn | warn |
| off | approve | approve | approve | approve |
"""

from __future__ import annotations

from collections.abc import Iterable

from lockgate.patterns.model import GuardrailDecision, Mode, Severity

_APPROVE, _WARN, _ASK, _BLOCK = GuardrailDecision

TABLE: dict[Mode, tuple[GuardrailDecision, ...]] = {
    Mode.OFF: (_APPROVE, _APPROVE, _APPROVE, _APPROVE),
    Mode.WARN: (_WARN, _WARN, _WARN, _WARN),
    Mode.ASK: (_WARN, _WARN, _ASK, _ASK),
    Mode.BLOCK: (_WARN, _ASK, _BLOCK, _BLOCK),
}
"""By mode, then by severity from low to critical."""


def decision_of(mode: Mode, severity: Severity) -> GuardrailDecision:
    """The cell of the table."""
    return TABLE[mode][severity]


def strictest(decisions: Iterable[GuardrailDecision]) -> GuardrailDecision:
    """The strictest of several; ``approve`` of none."""
    return max(decisions, key=lambda each: each.rank, default=_APPROVE)
