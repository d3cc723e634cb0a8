"""Handles a question in the client's own dialog, or elsewhere, where a table asks a proven person.

The client tells nobody what was answered: yes is what comes back, no is what does not. So a question is kept until the
call comes back, or until its agent is told the results of all that it has called.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.core.events import Answer, Context
from lockgate.core.model import Command, Label, Subject, Taint, ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate import session
from lockgate.gate.approvals import questions
from lockgate.gate.approvals.proof import record_yes
from lockgate.gate.approvals.questions import BY_TOOL, IN_DIALOG, PUT_BY, REACHED
from lockgate.gate.monitor import attendance, person
from lockgate.gate.monitor.answer import question_text
from lockgate.gate.monitor.attendance import CHANGED, LocatedPerson, PersonLocation, mark_question
from lockgate.gate.monitor.decide import DecisionInput, Ruling
from lockgate.gate.parts import Parts, call_digest
from lockgate.store.audit import record

if TYPE_CHECKING:
    from lockgate.core.events import ToolRequested
    from lockgate.resources.host_view import HostView
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import ApprovalRow

_DAYS = 7 * 86400.0
"""Seconds that a question in a dialog is kept at most: the client sets it no limit."""
_CLIENT = "the client's window"
"""The person in that dialog, as the audit names them."""
_FOLDER = "folder"
"""The name under which a question says the working folder of its call: the result's is the one after it."""
_UNKNOWN_ID = "x" * 10
_SHORTER = "make it shorter, or send in a call of its own; or the person runs `lockgate approvals watch` meanwhile"


def prepare_question(parts: Parts, question: DecisionInput, ruling: Ruling, event: ToolRequested) -> Ruling:
    """Decide where a question that takes a person is put: in the client's dialog, at another window, or nowhere.

    Args:
        parts: What the gate is made of.
        question: The call.
        ruling: It asks, and says where the person is.
        event: The call as it came.
    """
    tx, context = question.tx, question.context
    if parts.consultants.asking_tool:
        from lockgate.gate.monitor.question_by_tool import has_yes

        if has_yes(question, ruling):
            return ruling._replace(place=LocatedPerson(PersonLocation.ELSEWHERE), asks_elsewhere=True)
    approvers = question.configuration.options.approvers
    tired = attendance.ends_asking(tx, context.subject.session, question.noes, ruling.analysis.effects, approvers)
    if tired:
        because = f"{tired}; nobody is asked about such a call before the person's next prompt"
        return _leave_unasked(ruling, because)
    place = ruling.place
    if place is None or place.is_elsewhere:
        return ruling._replace(asks_elsewhere=True)
    window = parts.consultants.window(context)
    ruling = ruling._replace(reached=_find_addresses(parts, question, ruling), window=window)
    if place.where is PersonLocation.TOOL:
        return _offer_tool(parts, question, ruling, place.because)
    if question_text(question, ruling._replace(approval=_UNKNOWN_ID)):
        return ruling
    because = "the whole call does not fit into the client's window"
    if parts.consultants.is_heard(question.configuration, tx):
        return ruling._replace(place=LocatedPerson(PersonLocation.ELSEWHERE, because), asks_elsewhere=True)
    if attendance.can_ask_by_tool(parts.consultants, event, tx):
        return _offer_tool(parts, question, ruling, because)
    return _leave_unasked(ruling, f"{because} ({_SHORTER})")


def _offer_tool(parts: Parts, question: DecisionInput, ruling: Ruling, because: str) -> Ruling:
    """Have the person asked by the client's tool for questions, or nowhere."""
    from lockgate.gate.monitor.question_by_tool import offer

    offered = offer(parts, question, ruling, because)
    if offered is not None:
        return offered
    return _leave_unasked(ruling, f"{because}, and a question that shows the whole call does not fit ({_SHORTER})")


def _leave_unasked(ruling: Ruling, because: str) -> Ruling:
    decision = ruling.decision._replace(verdict=Verdict.DENY)
    return ruling._replace(decision=decision, new_input=None, place=LocatedPerson(PersonLocation.NOBODY, because))


def put(question: DecisionInput, ruling: Ruling) -> Ruling:
    """Keep a question that the client is about to put; the ruling with its id."""
    tx, call = question.tx, question.call
    facts = {IN_DIALOG: True, _FOLDER: call.cwd, REACHED: list(ruling.reached)}
    about = {**person.about(question, ruling), **facts}
    basis = person.basis_of(question, ruling)
    row = questions.ask(tx, question.context, call, question.digest, basis, about, question.now, _DAYS)
    if row.asked_at == question.now:  # not the one that another hook of the same call has kept
        tx.append_audit(question.now, record.person_asked(question.context, row))
    return ruling._replace(approval=row.approval)


