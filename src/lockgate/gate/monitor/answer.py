"""Tells the agent and the person what was decided on a call. Values that patterns found are masked in all of it."""

from __future__ import annotations

from lockgate.core.events import Answer
from lockgate.core.model import EffectKind, Label, LabelState, Tier, ToolCall, Variant, Verdict
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.findings import is_canary, is_enforced, is_from_guard, secrets_in

if TYPE_CHECKING:
    from lockgate.core.model import PolicyDecision
    from lockgate.gate.messages.calls import Message
    from lockgate.gate.monitor.decide import DecisionInput, Ruling
    from lockgate.gate.monitor.screening import Screening

_FEWER = "fewer"
_HARMLESS = frozenset({EffectKind.INGEST})
_MOST_RESULTS = 4


def answer(question: DecisionInput, ruling: Ruling) -> Answer:
    """Build the answer to a call that was decided on."""
    said = _message(question, ruling)
    if question.configuration.options.prompts == _FEWER and _is_harmless(question, ruling):
        return said._replace(harmless=True)
    if ruling.approval or ruling.person:
        said = said._replace(approval=ruling.approval, approved=ruling.person == "used")
    if ruling.person or (question.opinion is not None and said.verdict in (Verdict.ASK, Verdict.DENY)):
        from lockgate.gate.messages import objections

        said = objections.with_words(said, ruling, question.opinion)
    found = question.found
    if (
        not found.pattern_matches
        or not is_enforced(question.configuration)
        or said.verdict in (Verdict.ASK, Verdict.DENY)
    ):
        return said
    from lockgate.gate.messages import patterns

    remarks = patterns.remarks(found)
    context = "\n".join(filter(None, (said.context, remarks.to_agent)))
    return said._replace(context=context, to_person=remarks.to_person)


def _is_harmless(question: DecisionInput, ruling: Ruling) -> bool:
    """Whether a shell command needs no person: it runs contained, or it is proven to be local.

    With a label, a local command counts only where it leaves nothing behind: what it wrote could run later.
    """
    call, analysis, verdict = question.call, ruling.analysis, ruling.decision.verdict
    if call.tool != "Bash" or question.found.pattern_matches:
        return False
    if verdict is Verdict.CONTAIN:
        return ruling.new_input is not None
    if verdict is not Verdict.ALLOW or not all(effect.kind in _HARMLESS for effect in analysis.effects):
        return False
    if not question.labels:
        return bool(analysis.commands)
    from lockgate.analysis.looking import looks_only

    return looks_only(call, analysis)


def _ask_brief(brief: str, ruling: Ruling, question: DecisionInput) -> str:
    from lockgate.gate.delegates import briefs
    from lockgate.gate.messages import calls

    if briefs.fits(ruling.brief):
        return calls.brief_question(
            briefs.lines_to_show(brief), question.taints, has_steps=bool(briefs.steps(ruling.brief))
        )
    return calls.long_brief_question(brief, ruling.brief_id[: briefs.SHOWN_ID], question.taints)


def _message(question: DecisionInput, ruling: Ruling) -> Answer:
    decision = question.mask.decision(ruling.decision)
    if decision.verdict is Verdict.ALLOW:
        return Answer(decision=decision, context=_note_on_delegates(question.call, decision.column))
    if decision.verdict is Verdict.CONTAIN:
        return _contain(question, ruling, decision)
    if decision.verdict is Verdict.ASK:
        return _ask(question, ruling, decision)
    refusal = _refusal_texts(question, ruling, decision)
    if ruling.approval and ruling.place is not None and ruling.place.where == "tool":
        from lockgate.gate.messages import tool_dialog

        note = tool_dialog.request_note(ruling.approval, ruling.place.because)
        return Answer(decision.verdict, f"{refusal.to_agent}\n{note}", refusal.to_person, decision=decision)
    if ruling.place is not None and ruling.place.because:
        from lockgate.gate.messages import dialog

        why = dialog.note_of_unasked(ruling.place.because)
        refusal = refusal._replace(to_agent=f"{refusal.to_agent}\n{why}", to_person=f"{refusal.to_person}\n{why}")
    return Answer(decision.verdict, refusal.to_agent, refusal.to_person, decision=decision)


def _contain(question: DecisionInput, ruling: Ruling, decision: PolicyDecision) -> Answer:
    from lockgate.gate.messages import calls

    shell = any(reason.effect.kind is not EffectKind.TAMPER for reason in decision.reasons)
    held = next((each.effect.because for each in decision.reasons if each.effect.variant is Variant.INSTALLED), "")
    installs = question.wanted is not None
    context = calls.containment_note(installs=installs, packages=held) if shell else calls.state_left_out()
    return Answer(Verdict.CONTAIN, context=context, new_input=ruling.new_input, decision=decision)


def _ask(question: DecisionInput, ruling: Ruling, decision: PolicyDecision) -> Answer:
    """The question that the client puts to the person."""
    if ruling.place is not None:
        text = question_text(question, ruling)
        return Answer(Verdict.ASK, to_agent=text, to_person=text, decision=decision)
    from lockgate.gate.messages import calls

    call = question.mask.call(question.call)
    if _is_about_patterns(question, ruling, decision):
        from lockgate.gate.messages import patterns

        # The client shows it to the person alone.
        text = patterns.pattern_question(call, decision.reasons, question.found, calls.exact_call(call))
        return Answer(Verdict.ASK, to_person=text, decision=decision)
    brief = question.mask.text(ruling.brief)
    text = _ask_brief(brief, ruling, question) if brief else calls.question_text(call, decision, question.taints)
    return Answer(Verdict.ASK, to_agent=text, to_person=text, decision=decision)


