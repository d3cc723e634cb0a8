"""Handles a call that came back, failed or was refused: its labels, and what the model reads."""

from __future__ import annotations

import json
from collections.abc import Callable

from lockgate.core.events import Answer, Context, ToolFailed, ToolFinished, ToolRefused
from lockgate.core.model import Analysis, Label, ToolCall, Verdict
from lockgate.core.questions import ResultQuestion
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate import session
from lockgate.gate.findings import UNSEEN_RULE, is_enforced, redacts, sources
from lockgate.gate.monitor.answer import failure_answer, result_answer
from lockgate.gate.monitor.screening import Screening, look, screen
from lockgate.gate.parts import Parts, call_digest, merge
from lockgate.gate.session.calls import INSIDE, PACKAGES
from lockgate.store.audit import record

if TYPE_CHECKING:
    from lockgate.configuration.load import Configuration
    from lockgate.core.questions import Deliberation
    from lockgate.store.protocol import Transaction


def handle_result(parts: Parts, event: ToolFinished) -> Deliberation:
    """A result is about to enter the subject's context."""
    context, call = event.context, _original(parts, event.context, event.call)
    digest = call_digest(call)
    # Read before the transaction, which it would otherwise be inside of.
    configuration = parts.configure(context)
    fresh = _analyse_once(parts, context, call, configuration)
    addresses = _addresses_in(event, fresh)
    screening = screen(parts.guard, parts.write_kept, event, enforced=redacts(configuration))
    sets = parts.consultants.rule_sets(configuration)
    if sets.plugins and not screening.withheld:
        objections = yield ResultQuestion(context, call, event.text, sets)
        if objections and is_enforced(configuration):
            screening = screening._replace(withheld=f"{objections[0].reason} [{objections[0].rule}]")
    held = _secrets_in(parts, context, call, screening)
    vouched, whose = False, {}
    if configuration.options.trust is not None and parts.consultants.authors is not None:
        from lockgate.gate.monitor.result_authors import vouch

        vouching = yield from vouch(parts, configuration, event, call, fresh)
        vouched, whose = vouching.is_theirs, vouching.record
    with parts.store.transaction() as tx:
        now = parts.clock()
        parts.enter(tx, context, now)
        goes_on, unseen = bool(event.agent and event.background), event.background or bool(event.kept)
        if _came_back_before(tx, context, call, digest):
            again = None
            if not goes_on:
                again = session.settle_again(
                    tx,
                    context.subject,
                    call,
                    event.text,
                    now,
                    digest=digest,
                    fresh=fresh,
                    background=unseen,
                    vouched=vouched,
                )
            _look_at_page(tx, context, call, digest, event.text, now)
            session.hold_secrets(tx, context.subject, call, held, now)
            if again is not None:
                tx.append_audit(now, record.came_back(context, call, digest, "finished", again, screening.record))
            return result_answer(call, screening)
        if event.agent:
            session.note_launch(tx, context.subject.session, session.call_key(call, digest), event.agent)
        outcome = None
        if not goes_on:
            # Of a result that holds secrets, or is changed before the model reads it, nothing is kept.
            keep = not (held or screening.withheld or screening.texts) and _is_all_text(event)
            outcome = session.settle_result(
                tx,
                context.subject,
                call,
                event.text,
                now,
                digest=digest,
                fresh=fresh,
                background=unseen,
                keep=keep,
                vouched=vouched,
            )
        _look_at_files(parts, tx, context, call, digest, now, done=True)
        _remember_passages(tx, context, call, digest, outcome, event.text, now)
        _look_at_page(tx, context, call, digest, event.text, now)
        if not event.background:
            _look_at_head(parts, tx, context, fresh)
        session.remember(tx, parts.store.fleet_key, context.subject.session, addresses, human=False)
        session.hold_secrets(tx, context.subject, call, held, now)
        told = _settle_question(tx, context, call, now)
        if call.tool == parts.consultants.asking_tool:
            from lockgate.gate.monitor import question_by_tool

            told = question_by_tool.note_answer(parts, tx, event, now)
        tx.append_audit(
            now, record.came_back(context, call, digest, "finished", outcome, {**screening.record, **whose})
        )
    return _with(told, result_answer(call, screening))


