"""Asking a rule's validators about what its pattern matches."""

from __future__ import annotations

from lockgate.analysis.patterns.engine import PROOFS, Found
from lockgate.analysis.patterns.model import Candidate, Rule

_AROUND = 80
"""Characters beside a match that validators see."""
_OFTEN = 16
"""So many times a match is judged again after it was refused: a log says the same very often."""
_NEAR = 8
"""Bytes on each side that must be the same too: else whoever wrote a value where it counts for nothing, a few times,
could then write it where it counts."""


class Judge:
    """The answers of one check."""

    def __init__(self) -> None:
        """Nothing was refused yet."""
        self.refused: dict[tuple[int, bytes], int] = {}
        """How often the same match with the same beside it was, by rule."""

    def answer(self, rule: Rule, found: Found, data: bytes) -> bool | None:
        """What all validators say together: ``True`` proven, ``None`` plausible, ``False`` refused."""
        if not found.alone and not any(name in PROOFS for name, _ in rule.validate):
            return False
        same = (found.rule, data[max(found.start - _NEAR, 0) : found.end + _NEAR])
        if self.refused.get(same, 0) >= _OFTEN:
            return False
        proven = _asked(rule, _candidate(found, data))
        if proven is False or (proven is None and not found.alone):
            self.refused[same] = self.refused.get(same, 0) + 1
            return False
        return proven


def is_weak(rule: Rule, value: bytes) -> bool:
    """Whether what is found is a default password or a plain word."""
    if all(name != "credential" for name, _ in rule.validate):
        return False
    from lockgate.analysis.patterns import credential

    return credential.is_weak(value.decode("utf-8", "replace"))


def _asked(rule: Rule, candidate: Candidate) -> bool | None:
    """Validators in their order, up to the first that refuses."""
    if not rule.validate:
        return None
    from lockgate.analysis.patterns.validators import VALIDATORS

    proven = None
    for name, number in rule.validate:
        answer = VALIDATORS[name](candidate, number)
        if answer is False:
            return False
        proven = proven or answer
    return proven


def _candidate(found: Found, data: bytes) -> Candidate:
    def text(start: int, end: int) -> str:
        return data[max(start, 0) : end].decode("utf-8", "replace")

    return Candidate(
        value=text(found.value_start, found.value_end),
        match=text(found.start, found.end),
        key=found.key.decode("utf-8", "replace"),
        before=text(found.start - _AROUND, found.start),
        after=text(found.end, found.end + _AROUND),
    )