def _refusal_texts(question: DecisionInput, ruling: Ruling, decision: PolicyDecision) -> Message:
    """What the agent and the person read of a refusal."""
    # By its whole name: docs/architecture.md, "The hot path".
    from lockgate.gate.messages import calls

    call, taints = question.mask.call(question.call), question.taints
    if _is_about_patterns(question, ruling, decision):
        from lockgate.gate.messages import patterns

        return patterns.refusal_texts(call, decision.reasons, question.found)
    if ruling.unanswerable:
        signed, job = question.configuration.is_signed_alone, bool(question.context.run)
        return calls.unanswerable(call, decision, taints, job=job, signed=signed)
    if ruling.lost_in:
        return calls.unaskable(call, decision, taints, ruling.lost_in)
    by_rules = decision.tier is Tier.RULES
    if by_rules or (question.configuration.locked and not calls.always_denied(decision)):
        from lockgate.gate.messages import objections

        return objections.rules_message(call, decision.reasons) if by_rules else objections.fleet_message(call)
    hints, client = question.mask.analysis(ruling.analysis).hints, question.context.client
    to_agent = calls.refusal_for_agent(call, decision, taints, hints, client)
    session, endorsable = question.context.subject.session, _may_endorse(question, ruling)
    to_person = calls.refusal_for_person(call, decision, taints, client, session=session, endorsable=endorsable)
    return calls.Message(to_agent, to_person)


def _may_endorse(question: DecisionInput, ruling: Ruling) -> bool:
    """Whether the call would run, or be asked about, once a person had endorsed what the session has read.

    All calls of the session are looked at for that, so it is found out only where there is little to endorse.
    """
    results = {taint.call_id for taint in question.taints if taint.label is Label.UNTRUSTED}
    if not 0 < len(results) <= _MOST_RESULTS:
        return False
    from lockgate.policy.decide import decide, strictest

    left = question.labels - {Label.UNTRUSTED}
    profiles = [policy.profile for policy in question.configuration.policies]
    decision = strictest(decide(ruling.analysis.effects, left, profile) for profile in profiles)
    if decision.verdict is Verdict.DENY:
        return False
    from lockgate.gate.session import endorsements

    return endorsements.may_end(question.tx, question.context.subject)


def _is_about_patterns(question: DecisionInput, ruling: Ruling, decision: PolicyDecision) -> bool:
    """Whether the message is about what the pattern library found, and nothing else."""
    has_more = ruling.lost_in or ruling.unanswerable or ruling.brief
    return (is_from_guard(decision) and not has_more) or is_canary(question.found)


def _note_on_delegates(call: ToolCall, column: LabelState) -> str:
    """Say to a tainted agent that what it starts is no delegate, where it calls it as Lockbox did."""
    if not call.spawns or column not in (LabelState.UNTRUSTED, LabelState.BOTH):
        return ""
    from lockgate.gate.delegates.briefs import FORMER_TYPES

    if call.spawns not in FORMER_TYPES:
        return ""
    from lockgate.gate.messages import calls

    return calls.former_delegate(call.spawns)


def question_text(question: DecisionInput, ruling: Ruling) -> str:
    """What the person reads in the client's own dialog; empty where it does not fit there."""
    from lockgate.gate.messages import dialog

    call, decision = question.mask.call(question.call), question.mask.decision(ruling.decision)
    told = call, decision, question.taints, ruling.approval, ruling.reached
    return dialog.dialog_question(*told, ruling.window, exact=call.tool_input == question.call.tool_input)


def result_answer(call: ToolCall, screening: Screening) -> Answer:
    """Say what the agent reads of a result, and what it should know of that."""
    remarked = screening.remarked
    if not any((screening.texts, screening.redacted, screening.withheld, screening.exposed, screening.stays, remarked)):
        return Answer()
    from lockgate.gate.messages import patterns

    to_agent, to_person, withheld = [], [], ""
    if screening.withheld:
        withheld = patterns.withheld(screening.withheld)
        to_person.append(patterns.withheld_to_person(call, screening.withheld))
    elif screening.redacted:
        to_agent.append(patterns.redaction_note(screening.redacted))
    if remarked and not screening.withheld:
        said = patterns.remarks_on_result(call, remarked)
        to_agent.append(said)
        to_person.append(said)
    if screening.exposed:
        said = patterns.exposure_note(screening.exposed)
        to_agent.append(said)
        to_person.append(said)
    if screening.stays:
        told = patterns.stays(screening.stays, "this result", call)
        to_agent.append(told.to_agent)
        to_person.append(told.to_person)
    texts = {} if withheld else screening.texts
    return Answer(texts=texts, withheld=withheld, context="\n".join(to_agent), to_person=" ".join(to_person))


def failure_answer(call: ToolCall, screening: Screening) -> Answer:
    """Say that the error of a failed call holds what cannot be taken out of it."""
    found = secrets_in(screening.result)
    if not found and not screening.withheld:
        return Answer()
    from lockgate.gate.messages import patterns

    if screening.withheld:
        text = patterns.unseen(screening.withheld)
        return Answer(context=text, to_person=text)
    told = patterns.stays(found, "the error of this call", call)
    return Answer(context=told.to_agent, to_person=told.to_person)
