"""Decides on a tool call that is about to run.

A decision is one transaction. Where it needs a model's or a person's word, the transaction ends, the word is fetched,
and another one decides anew with it: nothing is locked while somebody thinks, and what has changed since counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.configuration.load import Configuration
from lockgate.core.errors import LockgateError
from lockgate.core.events import Answer, Context, ToolRequested
from lockgate.core.model import Analysis, EffectKind, Label, Subject, Taint, TaintState, Tier, ToolCall, Verdict
from lockgate.core.questions import JudgeQuestion, Objection, Opinion, PersonQuestion, RulesQuestion, TurnQuestion
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate import session
from lockgate.gate.findings import sources
from lockgate.gate.monitor.answer import answer
from lockgate.gate.monitor.decide import MESSAGE_TOOL, DecisionInput, Ruling, recipient, rule
from lockgate.gate.monitor.masking import Mask
from lockgate.gate.parts import Parts, canonical, digest_of, merge
from lockgate.gate.session.calls import INSIDE, LOOKS
from lockgate.patterns.model import GuardrailResult
from lockgate.patterns.redaction.credentials import redact
from lockgate.store.audit import record
from lockgate.store.files import Sets
from lockgate.store.rows import CallRow

if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from lockgate.containment.registry_proxy.lookup import Wanted
    from lockgate.core.questions import Deliberation, Need
    from lockgate.gate.monitor.attendance import LocatedPerson
    from lockgate.gate.parts import Guard
    from lockgate.store.protocol import Transaction

_KNOWN = "known_secrets/"
_OUTSIDE = frozenset({EffectKind.EGRESS, EffectKind.FETCH, EffectKind.INGEST})
"""How the rules of this machine's own secrets begin."""
_ROUNDS = 5
"""How often a decision may be taken anew because the session changed meanwhile."""


class _Case(Record):
    """One call, and everything about it that no transaction changes."""

    event: ToolRequested
    configuration: Configuration
    analyses: Sequence[Analysis]
    digest: str
    found: GuardrailResult
    mask: Mask
    objections: Sequence[Objection]
    began: float
    """By the timer of the gate's parts."""
    steps: Mapping[str, float]
    """Milliseconds that each step before the transaction took."""
    unasked: bool = False
    """Whether it is made in a CI job that was set up: nobody is asked then, here or elsewhere."""
    room: str = ""
    """The room that the agent's own text names, where it is one that runs a command contained."""
    wanted: Wanted | None = None
    """What the installs in the call may ask package indexes for; ``None`` where there are none that are covered."""


class _Answers(Record):
    """The answers of a judge and a person so far."""

    opinion: Opinion | None = None
    labels: frozenset[Label] = frozenset()
    """The labels that the judge's opinion is about."""
    approval: str = ""
    turn: frozenset[str] | None = None
    """The calls that were made together with this one, as far as they matter; ``None``: nobody asked."""
    waited: float = 0.0
    """Seconds that a person took."""


def handle_request(parts: Parts, event: ToolRequested) -> Deliberation:
    """Decide on a call.

    An agent may make a call as an earlier answer has rewritten it: Claude Code 2.1.329 wants that in its mode ``auto``.
    It is decided by what it runs contained.
    """
    made, event = event.call, event._replace(call=parts.original(event.context, event.call))
    room = "" if event.call is made else _room_in(made)
    case = (yield from _case(parts, event))._replace(room=room)
    answers = _Answers()
    for _ in range(_ROUNDS):
        outcome = _decide(parts, case, answers)
        if isinstance(outcome, Answer):
            return outcome
        asked = parts.timer()
        said = yield outcome
        if isinstance(outcome, JudgeQuestion):
            answers = answers._replace(opinion=said, labels=outcome.labels)
        elif isinstance(outcome, TurnQuestion):
            answers = answers._replace(turn=said)
        else:
            # A person takes their time: files, labels and configuration may be others by now.
            answers = answers._replace(approval=outcome.approval, waited=answers.waited + parts.timer() - asked)
            case = (yield from _case(parts, event))._replace(began=case.began, room=room)
    raise LockgateError("the session changed each time this call was about to be decided; try again")


