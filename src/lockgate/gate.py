"""The monitor: one event in, one answer out, in this order.

A tool call is analysed (pure), then one transaction reads the subject's labels, decides, notes what the call's result
will give, and records the decision; only then is the answer given. Everything with I/O is handed in.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from lockgate import session
from lockgate.analysis import analyse
from lockgate.analysis.surroundings import Rules, Surroundings
from lockgate.answering import answer, failure_answer, result_answer
from lockgate.audit import record
from lockgate.configuration import Configuration
from lockgate.deciding import Question, Ruling, call_digest, first_time, merged, message_flows, rule
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
from lockgate.guarding import UNSEEN_RULE, Guard, enforced, sources, with_marks
from lockgate.masking import Mask
from lockgate.model import Analysis, Subject, Taint, TaintState, ToolCall, Verdict
from lockgate.record import TYPE_CHECKING, Record
from lockgate.screening import KeptWriter, Screening, look, no_kept_file, screen

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Store, Transaction


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
    contain: Callable[[Context, ToolCall], Mapping[str, Any] | None] = lambda *_: None
    """The input that makes a call run contained; ``None`` where it cannot be. Asked only where a table says so."""
    original: Callable[[Context, ToolCall], ToolCall] = lambda _, call: call
    """The call that an agent made, where ``contain`` changed it into this one; else the call itself."""
    guard: Guard = Guard()
    """The pattern library."""
    write_kept: KeptWriter = no_kept_file
    """Rewrites the file in which the client keeps a long result."""


class Gate:
    """The reference monitor."""

    def __init__(self, parts: Parts) -> None:
        self._store = parts.store
        self._configure = parts.configure
        self._surroundings = parts.surroundings
        self._clock = parts.clock
        self._parents = parts.parents
        self._history = parts.history
        self._contain = parts.contain
        self._original = parts.original
        self._guard = parts.guard
        self._write_kept = parts.write_kept

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
        found = with_marks(self._guard.check_input(context, call), call)
        mask = Mask.of(found, call)
        found = mask.result(found)
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            if context.subject.agent:
                session.begin_agent(tx, context, now)  # one that has ended and calls a tool goes on
            if session.fork_is_open(tx, context.subject.session):
                session.settle_fork(tx, context.subject.session, self._parents(context), now)
            # Whoever writes a secret into a call knows it, whatever becomes of the call.
            session.hold_secrets(tx, context.subject, call, sources(found, call.tool), now)
            taints = self._taints(tx, context.subject, call)
            question = Question(tx, context, call, digest, taints, configuration, self._contain, now, found, mask)
            ruling = rule(question, analyses, self._store.key, askable=event.askable)
            if ruling.decision.verdict is not Verdict.DENY:
                asked = ruling.decision.verdict is Verdict.ASK
                told = mask.analysis(ruling.analysis)
                session.expect(tx, context.subject, mask.call(call), told, digest, now, asked=asked)
                message_flows(question)
            if first_time(question, ruling.decision.verdict):
                self._record(question, ruling)
        return answer(question, ruling)

    def _record(self, question: Question, ruling: Ruling) -> None:
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

    def _analyse(self, context: Context, call: ToolCall, configuration: Configuration) -> list[Analysis]:
        return [analyse(call, self._surroundings(context, policy.rules)) for policy in configuration.policies]

    def _taints(self, tx: Transaction, subject: Subject, call: ToolCall) -> list[Taint]:
        """A subject's taints, without what this very call is expected to bring: hooks may be installed twice."""
        taints = session.provenance(tx, subject)
        if not call.call_id:
            return taints
        pending = TaintState.PENDING
        return [taint for taint in taints if not (taint.call_id == call.call_id and taint.state is pending)]

    # ------------------------------------------------------------ a call has come back
    def _finished(self, event: ToolFinished) -> Answer:
        context, call = event.context, self._original(event.context, event.call)
        digest = call_digest(call)
        seen: list[Analysis] = []

        # Read before the transaction, which it would otherwise be inside of.
        configuration = self._configure(context)

        def fresh() -> Analysis:
            if not seen:
                seen.append(merged(self._analyse(context, call, configuration)))
            return seen[0]

        addresses = self._addresses_in(event, fresh)
        screening = screen(self._guard, self._write_kept, event, enforced=enforced(configuration))
        held = self._secrets_in(context, call, screening)
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            if self._came_back_before(tx, context, call, digest):
                return result_answer(call, screening)
            if event.agent:
                session.launched(tx, context.subject.session, session.call_key(call, digest), event.agent)
            outcome = None
            if not (event.agent and event.background):
                outcome = session.finished(
                    tx, context.subject, call, event.text, now, digest=digest, fresh=fresh, background=event.background
                )
            session.remember(tx, self._store.key, context.subject.session, addresses, human=False)
            session.hold_secrets(tx, context.subject, call, held, now)
            tx.append_audit(now, record.came_back(context, call, digest, "finished", outcome, screening.record))
        return result_answer(call, screening)

    def _secrets_in(self, context: Context, call: ToolCall, screening: Screening) -> tuple[str, ...]:
        """Where the secrets in a result come from, as far as that can be said without saying them."""
        if not screening.result.found_secret and not screening.exposed:
            return ()
        from lockgate.messages import recorded_text

        mask = Mask.of(self._guard.check_input(context, call), call)
        where = f"the result of {recorded_text(mask.call(call), 120)}:"
        unseen = (f"{UNSEEN_RULE} in {where} {screening.exposed}",) if screening.exposed else ()
        return sources(screening.result, where) + unseen

    def _came_back_before(self, tx: Transaction, context: Context, call: ToolCall, digest: str) -> bool:
        """Whether this call's end was told already: hooks may be installed twice."""
        row = tx.call(context.subject.session, session.call_key(call, digest)) if call.call_id else None
        return row is not None and row.state in ("finished", "failed")

    def _addresses_in(self, event: ToolFinished, fresh: Callable[[], Analysis]) -> list[str]:
        """Whole addresses in a result that the agent could not shape, but for those that stand in the call itself."""
        if "://" not in event.text or fresh().echoes:
            return []
        from lockgate.analysis import addresses

        own = json.dumps(dict(event.call.tool_input), ensure_ascii=False, default=str)
        mine = set(addresses.extract(own, 1000))
        return [address for address in addresses.extract(event.text, 2000) if address not in mine]

    def _failed(self, event: ToolFailed) -> Answer:
        context, call = event.context, self._original(event.context, event.call)
        digest = call_digest(call)

        configuration = self._configure(context)

        def fresh() -> Analysis:
            return merged(self._analyse(context, call, configuration))

        screening = look(self._guard, context, call, "error", event.error)
        held = self._secrets_in(context, call, screening)
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            if not self._came_back_before(tx, context, call, digest):
                outcome = session.failed(tx, context.subject, call, event.error, now, digest=digest, fresh=fresh)
                session.hold_secrets(tx, context.subject, call, held, now)
                tx.append_audit(now, record.came_back(context, call, digest, "failed", outcome, screening.record))
        return failure_answer(call, screening)

    def _refused(self, event: ToolRefused) -> Answer:
        context, call = event.context, self._original(event.context, event.call)
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
        held = () if event.human else self._secrets_in_prompt(event)
        with self._store.transaction() as tx:
            now = self._clock()
            self._enter(tx, context, now)
            session.hold_secrets(tx, context.subject, ToolCall("prompt", {}), held, now)
            for call_id in event.rejected:
                row = tx.call(context.subject.session, call_id)
                if row is not None:
                    session.refused(tx, Subject(row.session, row.agent), ToolCall(row.tool, {}, "", call_id), digest="")
            delegates.refused(tx, context.subject.session, event.rejected)
            if event.human:
                found = addresses.extract(event.prompt, 1000)
                session.remember(tx, self._store.key, context.subject.session, found, human=True)
            session.expose(tx, context.subject, "prompt", tuple(effects), now)
            tx.append_audit(now, record.happened(context, "prompt", {"human": event.human, "effects": len(effects)}))
        return Answer()

    def _secrets_in_prompt(self, event: PromptSubmitted) -> tuple[str, ...]:
        """What a background task or another agent brings cannot be rewritten: it gives its label."""
        call = ToolCall("UserPromptSubmit", {}, event.context.cwd)
        return sources(look(self._guard, event.context, call, "prompt", event.prompt).result, "a message")

    # ------------------------------------------------------------ sessions and agents
    def _session_started(self, event: SessionStarted) -> Answer:
        configuration = self._configure(event.context)
        self._guard.prepare(event.context)
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