# ---------------------------------------------------------------- where a push goes
def _find_addresses(parts: Parts, question: DecisionInput, ruling: Ruling) -> tuple[str, ...]:
    """The addresses behind the names of remotes that the call pushes to, as far as the repository tells."""
    commands = [each for each in ruling.analysis.commands if "push" in each.words and each.words[0].endswith("git")]
    if not commands:
        return ()
    around = parts.host_view(question.context, question.configuration.policies[0].rules)
    return tuple(dict.fromkeys(url for command in commands for url in _push_addresses(command, around)))


def _push_addresses(command: Command, around: HostView) -> Sequence[str]:
    behind = command.words[command.words.index("push") + 1 :]
    remote = next((word for word in behind if not word.startswith("-")), "")
    if len(command.folders) != 1 or not command.folders[0] or around.repository is None:
        return ()
    repository = around.repository(command.folders[0])
    return [] if repository is None else [url for url in repository.pushes_to(remote) or () if url != remote]


# ---------------------------------------------------------------- what came of it
def came_back(tx: Transaction, context: Context, call: ToolCall, now: float) -> Answer:
    """A call has a result, or has failed: it was answered with yes, if it is the one that was asked about.

    Returns:
        What agent and person are told, where another call came back.
    """
    row = _open_question(tx, context.subject, call)
    if row is None:
        return Answer()
    asked = row.about.get(_FOLDER)
    if call_digest(call._replace(cwd=asked if isinstance(asked, str) else call.cwd)) == row.digest:
        _record_answer(tx, context, row._replace(state="used", decided_at=now, decided_by=_CLIENT))
        return Answer()
    from lockgate.gate.messages import dialog

    told = "its input was changed after it was asked about"
    changed = row._replace(state="changed", decided_at=now, decided_by=_CLIENT, reason=told)
    _record_answer(tx, context, mark_question(changed, {CHANGED: True}))
    source = f"{call.tool}, whose input somebody has changed"
    tx.add_taints(context.subject, [Taint(Label.UNTRUSTED, source, call.tool, call.call_id, now)])
    text = dialog.note_of_changed_call(call, row.approval)
    return Answer(context=text, to_person=text)


def _open_question(tx: Transaction, subject: Subject, call: ToolCall) -> ApprovalRow | None:
    rows = [*tx.approvals(session=subject.session, state="pending"), *tx.noes(subject.session)]
    # A no that was only inferred gives way to what has come back.
    mine = [row for row in rows if row.call_id == call.call_id and attendance.is_in_dialog(row)]
    return next((row for row in mine if row.state == "pending" or row.decided_by == _CLIENT), None)


def close_unanswered(tx: Transaction, context: Context, now: float) -> None:
    """The agent has got all results: a call that was asked about and has none was answered with no."""
    from lockgate.gate.monitor import file_labels, kept_files

    subject = context.subject
    for row in tx.approvals(session=subject.session, state="pending"):
        if row.agent == subject.agent and (attendance.is_in_dialog(row) or PUT_BY in row.about):
            _record_answer(tx, context, row._replace(state="denied", decided_at=now, decided_by=_CLIENT))
            kept_files.take_back(tx, subject.session, row.call_id)
            file_labels.take_back(tx, subject.session, row.call_id)
            session.settle_refusal(
                tx, subject, ToolCall(str(row.about.get("tool", "")), {}, "", row.call_id), digest=""
            )


def _record_answer(tx: Transaction, context: Context, row: ApprovalRow) -> None:
    body = record.answer_record(context, row)
    if row.state == "used":
        row = record_yes(tx, row, body)
    else:
        tx.append_audit(row.decided_at, body)
    tx.put_approval(questions.without_call(row) if row.state != "denied" else row)


def note_prompt(tx: Transaction, context: Context, now: float) -> str:
    """The person has said something else: noes before it do not keep them from being asked about others any more.

    Returns:
        What they have said with a no at another window, and the agent has not read yet; empty where that is nothing.
    """
    from lockgate.gate.messages import dialog

    said = []
    for row in tx.approvals(session=context.subject.session, state="pending"):
        if BY_TOOL in row.about and PUT_BY not in row.about:  # the agent has not had it put
            questions.lapse(tx, row.approval, reason="", now=now)
    for row in tx.approvals(session=context.subject.session, state="denied"):
        if attendance.HEARD not in row.about:
            tx.put_approval(mark_question(row, {attendance.HEARD: now}))
            said += [dialog.words(row)] if attendance.is_in_dialog(row) and row.reason else []
    return "\n".join(said)


def settle_all(parts: Parts, context: Context) -> Answer:
    """A batch of an agent's calls, or its turn, is over."""
    with parts.store.reading() as tx:
        waiting = tx.approvals(session=context.subject.session, state="pending")
    if waiting:  # as seldom: after nearly every batch there is nothing to write
        with parts.store.transaction() as tx:
            close_unanswered(tx, context, parts.clock())
    return Answer()
