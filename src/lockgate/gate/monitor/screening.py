"""Screens a call's result with the pattern library before the model reads it.

What must not be read is replaced. Where the library cannot say, or a text cannot be rewritten, the result is withheld:
a result that nobody looked at is never passed on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.core.errors import LockgateError, PatternError
from lockgate.core.events import Context, ToolFinished
from lockgate.core.model import ToolCall
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.findings import decide_on_findings, find_noted, secrets_in
from lockgate.gate.parts import Guard, KeptWriter
from lockgate.patterns.model import GuardrailDecision, GuardrailResult, PatternMatch
from lockgate.store.audit.record import guardrail

if TYPE_CHECKING:
    from typing import Any


_NAMES = "names of fields"
"""Their path: one that repeats none of them."""


class Screening(Record):
    """The matches in a result, and the texts that the model reads instead."""

    result: GuardrailResult = GuardrailResult()
    texts: Mapping[str, str] = {}
    """The texts that change, by path."""
    withheld: str = ""
    """Why the model reads nothing of the result; empty where it does."""
    stays: Sequence[PatternMatch] = ()
    """Credentials in names of fields, which are not changed."""
    exposed: str = ""
    """The file of the whole result, where that could not be rewritten."""
    enforced: bool = False
    """Whether what was found was also taken out."""

    @property
    def record(self) -> dict[str, Any]:
        """What the audit records of it beside what was found."""
        if self.result.is_empty and not self.withheld and not self.exposed:
            return {}
        return guardrail(self.result, redacted=len(self.redacted), withheld=self.withheld, exposed=self.exposed)

    @property
    def redacted(self) -> list[PatternMatch]:
        """The matches that were taken out."""
        return [match for match in self.result.pattern_matches if match.redact] if self.enforced else []

    @property
    def remarked(self) -> list[PatternMatch]:
        """The matches that stay, stop nothing, and that agent and person are told of."""
        return [match for match in find_noted(self.result) if not match.redact] if self.enforced else []


def screen(guard: Guard, write_kept: KeptWriter, event: ToolFinished, *, enforced: bool) -> Screening:
    """Look at all texts of a result.

    Args:
        guard: The library.
        write_kept: Rewrites the file of a long result.
        event: The result.
        enforced: Whether anything is changed; else it is only looked at.
    """
    if not event.texts and not event.names:
        return Screening()
    try:
        result, texts = guard.check_output(event.context, event.call, event.texts)
        names = GuardrailResult()
        if event.names:
            names, _ = guard.check_output(event.context, event.call, [(_NAMES, event.names)])
    except LockgateError as error:
        return Screening(withheld=str(error)) if enforced else Screening()
    if result.is_empty and not event.kept and names.is_empty:
        return Screening(result, enforced=enforced)
    if because := _withheld(result, texts) or _unseen(names):
        found = Screening(result, withheld=because if enforced else "")
    else:
        found = Screening(result, texts if enforced else {}, enforced=enforced)
        if event.kept:
            found = _with_kept(found, guard, write_kept, event, enforced=enforced)
    return _with_names(found, names, event.names, enforced=enforced) if names.pattern_matches else found


def _with_names(found: Screening, names: GuardrailResult, text: str, *, enforced: bool) -> Screening:
    """Add what stands in names of fields. They stay, so nobody may repeat them: not in the paths to other texts."""
    from lockgate.gate.monitor.masking import Mask

    mask = Mask.of_texts(names, {_NAMES: text})
    names = names._replace(pattern_matches=[match._replace(redact=False) for match in names.pattern_matches])
    stays = secrets_in(names) if enforced else ()
    return found._replace(result=_both(mask.result(found.result), names), stays=stays)


def _withheld(result: GuardrailResult, texts: Mapping[str, str]) -> str:
    """Why a result may not be read at all: there is nobody to ask, and some of what is found is not taken out."""
    if decide_on_findings(result) in (GuardrailDecision.APPROVE, GuardrailDecision.WARN):
        return ""
    if because := _unseen(result):
        return because
    for match in result.pattern_matches:
        stays = not match.redact or match.path not in texts
        if stays and match.decision in (GuardrailDecision.ASK, GuardrailDecision.BLOCK):
            return f"it holds a {match.type} [{match.rule}]"
    return "" if result.pattern_matches else result.reason or "the pattern library objects"


def _unseen(result: GuardrailResult) -> str:
    """Why what was not found may be there nevertheless: a group that withholds such a result was not evaluated."""
    for group in result.expired:
        if group.fallback in (GuardrailDecision.ASK, GuardrailDecision.BLOCK):
            return f"the patterns of {group.group} could not be evaluated ({group.because})"
    return ""


# ---------------------------------------------------------------- the file of a long result
def _with_kept(
    found: Screening, guard: Guard, write_kept: KeptWriter, event: ToolFinished, *, enforced: bool
) -> Screening:
    """Rewrite the file of the whole result too, and what the cut has left of a value that it went through."""
    from lockgate.gate.messages.patterns import withheld

    seen: list[tuple[str, GuardrailResult]] = []

    def redact_kept(text: str) -> str:
        result, changed = guard.check_output(event.context, event.call, [(event.kept, text)])
        seen.append((text, result))
        because = _withheld(result, changed)
        if because and result.expired:
            raise PatternError(because)  # it may be harmless, and nobody has another copy: it is left, and announced
        if because:
            return withheld(because) if enforced else text
        return changed.get(event.kept, text) if enforced else text

    try:
        write_kept(event.context, event.kept, redact_kept)
    except (OSError, LockgateError):
        return found._replace(exposed=event.kept) if enforced else found
    for text, result in seen:
        texts = {**found.texts, **_redact_at_cut(event, text, result)} if enforced else {}
        found = found._replace(result=_both(found.result, result), texts=texts)
    return found


def _redact_at_cut(event: ToolFinished, whole: str, result: GuardrailResult) -> dict[str, str]:
    """The text that shows the file's beginning, without the first half of a value that the cut went through."""
    shown = dict(event.texts).get(event.shown, "")
    end = len(shown)
    through = any(match.redact and match.start < end < match.end for match in result.pattern_matches)
    if not through or not whole.startswith(shown):
        return {}
    from lockgate.patterns.redaction.spans import redact

    matches = [match._replace(end=min(match.end, end)) for match in result.pattern_matches if match.start < end]
    return {event.shown: redact(shown, matches)}


def _both(first: GuardrailResult, second: GuardrailResult) -> GuardrailResult:
    """Two results as one. What is found at one place of two texts is one finding to whoever counts values."""
    return first._replace(
        decision=max(first.decision, second.decision, key=lambda each: each.rank),
        reason=first.reason or second.reason,
        pattern_matches=(*first.pattern_matches, *second.pattern_matches),
        elapsed_ms=first.elapsed_ms + second.elapsed_ms,
        expired=(*first.expired, *second.expired),
    )


def look(guard: Guard, context: Context, call: ToolCall, path: str, text: str) -> Screening:
    """Look at a text that nothing can be taken out of."""
    if not text:
        return Screening()
    try:
        return Screening(guard.check_output(context, call, [(path, text)])[0])
    except LockgateError as error:
        return Screening(withheld=str(error))
