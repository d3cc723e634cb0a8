"""Handles a call that came back, failed or was refused: its labels, and what the model reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence

from lockgate.core.events import Answer, Context, ToolFailed, ToolFinished, ToolRefused
from lockgate.core.model import Analysis, Label, ToolCall, Verdict
from lockgate.core.questions import ResultQuestion
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate import session
from lockgate.gate.findings import UNSEEN_RULE, is_enforced, redacts, sources
from lockgate.gate.monitor.answer import failure_answer, result_answer
from lockgate.gate.monitor.screening import Screening, look, screen
from lockgate.gate.parts import Parts, call_digest, merge
from lockgate.gate.session.calls import INSIDE
from lockgate.store.audit import record
from lockgate.store.files import Sets

if TYPE_CHECKING:
    from typing import Any

    from lockgate.configuration.load import Configuration
    from lockgate.core.questions import Deliberation, Need
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import CallRow


class _ReadResult(Record):
    """A result, with what was found in it before the transaction."""

    event: ToolFinished
    screening: Screening
    held: tuple[str, ...]
    """Where the secrets in it come from."""
    addresses: Sequence[str]
    """Whole addresses in it that the agent could not shape."""
    is_vouched: bool
    """Whether all of it is words of people whom a person trusts."""
    whose: Mapping[str, Any]
    """What the audit has of that."""

    @property
    def goes_on(self) -> bool:
        """Whether it tells of an agent whose own end comes later."""
        return bool(self.event.agent and self.event.background)

    @property
    def is_partial(self) -> bool:
        """Whether more of it comes later, or lies in a file."""
        return self.event.background or bool(self.event.kept)

    @property
    def may_be_kept(self) -> bool:
        """Whether its beginning may be kept: it holds no secrets, and the model reads it as it is."""
        return not (self.held or self.screening.withheld or self.screening.texts) and _is_all_text(self.event)


def handle_result(parts: Parts, event: ToolFinished) -> Deliberation:
    """A result is about to enter the subject's context."""
    context, call = event.context, _original(parts, event.context, event.call)
    digest = call_digest(call)
    # Read before the transaction, which it would otherwise be inside of.
    configuration = parts.configure(context)
    fresh = _analyse_once(parts, context, call, configuration)
    addresses = _addresses_in(event, fresh)
    screening = yield from _screen(parts, configuration, event, call)
    held = _secrets_in(parts, context, call, screening)
    is_vouched, whose = False, {}
    if configuration.options.trust is not None and parts.consultants.authors is not None:
        from lockgate.gate.monitor.result_authors import vouch

        vouching = yield from vouch(parts, configuration, event, call, fresh)
        is_vouched, whose = vouching.is_theirs, vouching.record
    result = _ReadResult(event, screening, held, addresses, is_vouched, whose)
    with parts.store.transaction() as tx:
        end = _CallEnd(parts, tx, context, call, digest, fresh)
        told = end.settle_again(result) if end.was_told_before() else end.settle(result)
    return _join_answers(told, result_answer(call, screening))


def _screen(
    parts: Parts, configuration: Configuration, event: ToolFinished, call: ToolCall
) -> Generator[Need, Any, Screening]:
    """Look for what the model must not read, and ask the plugins whether they withhold the result."""
    screening = screen(parts.guard, parts.write_kept, event, enforced=redacts(configuration))
    sets = parts.consultants.rule_sets(configuration)
    if sets.plugins and not screening.withheld:
        objections = yield ResultQuestion(event.context, call, event.text, sets)
        if objections and is_enforced(configuration):
            return screening._replace(withheld=f"{objections[0].reason} [{objections[0].rule}]")
    return screening


def handle_failure(parts: Parts, event: ToolFailed) -> Answer:
    """An error is about to enter the subject's context. The client lets nobody change it."""
    context, call = event.context, _original(parts, event.context, event.call)
    digest = call_digest(call)
    if event.or_refused and _is_refused(parts, context, call, digest):
        return handle_refusal(parts, ToolRefused(context, event.call, event.error))
    fresh = _analyse_once(parts, context, call, parts.configure(context))
    screening = look(parts.guard, context, call, "error", event.error)
    held = _secrets_in(parts, context, call, screening)
    with parts.store.transaction() as tx:
        end = _CallEnd(parts, tx, context, call, digest, fresh)
        settle = end.settle_failure_again if end.was_told_before() else end.settle_failure
        told = settle(event.error, screening, held)
    return _join_answers(told, failure_answer(call, screening))


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


def _join_answers(told: Answer, said: Answer) -> Answer:
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