def _room_in(call: ToolCall) -> str:
    from lockgate.gate.monitor import rooms

    return rooms.find_room_name(call)


def _case(parts: Parts, event: ToolRequested) -> Generator[Need, Any, _Case]:
    """Everything that is known before a transaction."""
    began = parts.timer()
    context, call = event.context, event.call
    configuration = parts.configure(context)
    configured = parts.timer()
    analyses, wanted = parts.installs(context, parts.analyse(context, call, configuration, earlier=True))
    analysed = parts.timer()
    exact = canonical(call)
    found, mask = find_matches(parts.guard, context, call, exact)
    screened = parts.timer()
    steps = {"configuration": configured - began, "analysis": analysed - configured, "patterns": screened - analysed}
    objections: Sequence[Objection] = ()
    if parts.consultants.has_rules(configuration):
        objections = yield RulesQuestion(context, call, merge(analyses), parts.consultants.rule_sets(configuration))
        steps["rules"] = parts.timer() - screened
    return _Case(event, configuration, analyses, digest_of(exact), found, mask, objections, began, steps, wanted=wanted)


def _take_trial(tx: Transaction, name: str, now: float) -> bool:
    """Use up the announcement of a call of the doctor; whether there is one. Else an agent makes the call."""
    if not name.startswith(session.TRIAL):
        return False
    from lockgate.gate.session import trials

    return trials.take_trial(tx, name, now)


def _decide(parts: Parts, case: _Case, answers: _Answers) -> Answer | JudgeQuestion | PersonQuestion | TurnQuestion:
    context, call = case.event.context, case.event.call
    entered = parts.timer()
    with parts.store.transaction() as tx:
        now = parts.clock()
        is_trial = _take_trial(tx, context.subject.session, now)
        if not is_trial:
            _enter(parts, tx, context, now)
        case = _with_job(tx, case, now)
        # Whoever writes a secret into a call knows it, whatever becomes of the call.
        session.hold_secrets(tx, context.subject, call, sources(case.found, call.tool), now)
        question = _question(parts, case, answers, tx, now)
        step = _step(question)
        outcome = _settle(parts, case, answers, question, step)
        if not isinstance(outcome, Ruling):
            return outcome
        ruling = outcome if is_trial else _keep_question(question, outcome)
        # Nothing comes of a call that its model has to make anew.
        made_anew = ruling.decision.verdict is Verdict.CONTAIN and not (case.event.rewritable or case.room)
        is_refused = ruling.decision.verdict is Verdict.DENY or made_anew
        is_news = is_trial or _note_verdict(question, ruling.decision.verdict, is_refused=is_refused)
        if not is_refused:
            _note_run(parts, case, answers, question, ruling, step)
        if is_news:
            ended = parts.timer()
            steps = {**case.steps, "transaction": ended - entered, "person": answers.waited}
            _record(question, ruling, _make_timing(ended - case.began, steps, parts.trace()), trial=is_trial)
        said = answer(question, ruling)
        if call.tool == parts.consultants.asking_tool:
            from lockgate.gate.monitor import question_by_tool

            said = question_by_tool.put(tx, context, call, said, now)
    return said


def _settle(
    parts: Parts, case: _Case, answers: _Answers, question: DecisionInput, step: str
) -> Ruling | JudgeQuestion | PersonQuestion | TurnQuestion:
    """Rule on a call with what judge and person have said so far; or give the next question that has to be asked."""
    ruling = _rule(parts, case, question, answers)
    if step and ruling.decision.verdict is not Verdict.ALLOW:
        from lockgate.gate.delegates.steps import let_run

        ruling = let_run(question, ruling)
    if answers.turn is None and (turn := _turn_question(parts, question, ruling)):
        return turn
    if question.noes:
        from lockgate.gate.monitor import person

        ruling = person.refuse(question, ruling, answers.approval) or ruling
    if ruling.decision.verdict is Verdict.JUDGE:
        return _judge_question(question, ruling)
    if not ruling.asks_elsewhere:
        return ruling
    from lockgate.gate.monitor import person

    is_twice = case.event.headless and bool(case.event.call.call_id)
    outcome = person.ask(question, ruling, answers.approval, twice=is_twice)
    if isinstance(outcome, Ruling):
        _note_brief(question.tx, outcome)
    return outcome


