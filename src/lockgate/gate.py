"""The monitor: one event in, one answer out, in this order.

A tool call is analysed (pure), then one transaction reads the subject's labels, decides, notes what the call's result
will give, and records the decision; only then is the answer given. Everything with I/O is handed in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from lockgate import session
from lockgate.analysis import analyse
from lockgate.analysis.surroundings import Rules, Surroundings
from lockgate.audit import record
from lockgate.configuration import Configuration
from lockgate.digests import sha256
from lockgate.events import (
    AgentStarted,
    AgentStopped,
    Answer,
    ConfigChanged,
    Context,
    Event,
    InstructionsLoaded,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    ToolFailed,
    ToolFinished,
    ToolRefused,
    ToolRequested,
)
from lockgate.model import (
    Analysis,
    Decision,
    Effect,
    EffectKind,
    Label,
    LabelState,
    Reason,
    Subject,
    Taint,
    TaintState,
    ToolCall,
    Variant,
    Verdict,
)
from lockgate.policy.decide import decide, possible, strictest
from lockgate.record import TYPE_CHECKING, Record
from lockgate.store.rows import CallRow

if TYPE_CHECKING:
    from lockgate.store.protocol import Store, Transaction

_MESSAGE_TOOL = "SendMessage"


class Parts(Record):
    """What the gate is made of."""

    store: Store
    configure: Callable[[Context], Configuration]
    surroundings: Callable[[Context, Rules], Surroundings]
    clock: Callable[[], float]
    parents: Callable[[Context], tuple[str, ...]] = lambda _: ()
    """The sessions that a fork's transcript names, where the client has written it. Asked once for a fork."""
    history: Callable[[Context], bool] = lambda _: False
    """Whether a session has read something already. Asked once, for a session whose beginning was not seen."""
    able: frozenset[Verdict] = frozenset()
    """Which of ``CONTAIN`` and ``JUDGE`` this host can do."""


def call_digest(call: ToolCall) -> str:
    """SHA-256 of the exact call: tool, input and working folder, as canonical JSON."""
    body = json.dumps([call.tool, dict(call.tool_input), call.cwd], sort_keys=True, separators=(",", ":"), default=str)
    return sha256(b"lockgate call\0" + body.encode("utf-8", "surrogatepass")).hexdigest()


def merged(analyses: Sequence[Analysis]) -> Analysis:
    """The union of what several analyses of one call found."""
    if len(analyses) == 1:
        return analyses[0]
    effects = dict.fromkeys(effect for analysis in analyses for effect in analysis.effects)
    quiet = [analysis.quiet for analysis in analyses if analysis.gives]
    common = tuple(line for line in quiet[0] if all(line in other for other in quiet)) if quiet else ()
    return analyses[0]._replace(
        effects=tuple(effects),
        hints=tuple(dict.fromkeys(hint for analysis in analyses for hint in analysis.hints)),
        quiet=common,
        echoes=any(analysis.echoes for analysis in analyses),
    )


