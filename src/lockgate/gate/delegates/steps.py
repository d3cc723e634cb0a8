"""Delegates' briefs: recognises calls of a delegate that are steps of a brief that a person has read."""

from __future__ import annotations

from lockgate.core.model import EffectKind, Label, LabelState, Subject, Tier, ToolCall, Verdict
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.delegates import briefs
from lockgate.gate.session.calls import LOOKS, are_kept, list_decisions
from lockgate.policy.decide import possible
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from lockgate.gate.monitor.decide import DecisionInput, Ruling
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import CallRow

STEP = "step"
"""The fact of a call that is a step of the brief under which it was made."""
FOLDER = "folder"
"""The fact of a call that asks for a delegate: the digest of the folder that its brief is meant for."""
_FIELDS = frozenset({"command", "description", "timeout"})
"""The fields of a step. Others, as the one that leaves the client's sandbox, nobody has read."""
_SENDS = frozenset({EffectKind.EGRESS, EffectKind.INGEST, EffectKind.FETCH})
"""What a step may do after its delegate has read something: all of it stands in its words, and runs nobody's code."""
_ROWS = frozenset({"egress", "fetch"})
"""Rows of a table that may stand against it. Not those of secrets."""


def folder_of(call: ToolCall) -> str:
    """The digest of the folder in which a call is made."""
    return sha256(call.cwd.encode("utf-8", "surrogatepass")).hexdigest()


def step_of(tx: Transaction, subject: Subject, call: ToolCall) -> str:
    """The step of a brief that a call is, word by word, and that its delegate has not taken yet; else empty.

    The same words mean another repository in another folder. So it must be the one in which the brief was put before
    the person.
    """
    brief = briefs.find_running(tx, subject)
    if brief is None or call.tool != "Bash" or not _FIELDS.issuperset(call.tool_input):
        return ""
    asked = tx.call(subject.session, brief.call_id)
    if asked is None or not call.cwd or asked.facts.get(FOLDER) != folder_of(call):
        return ""
    command = str(call.tool_input.get("command", "")).strip()
    allowed = briefs.steps(brief.text).count(command)
    if not allowed:
        return ""
    taken = [row for row in _calls_of(tx, subject, call) if row.facts.get(STEP) == command]
    are_all_known = len(taken) < allowed and briefs.is_audit_whole_since(tx, brief)
    are_all_known = are_all_known and are_kept(tx, subject, list_decisions(tx, subject.session))
    return command if are_all_known else ""


def let_run(question: DecisionInput, ruling: Ruling) -> Ruling:
    """Allow a step that a person has read, where only what an earlier step has printed stands against it.

    That may hold a stranger's words, and they can lead the delegate. They change nothing of a step that is written
    down; but they could change what it sends. So since it has read them, the delegate must have done nothing but its
    steps, and looked. What a session with clean labels may not do, no step may.
    """
    decision = ruling.decision
    if decision.column is not LabelState.UNTRUSTED or decision.tier is not Tier.TABLE:
        return ruling
    kinds = {effect.kind for effect in ruling.analysis.effects}
    rows = {reason.row for reason in decision.reasons}
    profiles = [policy.profile for policy in question.configuration.policies]
    clean = all(
        possible(profile.cell(row, LabelState.CLEAN), frozenset()) is Verdict.ALLOW
        for profile in profiles
        for row in rows
    )
    if not clean or not kinds <= _SENDS or not rows <= _ROWS or not _has_only_steps_since(question):
        return ruling
    allowed = decision._replace(verdict=Verdict.ALLOW, tier=Tier.PERSON)
    return ruling._replace(decision=allowed, new_input=None, asks_elsewhere=False)


def _has_only_steps_since(question: DecisionInput) -> bool:
    began = min((taint.at for taint in question.taints if taint.label is Label.UNTRUSTED), default=None)
    calls = _calls_of(question.tx, question.context.subject, question.call)
    return began is not None and all(row.facts.get(LOOKS) or row.facts.get(STEP) for row in calls if row.at >= began)


def _calls_of(tx: Transaction, subject: Subject, call: ToolCall) -> list[CallRow]:
    """The other calls of a subject that ran, or may."""
    rows = tx.calls(subject.session)
    return [
        row for row in rows if row.agent == subject.agent and row.state != "refused" and row.call_id != call.call_id
    ]