def _turn_question(parts: Parts, question: DecisionInput, ruling: Ruling) -> TurnQuestion | None:
    """The question which calls the model made in the same message, where the answer may let this one run."""
    context, verdict = question.context, ruling.decision.verdict
    if verdict is Verdict.ALLOW or not question.taints:
        return None
    from lockgate.gate.monitor.turns import find_calls_in_turn

    among = find_calls_in_turn(context, question.call, question.taints, verdict, question.now)
    if not among or not parts.consultants.turn(context):
        return None
    return TurnQuestion(context, question.call.call_id, among)


def _note_run(parts: Parts, case: _Case, answers: _Answers, question: DecisionInput, ruling: Ruling, step: str) -> None:
    """Note what follows from a call that may run, or that a person is asked about."""
    context, call, verdict = question.context, question.call, ruling.decision.verdict
    told, masked = question.mask.analysis(ruling.analysis), question.mask.call(call)
    facts: dict[str, Any] = {"verdict": verdict.word, "step": step, "folder": _folder(call, ruling)}
    if question.taints or answers.turn or context.subject.agent:
        facts[LOOKS] = _looks_only(call, ruling.analysis)
    if Label.UNTRUSTED in ruling.analysis.gives and not _brings_from_outside(ruling.analysis):
        facts[INSIDE] = True
    asked = verdict is Verdict.ASK
    session.expect(question.tx, context.subject, masked, told, case.digest, question.now, asked=asked, facts=facts)
    _keep_files(question, ruling.analysis, parts.store.fleet_key)
    _label_files(parts, question, ruling.analysis)
    if Label.UNTRUSTED in question.labels:
        _note_packages(question, ruling)
    if question.configuration.options.trust is not None:
        from lockgate.gate.monitor.result_authors import note_writing

        note_writing(question, ruling)
    _note_deployments(question, ruling, told)
    _pass_labels_on(question)
    _note_page(question, ruling)


def _with_job(tx: Transaction, case: _Case, now: float) -> _Case:
    """The case, with nobody to be asked where it is one of a CI job that was set up."""
    if not case.event.context.run:
        return case
    from lockgate.gate.session.jobs import job_of

    if not job_of(tx, case.event.context.run, now):
        return case
    return case._replace(event=case.event._replace(askable=False, waits=False, headless=True), unasked=True)


def _keep_question(question: DecisionInput, ruling: Ruling) -> Ruling:
    """Keep the question that the client's own dialog is about to put, if there is one. The ruling then has its id."""
    if ruling.decision.verdict is not Verdict.ASK or ruling.place is None:
        return ruling
    from lockgate.gate.monitor import dialog

    return dialog.put(question, ruling)


def _rule(parts: Parts, case: _Case, question: DecisionInput, answers: _Answers) -> Ruling:
    """Rule on a call as far as that needs no person, and say whether one at another window is to be asked."""
    event = case.event
    if answers.approval:
        ruling = rule(question, case.analyses, parts.store.fleet_key, askable=True)
        return ruling._replace(asks_elsewhere=True)
    somebody = event.askable or event.waits or event.headless
    ruling = rule(question, case.analyses, parts.store.fleet_key, askable=somebody)
    # What is denied only because nobody is there, a person may have let through before.
    is_open = ruling.decision.verdict is Verdict.ASK or ruling.place is not None
    if is_open and case.event.call.tool == "WebFetch" and _is_granted(question, ruling):
        return ruling._replace(decision=ruling.decision._replace(verdict=Verdict.ALLOW, tier=Tier.PERSON))
    if ruling.decision.verdict is not Verdict.ASK:
        return ruling
    if ruling.place is not None:
        from lockgate.gate.monitor import dialog

        return dialog.prepare_question(parts, question, ruling, event)
    if event.waits or (event.headless and not case.unasked and parts.consultants.waits_for_person(case.configuration)):
        return ruling._replace(asks_elsewhere=True)
    signed = event.askable and case.configuration.is_signed_alone
    if signed and parts.consultants.is_heard(case.configuration, question.tx):
        return ruling._replace(asks_elsewhere=True)
    if event.askable and not signed:
        return ruling
    ruling = rule(question, case.analyses, parts.store.fleet_key, askable=False)
    unanswerable = (event.headless or signed) and ruling.decision.verdict is Verdict.DENY
    return ruling._replace(unanswerable=unanswerable)