class _CallEnd:
    """The end of a call, within the transaction that records it."""

    def __init__(
        self,
        parts: Parts,
        tx: Transaction,
        context: Context,
        call: ToolCall,
        digest: str,
        fresh: Callable[[], Analysis],
    ) -> None:
        self._parts, self._tx, self._context, self._call = parts, tx, context, call
        self._digest, self._fresh = digest, fresh
        self._now = parts.clock()
        parts.enter(tx, context, self._now)

    def was_told_before(self) -> bool:
        """Whether this end was told already: hooks may be installed twice."""
        row = self._row() if self._call.call_id else None
        return row is not None and row.state in ("finished", "failed")

    def settle(self, result: _ReadResult) -> Answer:
        """Settle the call by its result. Gives what is told of the question that it ends."""
        tx, event, subject = self._tx, result.event, self._context.subject
        if event.agent:
            session.note_launch(tx, subject.session, self._key(), event.agent)
        outcome = None if result.goes_on else self._settle_labels(result)
        self._look_at_files(done=True)
        self._remember_passages(outcome, event.text)
        self._look_at_page(event.text)
        if not event.background:
            self._look_at_head()
        session.remember(tx, self._parts.store.fleet_key, subject.session, result.addresses, human=False)
        session.hold_secrets(tx, subject, self._call, result.held, self._now)
        told = self._settle_question()
        if self._call.tool == self._parts.consultants.asking_tool:
            from lockgate.gate.monitor import question_by_tool

            told = question_by_tool.note_answer(self._parts, tx, event, self._now)
        self._record("finished", outcome, {**result.screening.record, **result.whose})
        return told

    def _settle_labels(self, result: _ReadResult) -> session.ResultOutcome:
        return session.settle_result(
            self._tx,
            self._context.subject,
            self._call,
            result.event.text,
            self._now,
            digest=self._digest,
            fresh=self._fresh,
            background=result.is_partial,
            keep=result.may_be_kept,
            vouched=result.is_vouched,
        )

    def settle_again(self, result: _ReadResult) -> Answer:
        """Settle the call by another result than the one that was told before."""
        again = None
        if not result.goes_on:
            again = session.settle_again(
                self._tx,
                self._context.subject,
                self._call,
                result.event.text,
                self._now,
                digest=self._digest,
                fresh=self._fresh,
                background=result.is_partial,
                vouched=result.is_vouched,
            )
        self._look_at_page(result.event.text)
        session.hold_secrets(self._tx, self._context.subject, self._call, result.held, self._now)
        if again is not None:
            self._record("finished", again, result.screening.record)
        return Answer()

    def settle_failure(self, error: str, screening: Screening, held: tuple[str, ...]) -> Answer:
        """Settle a call that has failed. Gives what is told of the question that it ends."""
        tx, subject = self._tx, self._context.subject
        told = self._settle_question()
        outcome = session.settle_failure(
            tx, subject, self._call, error, self._now, digest=self._digest, fresh=self._fresh, keep=not held
        )
        session.hold_secrets(tx, subject, self._call, held, self._now)
        self._remember_passages(outcome, error)
        self._look_at_files(done=False)
        self._look_at_page("")
        self._look_at_head()
        self._record("failed", outcome, screening.record)
        return told

    def settle_failure_again(self, error: str, screening: Screening, held: tuple[str, ...]) -> Answer:
        """Settle a call by another error than the end that was told before."""
        tx, subject = self._tx, self._context.subject
        again = session.settle_again(
            tx, subject, self._call, error, self._now, digest=self._digest, fresh=self._fresh, state="failed"
        )
        session.hold_secrets(tx, subject, self._call, held, self._now)
        if again is not None:
            self._record("failed", again, screening.record)
        return Answer()

    def _record(self, state: str, outcome: session.ResultOutcome | None, facts: Mapping[str, Any]) -> None:
        came_back = record.came_back(self._context, self._call, self._digest, state, outcome, facts)
        self._tx.append_audit(self._now, came_back)

    def _key(self) -> str:
        return session.call_key(self._call, self._digest)

    def _row(self) -> CallRow | None:
        return self._tx.call(self._context.subject.session, self._key())

    def _settle_question(self) -> Answer:
        """What agent and person are told of the answer to a question in the client's dialog, where there was one."""
        call = self._call
        known = self._tx.call(self._context.subject.session, call.call_id) if call.call_id else None
        if known is None or known.facts.get("verdict") != Verdict.ASK.word:
            return Answer()
        from lockgate.gate.monitor import dialog

        return dialog.came_back(self._tx, self._context, call, self._now)

    def _look_at_files(self, *, done: bool) -> None:
        """Look at the files in which the call has left what later calls must know of."""
        row, read_file = self._row(), self._parts.read_file
        if row is not None and done and row.digest == self._digest and row.facts.get("deployments"):
            from lockgate.gate.monitor import deployments

            keep = deployments.remember if row.facts.get(deployments.PROVEN) else deployments.note
            keep(self._tx, row.facts["deployments"], self._now)
        if row is not None and (row.facts.get("kept_files") or row.facts.get("cleared_files")):
            from lockgate.gate.monitor import kept_files

            kept_files.settle(self._tx, row.facts, read_file, self._now, done=done)
        if row is not None and row.facts.get("labelled_files"):
            from lockgate.gate.monitor import file_labels

            file_labels.settle(self._tx, self._call, row.facts, read_file, done=done)

    def _remember_passages(self, outcome: session.ResultOutcome | None, text: str) -> None:
        """Remember what a stranger wrote, so that it is known again in the files that the agent writes."""
        if outcome is None or Label.UNTRUSTED not in outcome.labels or not text:
            return
        row = self._row()
        if row is not None and row.facts.get(INSIDE):
            return
        from lockgate.gate.monitor import file_labels

        file_labels.remember_read(self._tx, self._context.subject.session, text, self._now)

    def _look_at_page(self, text: str) -> None:
        """Look at which page a browser has open, as the result of one of its tools says."""
        if not self._call.tool.startswith("mcp__"):
            return
        from lockgate.gate.monitor.open_pages import came_back

        came_back(self._tx, self._context.subject.session, self._call, self._key(), text, self._now)

    def _look_at_head(self) -> None:
        """Look at what is checked out now, where packages are kept that an untrusted session has installed."""
        if self._tx.has_in_set(Sets.PACKAGES) and self._fresh().programs:
            from lockgate.gate.session import packages

            packages.call_ended(self._tx, self._context.subject, *self._parts.head(self._context))


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
