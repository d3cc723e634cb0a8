"""Texts for the agent and the person about what the pattern library found. They never repeat what was found."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from lockgate.core.display_text import visible
from lockgate.core.model import Reason, ToolCall
from lockgate.gate.findings import CANARY, MARK_RULE, find_noted, is_canary
from lockgate.gate.messages.calls import Message, summary_of
from lockgate.patterns.model import GuardrailResult, Kind, PatternMatch

_SHOWN = 5
_REFER = (
    "Do not write the value in another form. Refer to the variable or the file that holds it, so that it is read where "
    "it is used; a made-up value must look made up (EXAMPLE, changeme). If the person wants it there, they can put it "
    "there themselves."
)
_CANARY = (
    "This is a canary: a value that nobody has a use for, put where only somebody who looks for secrets finds it. Stop "
    "all you are doing now, and tell the person what led you to it."
)
_MARK = (
    "The marks stand for values that Lockgate took out of what you read. Written to a file, they would destroy the "
    "values. Change the file with Edit, in pieces that do not contain a marked value, and leave its line as it is."
)
_CHANGE = "Change it, or tell the person what you wanted to do."
_PERSON = (
    "To allow it: do it yourself, or change the rule in a patterns.yaml of your own (lockgate patterns list, lockgate "
    "config path)."
)
_PERSON_KNOWN = "To allow it: do it yourself. The value is known; no rule of a form is behind it."
_PERSON_CANARY = "If it has done its work: lockgate canary revoke NAME."


def _summarise(reasons: Iterable[Reason]) -> str:
    said = [f"{visible(reason.effect.because, 200)} [{visible(reason.effect.rule, 100)}]" for reason in reasons]
    return summary_of(said, _SHOWN)


def _advice(result: GuardrailResult) -> str:
    rules = [match.rule for match in result.pattern_matches]
    if any(rule.startswith(CANARY) for rule in rules):
        return _CANARY
    if MARK_RULE in rules:
        return _MARK
    return _REFER if any(match.kind is Kind.SECRET for match in result.pattern_matches) else _CHANGE


def refusal_texts(call: ToolCall, reasons: Sequence[Reason], result: GuardrailResult) -> Message:
    """The message about a call that is refused for what it carries."""
    tool = visible(call.tool, 80)
    to_agent = [f"Lockgate blocked this call of {tool}: {_summarise(reasons)}.", _advice(result)]
    to_person = [
        f"{_name_canaries(result)}Lockgate blocked a call of {tool}: {_summarise(reasons)}.",
        _text_of_known_secrets(result),
        _way(result),
    ]
    return Message("\n".join(to_agent), " ".join(filter(None, to_person)))


def _name_canaries(result: GuardrailResult) -> str:
    """The canaries that were found, by name: only the person knows where each was put."""
    names = dict.fromkeys(
        match.rule.removeprefix(CANARY) for match in result.pattern_matches if match.rule.startswith(CANARY)
    )
    said = ", ".join(visible(name, 60) for name in names)
    return f"CANARY {said}: an agent got at it and tried to pass it on. " if said else ""


def _way(result: GuardrailResult) -> str:
    """What a person can do who wants the call nevertheless."""
    if is_canary(result):
        return _PERSON_CANARY
    matches = result.pattern_matches
    return _PERSON_KNOWN if matches and all(match.detail for match in matches) else _PERSON


def _text_of_known_secrets(result: GuardrailResult) -> str:
    """The known secrets that were found. The agent is not told: it would learn where to find them."""
    found = [match for match in result.pattern_matches if match.detail and not match.rule.startswith(CANARY)]
    names = list(dict.fromkeys(visible(match.detail, 120) for match in found))
    return f"Known from: {summary_of(names, _SHOWN)}." if names else ""


def pattern_question(call: ToolCall, reasons: Sequence[Reason], result: GuardrailResult, shown: str) -> str:
    """The question for a native prompt. ``shown`` is the call with marks in the place of what was found."""
    why = " ".join(filter(None, (f"Lockgate asks: {_summarise(reasons)}.", _text_of_known_secrets(result))))
    return f"{why}\nLet exactly this {visible(call.tool, 80)} run once:\n{shown}"


def remarks(result: GuardrailResult) -> Message:
    """The message about matches that stop nothing; empty where there are none."""
    found = find_noted(result)
    if not found:
        return Message("", "")
    said = _list_text(found)
    marks = f"\n{_MARK}" if any(match.rule == MARK_RULE for match in found) else ""
    return Message(
        f"Lockgate remarks on this call, and lets it run: {said}. If this was not meant, mend it.{marks}",
        " ".join(filter(None, (f"Lockgate remarks: {said}.", _text_of_known_secrets(result)))),
    )


def remarks_on_result(call: ToolCall, found: Sequence[PatternMatch]) -> str:
    """The text about matches in a result that are neither taken out nor withheld."""
    return f"Lockgate remarks on what this {visible(call.tool, 80)} gave back: {_list_text(found)}."


def _list_text(matches: Sequence[PatternMatch]) -> str:
    said = list(
        dict.fromkeys(
            f"{visible(match.type, 60)} in {visible(match.path, 120)} [{visible(match.rule, 100)}]" for match in matches
        )
    )
    return summary_of(said, _SHOWN)


# ---------------------------------------------------------------- results
def redaction_note(matches: Sequence[PatternMatch]) -> str:
    """The text that tells the agent which values were taken out of a result."""
    # One value can be known by its format and by itself: its type is what says more, so the mark does too.
    values: dict[str, str] = {}
    for match in sorted(matches, key=lambda match: bool(match.detail)):
        values.setdefault(match.fingerprint or f"{match.path}:{match.start}", match.type)
    types = ", ".join(sorted({visible(kind, 60) for kind in values.values()})[:_SHOWN])
    count = f"{len(values)} value{'s' if len(values) != 1 else ''}"
    return (
        f"Lockgate took {count} ({types}) out of this result; the same mark stands for the same value. Do not ask for "
        "them or read them in another way: work with the names of the variables and files that hold them."
    )


def withheld(because: str) -> str:
    """The text in place of a result that the agent may not read."""
    return f"Lockgate withheld this output: {visible(because, 300)}."


def withheld_to_person(call: ToolCall, because: str) -> str:
    """The text that tells the person of a withheld result."""
    return f"Lockgate withheld the output of {visible(call.tool, 80)}: {visible(because, 300)}."


def exposure_note(file: str) -> str:
    """The text that warns agent and person of the file of a long result: nobody has looked at it."""
    return f"Lockgate could not filter {visible(file, 300)}, which holds all of this output: do not read that file."


def stays(matches: Sequence[PatternMatch], where: str, call: ToolCall) -> Message:
    """The message about credentials that cannot be taken out of what the agent reads.

    Args:
        matches: The credentials.
        where: What holds them: ``the error of this call``.
        call: The call.
    """
    said = _list_text(matches)
    return Message(
        f"Lockgate found a credential in {where} ({said}) and cannot take it out. Do not repeat it, write it anywhere "
        "or use it.",
        f"Lockgate: a call of {visible(call.tool, 80)} came back with a credential that the agent has read now, in "
        f"{where}: {said}. Consider changing it.",
    )


def unseen(because: str) -> str:
    """The text about an error that could not be looked at, and cannot be held back either."""
    return (
        f"Lockgate could not look for credentials in the error of this call: {visible(because, 300)}. Repeat nothing "
        "of it that may be one."
    )