def _is_granted(question: DecisionInput, ruling: Ruling) -> bool:
    """Whether a person has said yes to all pages of the host, and nothing but the table stands against this one."""
    from lockgate.gate.approvals import fetches

    decision, call = ruling.decision, question.call
    host = fetches.host_of(call.tool, call.tool_input, {reason.row for reason in decision.reasons})
    subject, approvers = question.context.subject, question.configuration.options.approvers
    return decision.tier is Tier.TABLE and fetches.is_granted(question.tx, subject, host, question.labels, approvers)


def _question(parts: Parts, case: _Case, answers: _Answers, tx: Transaction, now: float) -> DecisionInput:
    context, call = case.event.context, case.event.call
    question = DecisionInput(
        tx,
        context,
        call,
        case.digest,
        _taints(tx, context.subject, call, answers.turn or frozenset()),
        case.configuration,
        parts.contain,
        parts.leave_out,
        now,
        case.found,
        case.mask,
        parts.consultants.can_judge(case.configuration),
        objections=case.objections,
        noes=tx.noes(context.subject.session),
        place=lambda: _place(parts, case, answers, tx),
        wanted=case.wanted,
        is_waited=parts.consultants.is_waited,
    )
    if case.room:
        from lockgate.gate.monitor import rooms

        foreign = rooms.another(tx, context.subject, question.labels, case.room)
        question = question._replace(objections=(*question.objections, *foreign))
    if call.tool == parts.consultants.asking_tool:
        from lockgate.gate.monitor import question_by_tool

        against = question_by_tool.objections(parts, tx, context, call, now)
        question = question._replace(objections=(*question.objections, *against))
    if answers.opinion is None or question.labels != answers.labels:
        return question  # what was read since the judge was asked makes it another one
    return question._replace(opinion=answers.opinion)


def _place(parts: Parts, case: _Case, answers: _Answers, tx: Transaction) -> LocatedPerson:
    """Where the person is who can be asked."""
    from lockgate.gate.monitor.attendance import LocatedPerson, PersonLocation, place_of

    if case.unasked:
        return LocatedPerson(PersonLocation.NOBODY, "this is a CI job")
    return place_of(parts.consultants, case.configuration, case.event, tx, asked=bool(answers.approval))


def _judge_question(question: DecisionInput, ruling: Ruling) -> JudgeQuestion:
    return JudgeQuestion(
        question.context,
        question.mask.call(question.call),
        question.digest,
        question.labels,
        question.mask.decision(ruling.decision),
        question.taints,
        question.configuration.options.judge,
        question.mask.may_hide_code,
    )


def find_matches(guard: Guard, context: Context, call: ToolCall, exact: str) -> tuple[GuardrailResult, Mask]:
    """What the pattern library finds in a call, and the mask that hides it in all that is told of the call."""
    found = guard.check_input(context, call)
    if "[REDACTED:" in exact:  # which JSON spells as it stands
        from lockgate.gate.monitor.redaction_marks import with_marks

        found = with_marks(found, call)
    mask = Mask.of(found, call)
    return mask.result(found), mask


def _enter(parts: Parts, tx: Transaction, context: Context, now: float) -> None:
    row = parts.enter(tx, context, now)
    if context.subject.agent:
        session.begin_agent(tx, context, now)  # one that has ended and calls a tool goes on
    if row.how == "fork" and session.is_fork_open(tx, context.subject.session):
        results = lambda: parts.results_since(context, 0.0)  # noqa: E731 - asked once the parents are known
        session.settle_fork(tx, context.subject.session, parts.parents(context), results, now)
    if context.job:
        # A call before any prompt comes of a prompt that nobody saw: a later one cannot take that back.
        session.settle_prompt(tx, context.subject.session, said=False)