def handle_failure(parts: Parts, event: ToolFailed) -> Answer:
    """An error is about to enter the subject's context. The client lets nobody change it."""
    context, call = event.context, _original(parts, event.context, event.call)
    digest = call_digest(call)
    if event.or_refused and _is_refused(parts, context, call, digest):
        return handle_refusal(parts, ToolRefused(context, event.call, event.error))
    fresh = _analyse_once(parts, context, call, parts.configure(context))
    screening = look(parts.guard, context, call, "error", event.error)
    held = _secrets_in(parts, context, call, screening)
    told = Answer()
    with parts.store.transaction() as tx:
        now = parts.clock()
        parts.enter(tx, context, now)
        if _came_back_before(tx, context, call, digest):
            outcome = session.settle_again(
                tx, context.subject, call, event.error, now, digest=digest, fresh=fresh, state="failed"
            )
            session.hold_secrets(tx, context.subject, call, held, now)
            if outcome is not None:
                tx.append_audit(now, record.came_back(context, call, digest, "failed", outcome, screening.record))
        else:
            told = _settle_question(tx, context, call, now)
            outcome = session.settle_failure(
                tx, context.subject, call, event.error, now, digest=digest, fresh=fresh, keep=not held
            )
            session.hold_secrets(tx, context.subject, call, held, now)
            _remember_passages(tx, context, call, digest, outcome, event.error, now)
            _look_at_files(parts, tx, context, call, digest, now, done=False)
            _look_at_page(tx, context, call, digest, "", now)
            _look_at_head(parts, tx, context, fresh)
            tx.append_audit(now, record.came_back(context, call, digest, "failed", outcome, screening.record))
    return _with(told, failure_answer(call, screening))


def handle_refusal(parts: Parts, event: ToolRefused) -> Answer:
    """The client or the person refused a call."""
    from lockgate.gate.monitor import file_labels, kept_files

    context, call = event.context, _original(parts, event.context, event.call)
    digest = call_digest(call)
    with parts.store.transaction() as tx:
        now = parts.clock()
        parts.enter(tx, context, now)
        key = session.call_key(call, digest)
        kept_files.take_back(tx, context.subject.session, key)
        file_labels.take_back(tx, context.subject.session, key)
        session.settle_refusal(tx, context.subject, call, digest=digest)
        tx.append_audit(now, record.came_back(context, call, digest, "refused", None))
    return Answer()


def _original(parts: Parts, context: Context, call: ToolCall) -> ToolCall:
    """The call that an agent made, where the gate has changed it."""
    if call.tool != parts.consultants.asking_tool:
        return parts.original(context, call)
    from lockgate.gate.monitor import question_by_tool

    return question_by_tool.original(call)


def _is_all_text(event: ToolFinished) -> bool:
    """Whether a person who reads the text of a result has seen what the model sees."""
    if event.untold or isinstance(event.result, str):
        return not event.untold
    from lockgate.gate.session.result_excerpt import is_all_text

    return is_all_text(event.call.tool, event.result)


def _settle_question(tx: Transaction, context: Context, call: ToolCall, now: float) -> Answer:
    """What agent and person are told of the answer to a question in the client's dialog, where there was one."""
    known = tx.call(context.subject.session, call.call_id) if call.call_id else None
    if known is None or known.facts.get("verdict") != Verdict.ASK.word:
        return Answer()
    from lockgate.gate.monitor import dialog

    return dialog.came_back(tx, context, call, now)


def _with(told: Answer, said: Answer) -> Answer:
    """An answer to a result, with what is told beside it."""
    context = "\n".join(filter(None, (told.context, said.context)))
    return said._replace(context=context, to_person=" ".join(filter(None, (told.to_person, said.to_person))))


def _analyse_once(
    parts: Parts, context: Context, call: ToolCall, configuration: Configuration
) -> Callable[[], Analysis]:
    """What a call can do, found out when it is first asked for."""
    seen: list[Analysis] = []

    def fresh() -> Analysis:
        if not seen:
            seen.append(merge(parts.analyse(context, call, configuration)))
        return seen[0]

    return fresh


