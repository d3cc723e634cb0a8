"""A tool call is about to run: what the gate decides, keeps and says."""

from __future__ import annotations

from lockgate import session
from lockgate.analysis.patterns.fields import fields_of
from lockgate.analysis.patterns.model import GuardrailResult
from lockgate.audit import record
from lockgate.events import Answer, Context, ToolRequested
from lockgate.gate.answering import answer
from lockgate.gate.deciding import Question, Ruling, first_time, message_flows, rule
from lockgate.gate.findings import sources
from lockgate.gate.masking import Mask
from lockgate.gate.parts import Parts, call_digest
from lockgate.model import Subject, Taint, TaintState, ToolCall, Verdict
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction


def requested(parts: Parts, event: ToolRequested) -> Answer:
    """Decide on a call."""
    context, call = event.context, event.call
    configuration = parts.configure(context)
    analyses = parts.analyse(context, call, configuration)
    digest = call_digest(call)
    found, mask = _found_in(parts, context, call)
    with parts.store.transaction() as tx:
        now = parts.clock()
        _enter(parts, tx, context, now)
        # Whoever writes a secret into a call knows it, whatever becomes of the call.
        session.hold_secrets(tx, context.subject, call, sources(found, call.tool), now)
        taints = _taints(tx, context.subject, call)
        question = Question(tx, context, call, digest, taints, configuration, parts.contain, now, found, mask)
        ruling = rule(question, analyses, parts.store.key, askable=event.askable)
        if ruling.decision.verdict is not Verdict.DENY:
            asked = ruling.decision.verdict is Verdict.ASK
            told = mask.analysis(ruling.analysis)
            session.expect(tx, context.subject, mask.call(call), told, digest, now, asked=asked)
            message_flows(question)
        if first_time(question, ruling.decision.verdict):
            _record(question, ruling)
    return answer(question, ruling)


def _found_in(parts: Parts, context: Context, call: ToolCall) -> tuple[GuardrailResult, Mask]:
    """What the pattern library says to a call, and what takes it out of all that is told of the call."""
    found = parts.guard.check_input(context, call)
    if any("[REDACTED:" in field.text for field in fields_of(call.tool_input)):
        from lockgate.gate.marks import with_marks

        found = with_marks(found, call)
    mask = Mask.of(found, call)
    return mask.result(found), mask


def _enter(parts: Parts, tx: Transaction, context: Context, now: float) -> None:
    parts.enter(tx, context, now)
    if context.subject.agent:
        session.begin_agent(tx, context, now)  # one that has ended and calls a tool goes on
    if session.fork_is_open(tx, context.subject.session):
        session.settle_fork(tx, context.subject.session, parts.parents(context), now)


def _taints(tx: Transaction, subject: Subject, call: ToolCall) -> list[Taint]:
    """A subject's taints, without what this very call is expected to bring: hooks may be installed twice."""
    taints = session.provenance(tx, subject)
    if not call.call_id:
        return taints
    pending = TaintState.PENDING
    return [taint for taint in taints if not (taint.call_id == call.call_id and taint.state is pending)]


def _record(question: Question, ruling: Ruling) -> None:
    tx, context, mask = question.tx, question.context, question.mask
    call = mask.call(question.call)
    if ruling.decision.verdict is Verdict.DENY:
        from lockgate.messages import recorded_text

        tx.block(context.subject.session, context.subject.agent, recorded_text(call), question.now)
    body = record.decided(
        context,
        call,
        question.digest,
        question.taints,
        mask.analysis(ruling.analysis),
        mask.decision(ruling.decision),
        ruling.shadow and mask.decision(ruling.shadow),
        question.found,
    )
    tx.append_audit(question.now, body)