def _taints(tx: Transaction, subject: Subject, call: ToolCall, turn: frozenset[str]) -> Sequence[Taint]:
    """A subject's taints, without what this very call is expected to bring: hooks may be installed twice.

    And without what the calls bring that were made together with it: nobody had read that.
    """
    taints = session.provenance(tx, subject)
    if not call.call_id:
        return taints
    pending = TaintState.PENDING
    taints = [taint for taint in taints if not (taint.call_id == call.call_id and taint.state is pending)]
    if not turn:
        return taints
    from lockgate.gate.monitor.turns import drop_own_turn

    return drop_own_turn(tx, subject.session, taints, turn)


def _make_timing(seconds: float, steps: Mapping[str, float], trace: str) -> record.Timing:
    told = {name: round(taken * 1000, 3) for name, taken in steps.items() if taken}
    return record.Timing(round(seconds * 1000, 3), told, trace)


def _record(question: DecisionInput, ruling: Ruling, timing: record.Timing, *, trial: bool) -> None:
    tx, context, mask = question.tx, question.context, question.mask
    call = mask.call(question.call)
    if ruling.decision.verdict is Verdict.DENY and not trial:
        from lockgate.gate.messages.calls import text_for_records

        tx.block(context.subject.session, context.subject.agent, text_for_records(call), question.now)
    body = record.decision_record(
        context,
        call,
        question.digest,
        question.taints,
        mask.analysis(ruling.analysis),
        mask.decision(ruling.decision),
        ruling.shadow and mask.decision(ruling.shadow),
        question.found,
        record.cascade(ruling.decision, timing, question.opinion, ruling.approval),
        trial=trial,
    )
    tx.append_audit(question.now, body)


def _note_deployments(question: DecisionInput, ruling: Ruling, told: Analysis) -> None:
    """Note with a call which deployments a person says yes to when it runs."""
    asked = ruling.decision.verdict is Verdict.ASK or ruling.person == "used"
    if not asked or not any(effect.deployment for effect in told.effects):
        return
    from lockgate.gate.monitor import deployments

    row = question.tx.call(question.context.subject.session, session.call_key(question.call, question.digest))
    if row is not None:
        facts = {
            deployments.FACT: deployments.list_asked_deployments(told),
            deployments.PROVEN: _is_proven(question, ruling),
        }
        question.tx.put_call(row._replace(facts={**row.facts, **facts}))


def _is_proven(question: DecisionInput, ruling: Ruling) -> bool:
    """Whether the audit proves that a person has said yes: to what is answered in the client's window it does not."""
    if ruling.person != "used":
        return False
    from lockgate.gate.approvals.questions import BY_TOOL

    row = question.tx.approval(ruling.approval)
    return row is not None and BY_TOOL not in row.about


def _note_packages(question: DecisionInput, ruling: Ruling) -> None:
    """Note which packages an untrusted session installs contained, and that its commands may commit."""
    tx, context = question.tx, question.context
    wanted = question.wanted if ruling.decision.verdict is Verdict.CONTAIN else None
    folders = () if wanted is None else wanted.folders
    if not (folders or tx.has_in_set(Sets.PACKAGES)):
        return
    from lockgate.gate.session import packages

    labels = tuple(sorted(label.value for label in question.labels))
    for place in folders:
        found = packages.InstalledPackages(
            place.folder, place.environment, place.root, labels, place.files,
            session=context.subject.session, at=question.now,
        )  # fmt: skip
        packages.note(tx, found, exact=place.exact)
    if folders:
        facts = {"folders": [place.folder for place in folders], "labels": list(labels)}
        tx.append_audit(question.now, record.event_record(context, packages.INSTALLED, facts))
    if ruling.analysis.programs:
        packages.call_runs(tx)


def _note_page(question: DecisionInput, ruling: Ruling) -> None:
    """Note that the call may open another page in a browser."""
    call = question.call
    if call.tool.startswith("mcp__"):
        from lockgate.gate.monitor.open_pages import let_run

        key = session.call_key(call, question.digest)
        let_run(question.tx, question.context.subject.session, call, key, ruling.analysis, question.now)


