"""Has a person asked by the client's own tool for questions, where its dialog about a call does not show all of that.

The dialogs of Claude Code about files show nothing that a hook says, and those about other calls have few lines for it.
The tool by which an agent asks its person shows a longer text, and the client tells a hook what was answered. So the
call is refused, and the agent is told to use that tool. The gate puts its own question in the place of whatever stands
there. After a yes the same call is let run once, when the agent makes it again.
"""

from __future__ import annotations

from collections.abc import Sequence

from lockgate.core.errors import ApprovalError
from lockgate.core.events import Answer, Context, ToolFinished
from lockgate.core.model import OBJECT, ToolCall, Verdict
from lockgate.core.questions import Objection
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.approvals import questions
from lockgate.gate.approvals.proof import is_as_asked
from lockgate.gate.approvals.questions import BY_TOOL, PAGES, PUT_BY
from lockgate.gate.messages import tool_dialog
from lockgate.gate.monitor import person
from lockgate.gate.monitor.attendance import LocatedPerson, PersonLocation, mark_question
from lockgate.gate.parts import Parts
from lockgate.store.audit import record

if TYPE_CHECKING:
    from lockgate.gate.monitor.decide import DecisionInput, Ruling
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import ApprovalRow

_RULE = "escape:question"
_SECONDS = 3600.0
"""How long the person has, and then the agent, who has to make the call again."""
_PERSON = "the client's window"
"""The person who answers there, as the audit names them."""
_WINDOW = "window"
"""The name under which a question says for how many rows and columns its text was made."""


# ---------------------------------------------------------------- the call that is held back
def has_yes(question: DecisionInput, ruling: Ruling) -> bool:
    """Whether a person has said yes to a call in this way, which rests on what it rested on, and was not made since.

    Args:
        question: The call.
        ruling: It asks.
    """
    subject = question.context.subject
    rows = [
        row
        for row in question.tx.approvals(session=subject.session, state="approved")
        if BY_TOOL in row.about and (row.agent, row.digest) == (subject.agent, question.digest)
    ]
    if not rows or not question.call.call_id:
        return False
    basis = person.basis_of(question, ruling)
    return any(row.basis == basis and not row.is_over(question.now) and is_as_asked(question.tx, row) for row in rows)


def offer(parts: Parts, question: DecisionInput, ruling: Ruling, because: str) -> Ruling | None:
    """Refuse a call until its person was asked by the tool; ``None`` where the tool cannot show all of it.

    Args:
        parts: What the gate is made of.
        question: The call.
        ruling: It asks.
        because: Why the client's dialog about the call does not do.
    """
    tx, context = question.tx, question.context
    window = parts.consultants.window(context)
    pages = _pages(question, ruling, window) if window else []
    if window is None or not pages:
        return None
    about = {**person.about(question, ruling), BY_TOOL: True, PAGES: pages, _WINDOW: list(window)}
    basis = person.basis_of(question, ruling)
    row = questions.ask(tx, context, question.call, question.digest, basis, about, question.now, _SECONDS)
    if row.asked_at == question.now:  # not one that was asked before
        tx.append_audit(question.now, record.person_asked(context, row))
    if BY_TOOL not in row.about:  # it was put elsewhere, and can be answered there
        return None
    decision = ruling.decision._replace(verdict=Verdict.DENY)
    place = LocatedPerson(PersonLocation.TOOL, because)
    return ruling._replace(decision=decision, new_input=None, place=place, approval=row.approval)


def _pages(question: DecisionInput, ruling: Ruling, window: tuple[int, int]) -> list[str]:
    call, decision = question.mask.call(question.call), question.mask.decision(ruling.decision)
    return tool_dialog.question_pages(call, decision, question.taints, ruling.reached, window)


# ---------------------------------------------------------------- the tool that asks
def objections(parts: Parts, tx: Transaction, context: Context, call: ToolCall, now: float) -> Sequence[Objection]:
    """What speaks against a question that the agent puts by the tool in the gate's name; nothing for its own ones."""
    approval = tool_dialog.find_request(call.tool_input)
    if not approval:
        return ()
    because = _against(parts, tx, context, call, approval, now)
    return (Objection(_RULE, because),) if because else ()


def _against(parts: Parts, tx: Transaction, context: Context, call: ToolCall, approval: str, now: float) -> str:
    if dict(call.tool_input) != tool_dialog.request(approval):
        return f"a question of Lockgate is put with exactly this input: {tool_dialog.request_text(approval)}"
    row = _open_row(tx, context, approval, now)
    if row is None:
        return "no call waits for this question; make the call itself again"
    if not _fits(row, parts.consultants.window(context)):
        return "the client's window has become smaller; make the call itself again"
    unattended = parts.consultants.unattended(context, call)
    return f"nobody is asked in the client's window: {unattended}" if unattended else ""


def _open_row(tx: Transaction, context: Context, approval: str, now: float) -> ApprovalRow | None:
    row = tx.approval(approval)
    if row is None or (row.session, row.agent) != context.subject or row.state != "pending":
        return None
    return row if PAGES in row.about and not row.is_over(now) else None


def _fits(row: ApprovalRow, window: tuple[int, int] | None) -> bool:
    made_for = row.about.get(_WINDOW)
    if window is None or not isinstance(made_for, list):
        return False
    return all(now >= then for now, then in zip(window, made_for, strict=True))


def put(tx: Transaction, context: Context, call: ToolCall, answer: Answer, now: float) -> Answer:
    """Put the gate's question in the place of the agent's, where that is let run and names one."""
    approval = tool_dialog.find_request(call.tool_input)
    row = _open_row(tx, context, approval, now) if approval and answer.verdict is Verdict.ALLOW else None
    if row is None:
        return answer
    tx.put_approval(mark_question(row, {PUT_BY: call.call_id}))
    return answer._replace(new_input=tool_dialog.question_input(row.about[PAGES], row.approval))


# ---------------------------------------------------------------- what the person said
def original(call: ToolCall) -> ToolCall:
    """The agent's own call of the tool, where the gate has put its question in the place of that."""
    approval = tool_dialog.find_shown(call.tool_input)
    return call._replace(tool_input=tool_dialog.request(approval)) if approval else call


def note_answer(parts: Parts, tx: Transaction, event: ToolFinished, now: float) -> Answer:
    """The tool has an answer: it counts where the person was shown exactly the gate's question, and nobody else.

    Returns:
        What the agent is told to do then.
    """
    context, call = event.context, event.call
    row = _open_row(tx, context, tool_dialog.find_shown(call.tool_input), now)
    if row is None or not call.call_id or row.about.get(PUT_BY) != call.call_id:
        return Answer()
    shown = tool_dialog.question_input(row.about[PAGES], row.approval)
    said = tool_dialog.read_answer(shown, call.tool_input, event.result if isinstance(event.result, OBJECT) else {})
    # What reads the settings again finds a hook that came while the person was reading.
    if said is None or parts.consultants.unattended(context, call):
        return Answer()
    try:
        questions.decide(tx, row.approval, approve=said, by=_PERSON, reason="", now=now, client=context.client)
    except ApprovalError:
        return Answer()
    return Answer(context=tool_dialog.GO_ON if said else "")