class Gate:
    """The reference monitor."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.store
        self._configure = parts.configure
        self._surroundings = parts.surroundings
        self._clock = parts.clock
        self._parents = parts.parents
        self._history = parts.history
        self._able = parts.able

    def handle(self, event: Event) -> Answer:
        """Answer one event. Raises only :class:`lockgate.errors.LockgateError`; the caller then refuses."""
        match event:
            case ToolRequested():
                return self._requested(event)
            case ToolFinished():
                return self._finished(event)
            case ToolFailed():
                return self._failed(event)
            case ToolRefused():
                return self._refused(event)
            case PromptSubmitted():
                return self._prompted(event)
            case SessionStarted():
                return self._session_started(event)
            case SessionEnded():
                return self._session_ended(event)
            case AgentStarted():
                return self._agent_started(event)
            case AgentStopped():
                return self._agent_stopped(event)
            case ConfigChanged():
                return self._config_changed(event)
            case InstructionsLoaded():
                return self._instructions_loaded(event)

    # ------------------------------------------------------------ a call is about to run
    def _requested(self, event: ToolRequested) -> Answer:
        context, call = event.context, event.call
        configuration = self._configure(context)
        analyses = self._analyse(context, call, configuration)
        digest = call_digest(call)
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            if context.subject.agent:
                session.begin_agent(tx, context, now)  # one that has ended and calls a tool goes on
            if session.fork_is_open(tx, context.subject.session):
                session.settle_fork(tx, context.subject.session, self._parents(context), now)
            taints = self._taints(tx, context.subject, call)
            labels = frozenset(taint.label for taint in taints)
            # Which addresses are known is looked up once: both policies see the same effects.
            analyses = [self._with_known_addresses(tx, context, analysis, labels) for analysis in analyses]
            decision = strictest(
                decide(analysis.effects, labels, policy.profile, able=self._able)
                for analysis, policy in zip(analyses, configuration.policies, strict=True)
            )
            analysis = merged(analyses)
            decision, question = self._escape(tx, context, call, digest, decision, configuration, now)
            lost_in = ""
            if decision.verdict is Verdict.ASK and not event.askable:
                decision, lost_in = decision._replace(verdict=Verdict.DENY), context.mode
            answer = self._answer(call, analysis, decision, taints, question, lost_in)
            if decision.verdict is not Verdict.DENY:
                asked = decision.verdict is Verdict.ASK
                session.expect(tx, context.subject, call, analysis, digest, now, asked=asked)
                self._message_flows(tx, context, call, labels)
            if _first_time(tx, context.subject, call, digest, decision.verdict, now):
                if decision.verdict is Verdict.DENY:
                    from lockgate.messages import recorded_text

                    tx.block(context.subject.session, context.subject.agent, recorded_text(call), now)
                shadow = self._shadow(analyses, labels, configuration)
                tx.append_audit(now, record.decided(context, call, digest, taints, analysis, decision, shadow))
        return answer

    def _analyse(self, context: Context, call: ToolCall, configuration: Configuration) -> list[Analysis]:
        return [analyse(call, self._surroundings(context, policy.rules)) for policy in configuration.policies]

    def _taints(self, tx: Transaction, subject: Subject, call: ToolCall) -> list[Taint]:
        """A subject's taints, without what this very call is expected to bring: hooks may be installed twice."""
        taints = session.provenance(tx, subject)
        if not call.call_id:
            return taints
        pending = TaintState.PENDING
        return [taint for taint in taints if not (taint.call_id == call.call_id and taint.state is pending)]

    def _with_known_addresses(
        self,
        tx: Transaction,
        context: Context,
        analysis: Analysis,
        labels: frozenset[Label],
    ) -> Analysis:
        # With a secret in the context, a result may have been shaped with it: then only a person's address is known.
        human_only = Label.SECRET in labels

        def known(effect: Effect) -> Effect:
            if effect.kind is not EffectKind.FETCH or effect.variant is not Variant.PLAIN or not effect.address:
                return effect
            if not session.knows(tx, self._store.key, context.subject.session, effect.address, human_only=human_only):
                return effect
            return effect._replace(variant=Variant.KNOWN)

        return analysis._replace(effects=tuple(known(effect) for effect in analysis.effects))

    def _escape(
        self,
        tx: Transaction,
        context: Context,
        call: ToolCall,
        digest: str,
        decision: Decision,
        configuration: Configuration,
        now: float,
    ) -> tuple[Decision, str]:
        """Hold a delegate's brief, or a message to a delegate, against the subject's labels."""
        held = any(
            possible(policy.profile.cell("egress", decision.column), self._able) > Verdict.ALLOW
            for policy in configuration.policies
        )
        if decision.verdict is Verdict.DENY or not held:
            return decision, ""
        from lockgate.escape import delegates

        if delegates.wants_delegate(call) and decision.column in (LabelState.UNTRUSTED, LabelState.BOTH):
            text = delegates.brief_of(call)
            if isinstance(text, delegates.Refusal):
                return _escape_decision(decision, Verdict.DENY, "escape:brief", text.because), ""
            delegates.ask(tx, context.subject, call, digest, text, now)
            because = "a delegate with clean labels would act on this brief"
            return _escape_decision(decision, Verdict.ASK, "escape:brief", because), text
        if call.tool == _MESSAGE_TOOL and delegates.addressed(tx, context.subject.session, _recipient(call)):
            because = "a delegate acts on the brief that a person approved and on nothing else; start a new one"
            return _escape_decision(decision, Verdict.DENY, "escape:message", because), ""
        return decision, ""

    def _answer(
        self,
        call: ToolCall,
        analysis: Analysis,
        decision: Decision,
        taints: Sequence[Taint],
        question: str,
        lost_in: str,
    ) -> Answer:
        if decision.verdict is Verdict.ALLOW:
            return Answer(decision=decision)
        from lockgate import messages

        match decision.verdict:
            case Verdict.ASK:
                text = messages.asked_brief(question, taints) if question else messages.asked(call, decision, taints)
                return Answer(Verdict.ASK, to_agent=text, to_person=text, decision=decision)
            case _ if lost_in:
                to_agent, to_person = messages.unaskable(call, decision, taints, lost_in)
                return Answer(Verdict.DENY, to_agent, to_person, decision=decision)
            case _:
                to_agent = messages.denied_to_agent(call, decision, taints, analysis.hints)
                to_person = messages.denied_to_person(call, decision, taints)
                return Answer(decision.verdict, to_agent=to_agent, to_person=to_person, decision=decision)

    def _message_flows(self, tx: Transaction, context: Context, call: ToolCall, labels: frozenset[Label]) -> None:
        if call.tool != _MESSAGE_TOOL or not labels:
            return
        to = _recipient(call)
        recipient = Subject(context.subject.session, "" if to == "main" else to) if to else None
        session.join_message(tx, context.subject, recipient)

    def _shadow(
        self,
        analyses: Sequence[Analysis],
        labels: frozenset[Label],
        configuration: Configuration,
    ) -> Decision | None:
        """What the profile that this one stands in for would have said."""
        decisions = [
            decide(analysis.effects, labels, policy.profile.shadow, able=self._able)
            for analysis, policy in zip(analyses, configuration.policies, strict=True)
            if policy.profile.shadow is not None
        ]
        return strictest(decisions) if decisions else None

    # ------------------------------------------------------------ a call has come back
    def _finished(self, event: ToolFinished) -> Answer:
        context, call = event.context, event.call
        digest = call_digest(call)
        seen: list[Analysis] = []

        # Read before the transaction, which it would otherwise be inside of.
        configuration = self._configure(context)

        def fresh() -> Analysis:
            if not seen:
                seen.append(merged(self._analyse(context, call, configuration)))
            return seen[0]

        addresses = self._addresses_in(event, fresh)
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            if self._came_back_before(tx, context, call, digest):
                return Answer()
            if event.agent:
                session.launched(tx, context.subject.session, session.call_key(call, digest), event.agent)
            outcome = None
            if not (event.agent and event.background):
                outcome = session.finished(
                    tx, context.subject, call, event.text, now, digest=digest, fresh=fresh, background=event.background
                )
            session.remember(tx, self._store.key, context.subject.session, addresses, human=False)
            tx.append_audit(now, record.came_back(context, call, digest, "finished", outcome))
        return Answer()

    def _came_back_before(self, tx: Transaction, context: Context, call: ToolCall, digest: str) -> bool:
        """Whether this call's end was told already: hooks may be installed twice."""
        row = tx.call(context.subject.session, session.call_key(call, digest)) if call.call_id else None
        return row is not None and row.state in ("finished", "failed")

    def _addresses_in(self, event: ToolFinished, fresh: Callable[[], Analysis]) -> list[str]:
        """Whole addresses in a result that the agent could not shape, but for those that stand in the call itself."""
        from lockgate.analysis import addresses

        if "://" not in event.text or fresh().echoes:
            return []

        own = json.dumps(dict(event.call.tool_input), ensure_ascii=False, default=str)
        mine = set(addresses.extract(own, 1000))
        return [address for address in addresses.extract(event.text, 2000) if address not in mine]

    def _failed(self, event: ToolFailed) -> Answer:
        context, call = event.context, event.call
        digest = call_digest(call)

        configuration = self._configure(context)

        def fresh() -> Analysis:
            return merged(self._analyse(context, call, configuration))

        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            if self._came_back_before(tx, context, call, digest):
                return Answer()
            outcome = session.failed(tx, context.subject, call, event.error, now, digest=digest, fresh=fresh)
            tx.append_audit(now, record.came_back(context, call, digest, "failed", outcome))
        return Answer()

    def _refused(self, event: ToolRefused) -> Answer:
        context, call = event.context, event.call
        digest = call_digest(call)
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            session.refused(tx, context.subject, call, digest=digest)
            tx.append_audit(now, record.came_back(context, call, digest, "refused", None))
        return Answer()

    # ------------------------------------------------------------ what a person, or somebody as a person, says
    def _prompted(self, event: PromptSubmitted) -> Answer:
        from lockgate.analysis import addresses, mentions
        from lockgate.escape import delegates

        context = event.context
        policies = self._configure(context).policies
        around = [self._surroundings(context, policy.rules) for policy in policies]
        effects = dict.fromkeys(
            effect for each in around for effect in mentions.mention_effects(event.prompt, context.cwd, each)
        )
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            for call_id in event.rejected:
                row = tx.call(context.subject.session, call_id)
                if row is not None:
                    session.refused(tx, Subject(row.session, row.agent), ToolCall(row.tool, {}, "", call_id), digest="")
            if event.human:
                delegates.give_up_waiting(tx, context.subject.session)
                found = addresses.extract(event.prompt, 1000)
                session.remember(tx, self._store.key, context.subject.session, found, human=True)
            session.expose(tx, context.subject, "prompt", tuple(effects), now)
            tx.append_audit(now, record.happened(context, "prompt", {"human": event.human, "effects": len(effects)}))
        return Answer()

    # ------------------------------------------------------------ sessions and agents
    def _session_started(self, event: SessionStarted) -> Answer:
        configuration = self._configure(event.context)
        problems, days = configuration.problems, configuration.options.retention_days
        with self._store.transaction() as tx:
            now = self._clock()
            row = session.begin_session(tx, event.context, event.how, event.parents, now)
            if days is not None:
                tx.prune(now - days * 86400)
            tx.append_audit(now, record.happened(event.context, "session", {"how": event.how, "parent": row.parent}))
        if not problems:
            return Answer()
        from lockgate import messages

        return Answer(to_person=messages.problems(problems))

    def _session_ended(self, event: SessionEnded) -> Answer:
        with self._store.transaction() as tx:
            now = self._clock()
            session.end_session(tx, event.context, event.why, now)
            tx.append_audit(now, record.happened(event.context, "session-end", {"why": event.why}))
        return Answer()

    def _agent_started(self, event: AgentStarted) -> Answer:
        from lockgate.escape import delegates

        context = event.context
        with self._store.transaction() as tx:
            now = self._clock()
            known = tx.agent(context.subject) is not None
            if known or context.agent_type not in delegates.DELEGATE_TYPES:
                self._make_known(tx, context, now)
                session.begin_agent(tx, context, now)
            # A delegate begins with its first call: only then does the client say which call started it.
            tx.append_audit(now, record.happened(context, "agent", {"type": context.agent_type, "again": known}))
        return Answer()

    def _agent_stopped(self, event: AgentStopped) -> Answer:
        from lockgate.escape import delegates

        context = event.context
        with self._store.transaction() as tx:
            now = self._clock()
            session.end_agent(tx, context)
            delegates.done(tx, context.subject)
            tx.append_audit(now, record.happened(context, "agent-end", {"type": context.agent_type}))
        return Answer()

    def _enter(self, tx: Transaction, context: Context, now: float) -> None:
        """Make the subject known; a delegate is bound to its brief by the call that spawned it."""
        if context.subject.agent and tx.agent(context.subject) is None:
            from lockgate.escape import delegates

            brief = delegates.waiting_for(tx, context.subject, context.agent_type, context.spawned_by)
            if brief is not None:
                session.begin_agent(tx, context, now, delegate=brief.brief)
                bound = delegates.begun(tx, context.subject, brief)
                tx.append_audit(now, record.approved(context, bound))
        self._make_known(tx, context, now)

    def _make_known(self, tx: Transaction, context: Context, now: float) -> None:
        session.ensure_subject(tx, context, now, history=lambda: self._history(context))

    # ------------------------------------------------------------ the client itself
    def _config_changed(self, event: ConfigChanged) -> Answer:
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, event.context, now)
            what = {"source": event.source, "file": event.file, "harm": event.harm}
            tx.append_audit(now, record.happened(event.context, "client-settings", what))
        if not event.harm:
            return Answer()
        from lockgate import messages

        text = messages.settings_changed(event.harm, event.file)
        return Answer(Verdict.DENY, to_agent=text, to_person=text)

    def _instructions_loaded(self, event: InstructionsLoaded) -> Answer:
        from lockgate.analysis.paths import instructions_effects

        context = event.context
        effects = dict.fromkeys(
            effect
            for policy in self._configure(context).policies
            for effect in instructions_effects(event.file, context.cwd, self._surroundings(context, policy.rules))
        )
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            session.expose(tx, context.subject, "instructions", tuple(effects), now)
            what = {"file": event.file, "reason": event.reason, "effects": len(effects)}
            tx.append_audit(now, record.happened(context, "instructions", what))
        return Answer()


def _first_time(tx: Transaction, subject: Subject, call: ToolCall, digest: str, verdict: Verdict, now: float) -> bool:
    """Note the verdict on a call; whether it is news. Hooks may be installed twice, and then ask twice."""
    if not call.call_id:
        return True
    row = tx.call(subject.session, call.call_id)
    if row is None:
        row = CallRow(subject.session, call.call_id, subject.agent, call.tool, digest, "refused", at=now)
    if row.digest == digest and row.facts.get("verdict") == verdict.word:
        return False
    tx.put_call(row._replace(facts={**row.facts, "verdict": verdict.word}))
    return True


def _recipient(call: ToolCall) -> str:
    to = call.tool_input.get("to")
    return to if isinstance(to, str) else ""


def _escape_decision(decision: Decision, verdict: Verdict, rule: str, because: str) -> Decision:
    effect = Effect(EffectKind.EGRESS, "delegate", rule, because)
    return decision._replace(verdict=verdict, reasons=(Reason(effect, "egress", decision.column, verdict),))