def _secrets_in(parts: Parts, context: Context, call: ToolCall, screening: Screening) -> tuple[str, ...]:
    """Where the secrets in a result come from, as far as that can be said without saying them."""
    if not screening.result.found_secret and not screening.exposed:
        return ()
    from lockgate.gate.messages.calls import text_for_records
    from lockgate.gate.monitor.masking import Mask

    mask = Mask.of(parts.guard.check_input(context, call), call)
    where = f"the result of {text_for_records(mask.call(call), 120)}:"
    unseen = (f"{UNSEEN_RULE} in {where} {screening.exposed}",) if screening.exposed else ()
    return sources(screening.result, where) + unseen


def _look_at_files(
    parts: Parts, tx: Transaction, context: Context, call: ToolCall, digest: str, now: float, *, done: bool
) -> None:
    """Look at the files in which the call has left what later calls must know of."""
    row = tx.call(context.subject.session, session.call_key(call, digest))
    if row is not None and done and row.digest == digest and row.facts.get("deployments"):
        from lockgate.gate.monitor import deployments

        deployments.remember(tx, row.facts["deployments"], now)
    if row is not None and (row.facts.get("kept_files") or row.facts.get("cleared_files")):
        from lockgate.gate.monitor import kept_files

        kept_files.settle(tx, row.facts, parts.read_file, now, done=done)
    if row is not None and row.facts.get("labelled_files"):
        from lockgate.gate.monitor import file_labels

        file_labels.settle(tx, call, row.facts, parts.read_file, done=done)


def _remember_passages(
    tx: Transaction,
    context: Context,
    call: ToolCall,
    digest: str,
    outcome: session.ResultOutcome | None,
    text: str,
    now: float,
) -> None:
    """Remember what a stranger wrote, so that it is known again in the files that the agent writes."""
    if outcome is None or Label.UNTRUSTED not in outcome.labels or not text:
        return
    row = tx.call(context.subject.session, session.call_key(call, digest))
    if row is not None and row.facts.get(INSIDE):
        return
    from lockgate.gate.monitor import file_labels

    file_labels.remember_read(tx, context.subject.session, text, now)


def _look_at_page(tx: Transaction, context: Context, call: ToolCall, digest: str, text: str, now: float) -> None:
    """Look at which page a browser has open, as the result of one of its tools says."""
    if not call.tool.startswith("mcp__"):
        return
    from lockgate.gate.monitor.open_pages import came_back

    came_back(tx, context.subject.session, call, session.call_key(call, digest), text, now)


def _look_at_head(parts: Parts, tx: Transaction, context: Context, fresh: Callable[[], Analysis]) -> None:
    """Look at what is checked out now, where packages are kept that an untrusted session has installed."""
    if tx.settings(PACKAGES) and fresh().programs:
        from lockgate.gate.session import packages

        packages.call_ended(tx, context.subject, *parts.head(context))


def _came_back_before(tx: Transaction, context: Context, call: ToolCall, digest: str) -> bool:
    """Whether this call's end was told already: hooks may be installed twice."""
    row = tx.call(context.subject.session, session.call_key(call, digest)) if call.call_id else None
    return row is not None and row.state in ("finished", "failed")


def _is_refused(parts: Parts, context: Context, call: ToolCall, digest: str) -> bool:
    """Whether the gate has refused just this call, and nothing else since."""
    with parts.store.reading() as tx:
        row = tx.call(context.subject.session, call.call_id) if call.call_id else None
    return row is not None and row.state == "refused" and row.digest == digest and row.agent == context.subject.agent


def _addresses_in(event: ToolFinished, fresh: Callable[[], Analysis]) -> list[str]:
    """Whole addresses in a result that the agent could not shape, but for those that stand in the call itself."""
    if "://" not in event.text or fresh().echoes:
        return []
    from lockgate.resources import addresses

    own = json.dumps(dict(event.call.tool_input), ensure_ascii=False, default=str)
    mine = set(addresses.extract(own, 1000))
    return [address for address in addresses.extract(event.text, 2000) if address not in mine]