def _keep_files(question: DecisionInput, analysis: Analysis, key: bytes) -> None:
    """Note which files hold a secret, or code from the network, once the call has run."""
    call, matches = question.call, question.found.pattern_matches
    known = [match.detail for match in matches if match.rule.startswith(_KNOWN)]
    reads = any(effect.kind is EffectKind.READ_SECRET for effect in analysis.effects)
    if not (analysis.left or known or reads or call.tool == "Write"):
        return
    from lockgate.gate.monitor import kept_files

    session_id, knows_secrets = question.context.subject.session, Label.SECRET in question.labels
    kept_files.note(
        question.tx, session_id, call, question.digest, analysis, known, question.now, key=key,
        knows_secrets=knows_secrets,
    )  # fmt: skip


def _brings_from_outside(analysis: Analysis) -> bool:
    """Whether a call is known to bring in what others wrote, and not only what a program prints of this machine."""
    return any(
        effect.gives is Label.UNTRUSTED and effect.kind in _OUTSIDE and not effect.rule.startswith(("file:", "place:"))
        for effect in analysis.effects
    )


def _label_files(parts: Parts, question: DecisionInput, analysis: Analysis) -> None:
    """Note which files hold a stranger's text once the call has run."""
    call, session_id = question.call, question.context.subject.session
    source = next((taint.source for taint in question.taints if taint.label is Label.UNTRUSTED), "")
    if not analysis.written:
        return
    if not (source or analysis.left or analysis.keeps or question.tx.has_in_set(Sets.FILE_LABELS)):
        return
    from lockgate.gate.monitor import file_labels

    key = session.call_key(call, question.digest)
    file_labels.note_written(question.tx, session_id, call, key, analysis, source, parts.read_file, question.now)


def _note_verdict(question: DecisionInput, verdict: Verdict, *, is_refused: bool) -> bool:
    """Note a refusal with its call; whether the verdict is news. Hooks may be installed twice, and then ask twice.

    Any other verdict is noted where the call's result is expected.
    """
    tx, subject, call = question.tx, question.context.subject, question.call
    if not call.call_id:
        return True
    row = tx.call(subject.session, call.call_id)
    same = row is not None and row.digest == question.digest and row.facts.get("verdict") == verdict.word
    if not is_refused:
        return not same or row is None or not session.is_out(row)
    if same:
        return False
    if row is None:
        row = CallRow(
            subject.session, call.call_id, subject.agent, redact(call.tool), question.digest, "refused", at=question.now
        )
    tx.put_call(row._replace(facts={**row.facts, "verdict": verdict.word}))
    return True


def _step(question: DecisionInput) -> str:
    """The step of a brief that a delegate's call is; empty for all other calls."""
    tx, subject = question.tx, question.context.subject
    # What lets a step run is a yes in the client's window, which no approver signs.
    if not subject.agent or question.configuration.options.approvers is not None:
        return ""
    row = tx.agent(subject)
    if row is None or not row.delegate:
        return ""
    from lockgate.gate.delegates.steps import step_of

    return step_of(tx, subject, question.call)


def _folder(call: ToolCall, ruling: Ruling) -> str:
    if not ruling.brief:
        return ""
    from lockgate.gate.delegates.steps import folder_of

    return folder_of(call)


def _note_brief(tx: Transaction, ruling: Ruling) -> None:
    """Note that a person has read a brief: at another window they are shown the whole of it before they say yes."""
    brief = tx.brief(ruling.brief_id) if ruling.person == "used" and ruling.brief_id else None
    if brief is not None:
        from lockgate.gate.delegates import briefs

        briefs.mark_read(tx, brief)


def _looks_only(call: ToolCall, analysis: Analysis) -> bool:
    from lockgate.analysis.looking import looks_only

    return looks_only(call, analysis)


def _pass_labels_on(question: DecisionInput) -> None:
    """Give the sender's labels to the receiver of a message."""
    subject = question.context.subject
    if question.call.tool != MESSAGE_TOOL or not question.taints:
        return
    to = recipient(question.call)
    receiver = Subject(subject.session, "" if to == "main" else to) if to else None
    session.join_message(question.tx, subject, receiver)
