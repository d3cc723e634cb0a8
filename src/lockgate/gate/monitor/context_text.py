"""Text that enters the context without a tool call: prompts, and files that the client loads by itself."""

from __future__ import annotations

from lockgate.analysis.prompts import prompt
from lockgate.core.events import PERSON, REGISTERED, STRANGER, Answer, InstructionsLoaded, PromptSubmitted
from lockgate.core.model import Subject, ToolCall
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate import session
from lockgate.gate.delegates import briefs
from lockgate.gate.parts import Parts
from lockgate.resources import addresses
from lockgate.store.audit import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.core.events import PromptPart
    from lockgate.core.model import Effect
    from lockgate.store.protocol import Transaction


def handle_prompt(parts: Parts, event: PromptSubmitted) -> Answer:
    """Take in a prompt: of the person, or of somebody in their name."""
    context = event.context
    words = _words_of(parts, event)
    said = _person_texts(event, words)
    strangers = [part for part in words if part.author == STRANGER]
    effects = _effects_of(parts, event, strangers)
    prompt_of_others = [] if event.human else [event.prompt]
    unsaid = [part.text for part in strangers] if words else prompt_of_others
    held = [source for text in unsaid for source in _secrets_in(parts, event, text)]
    with parts.store.transaction() as tx:
        now = parts.clock()
        parts.enter(tx, context, now)
        if session.is_started_by_agent(tx.session(context.subject.session)):
            said = []
        session.hold_secrets(tx, context.subject, ToolCall("prompt", {}), tuple(dict.fromkeys(held)), now)
        _settle_rejected(tx, context.subject.session, event.rejected)
        _remember_addresses(parts, tx, context.subject.session, said)
        session.expose(tx, context.subject, "prompt", effects, now)
        for part in strangers:
            from lockgate.gate.monitor import file_labels

            file_labels.remember_read(tx, context.subject.session, part.text, now)
        if (words or context.job) and not context.subject.agent:
            session.settle_prompt(tx, context.subject.session, said=bool(words))
        told = _settle_questions(tx, event, now, human=bool(said))
        facts: dict[str, object] = {"human": bool(said), "effects": len(effects)}
        if words:
            facts["parts"] = [part.author for part in words]
        tx.append_audit(now, record.event_record(context, "prompt", facts))
    return Answer(context=told)


def _words_of(parts: Parts, event: PromptSubmitted) -> tuple[PromptPart, ...]:
    if not (event.parts or event.context.job or REGISTERED in event.prompt):
        return ()
    from lockgate.gate.monitor.prompt_parts import parts_of

    return parts_of(parts.store, event, parts.clock())


def _effects_of(parts: Parts, event: PromptSubmitted, strangers: Sequence[PromptPart]) -> tuple[Effect, ...]:
    """What a prompt brings into the context beside the person's own words."""
    context = event.context
    policies = parts.configure(context).policies
    around = [parts.host_view(context, policy.rules) for policy in policies]
    effects = dict.fromkeys(
        effect for each in around for effect in prompt.mention_effects(event.prompt, context.cwd, each)
    )
    if event.outside:
        effects[prompt.outside_message_effect()] = None
    effects.update(dict.fromkeys(prompt.stranger_effect(part.source) for part in strangers))
    return tuple(effects)


def _settle_rejected(tx: Transaction, session_id: str, rejected: Sequence[str]) -> None:
    """Settle the calls that the person has refused before they typed, and close what such a call has begun."""
    for call_id in rejected:
        row = tx.call(session_id, call_id)
        if row is not None:
            session.settle_refusal(tx, Subject(row.session, row.agent), ToolCall(row.tool, {}, "", call_id), digest="")
    briefs.close_refused(tx, session_id, rejected)


def _remember_addresses(parts: Parts, tx: Transaction, session_id: str, said: Sequence[str]) -> None:
    """Remember the addresses that the person has typed."""
    for text in said:
        session.remember(tx, parts.store.fleet_key, session_id, addresses.extract(text, 1000), human=True)


def _person_texts(event: PromptSubmitted, words: Sequence[PromptPart]) -> list[str]:
    """The person's own texts, one by one: an address must not begin in one and end in a stranger's."""
    if words:
        return [part.text for part in words if part.author == PERSON and part.text.strip()]
    return [event.prompt] if event.human else []


def _settle_questions(tx: Transaction, event: PromptSubmitted, now: float, *, human: bool) -> str:
    """Close the questions that nothing came of, as answered with no; gives what the person said with noes elsewhere."""
    if not tx.approvals(session=event.context.subject.session):
        return ""
    from lockgate.gate.monitor import dialog

    dialog.close_unanswered(tx, event.context, now)
    return dialog.note_prompt(tx, event.context, now) if human else ""


def _secrets_in(parts: Parts, event: PromptSubmitted, text: str) -> tuple[str, ...]:
    """The sources of secrets in a text of a background task or another agent, which cannot be rewritten."""
    from lockgate.gate.findings import sources
    from lockgate.gate.monitor.screening import look

    call = ToolCall("UserPromptSubmit", {}, event.context.cwd)
    return sources(look(parts.guard, event.context, call, "prompt", text).result, "a message")


def instructions_loaded(parts: Parts, event: InstructionsLoaded) -> Answer:
    """Take in a file of instructions that the client has loaded."""
    context = event.context
    effects = dict.fromkeys(
        effect
        for policy in parts.configure(context).policies
        for effect in prompt.instructions_effects(event.file, context.cwd, parts.host_view(context, policy.rules))
    )
    with parts.store.transaction() as tx:
        now = parts.clock()
        parts.enter(tx, context, now)
        session.expose(tx, context.subject, "instructions", tuple(effects), now)
        what = {"file": event.file, "reason": event.reason, "effects": len(effects)}
        tx.append_audit(now, record.event_record(context, "instructions", what))
    return Answer()
