"""All events in any order, with crashes and restarts, against a model of what really flows.

The model knows what entered each context. What the store says may be more (several agents could have been meant), never
less, and it never shrinks but for what was pending.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, EffectKind, Label, Subject, TaintState, ToolCall
from lockgate.gate.session import (
    begin_agent,
    begin_session,
    end_agent,
    end_session,
    ensure_subject,
    expect,
    expose,
    join_message,
    labels_of,
    note_launch,
    provenance,
    settle_failure,
    settle_refusal,
    settle_result,
)
from lockgate.store.audit.chain import verify
from lockgate.store.protocol import Transaction
from lockgate.store.rows import BriefRow
from lockgate.store.sqlite.store import SqliteStore
from support.prepared import open_new
from support.stress import examples

Labels = frozenset[Label]
U = Label.UNTRUSTED
LABELS = st.frozensets(st.sampled_from(Label))
TYPES = st.sampled_from(["", "x", "y"])
DIGEST = "0" * 64


class CrashError(Exception):
    """Ends a transaction before it is committed."""


class Out(NamedTuple):
    """A call that is out."""

    subject: Subject
    call: ToolCall
    gives: Labels


class Spawn(NamedTuple):
    """A call that spawns an agent, and what its prompt carries."""

    parent: Subject
    call: ToolCall
    carries: Labels


class Child(NamedTuple):
    subject: Subject
    spawn: Spawn
    delegate: bool


def analysis(gives: Labels, what: str = "thing") -> Analysis:
    return Analysis(
        tuple(Effect(EffectKind.INGEST, what, "r", "b", gives=label) for label in sorted(gives)),
        quiet=("quiet",),
    )


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.store = open_new(self.folder + "/state")
        self.number = 0
        self.records = 0
        self.truth: dict[Subject, Labels] = {}
        self.ever: dict[str, Labels] = {}
        """All labels that a session could have met; what is beyond them is a false alarm."""
        self.before: dict[Subject, tuple[Labels, Labels]] = {}
        """What the store said after the last step: all labels, and the confirmed ones."""
        self.out: list[Out] = []
        self.spawns: list[Spawn] = []
        self.children: list[Child] = []

    def teardown(self) -> None:
        with self.store.reading() as tx:
            found = verify(tx.audit(), tx.audit_head(), self.store.key)
        assert found[:3] == (True, self.records, "")
        self.store.close()
        shutil.rmtree(self.folder)

    # how a step is taken

    def step(self, act: Callable[[Transaction], object]) -> None:
        with self.store.transaction() as tx:
            act(tx)
            tx.append_audit(self.now(), {"n": self.number})
        self.records += 1

    def now(self) -> float:
        self.number += 1
        return float(self.number)

    def name(self, kind: str) -> str:
        self.number += 1
        return f"{kind}{self.number}"

    def meet(self, subject: Subject, labels: Labels) -> None:
        self.truth[subject] = self.truth.get(subject, frozenset()) | labels
        self.may(subject.session, labels)

    def may(self, session: str, labels: Labels) -> None:
        self.ever[session] = self.ever.get(session, frozenset()) | labels

    def any_subject(self, data: st.DataObject) -> Subject:
        return data.draw(st.sampled_from(sorted(self.truth)))

    def context(self, subject: Subject, kind: str = "", spawned_by: str = "") -> Context:
        return Context("test", subject, agent_type=kind, process="1:1", spawned_by=spawned_by)

    # sessions

    @initialize()
    def first(self) -> None:
        self.session("startup")

    @rule(how=st.sampled_from(["startup", "resume", "compact", "clear"]))
    @precondition(lambda self: len(self.ever) < 4)
    def session(self, how: str) -> None:
        subject = Subject(self.name("s"))
        self.step(lambda tx: begin_session(tx, self.context(subject), how, (), self.now()))
        self.meet(subject, frozenset() if how in ("startup", "clear") else frozenset({U}))

    @rule(data=st.data(), extra=st.booleans())
    @precondition(lambda self: len(self.ever) < 4)
    def fork(self, data: st.DataObject, extra: bool) -> None:
        parents = data.draw(st.sets(st.sampled_from(sorted(self.ever)), min_size=0 if extra else 1))
        named = (*sorted(parents), *(("unknown",) if extra else ()))
        subject = Subject(self.name("s"))
        self.step(lambda tx: begin_session(tx, self.context(subject), "fork", named, self.now()))
        self.meet(subject, frozenset({U}) if extra else frozenset())
        for parent in parents:
            self.meet(subject, self.truth[Subject(parent)])
            self.may(subject.session, self.ever[parent])

    @rule(data=st.data(), how=st.sampled_from(["startup", "resume", "compact", "clear", "fork"]))
    def again(self, data: st.DataObject, how: str) -> None:
        session = data.draw(st.sampled_from(sorted(self.ever)))
        self.step(lambda tx: begin_session(tx, self.context(Subject(session)), how, (session,), self.now()))

    @rule(data=st.data(), why=st.sampled_from(["clear", "logout", ""]))
    def end(self, data: st.DataObject, why: str) -> None:
        session = data.draw(st.sampled_from(sorted(self.ever)))
        self.step(lambda tx: end_session(tx, self.context(Subject(session)), why, self.now()))

    # calls

    @rule(data=st.data(), gives=LABELS, asked=st.booleans())
    def request(self, data: st.DataObject, gives: Labels, asked: bool) -> None:
        subject = self.any_subject(data)
        call = ToolCall("Bash", {}, call_id=self.name("c"))
        for _ in range(data.draw(st.integers(1, 2))):
            self.step(lambda tx: expect(tx, subject, call, analysis(gives), DIGEST, self.now(), asked=asked))
        self.out.append(Out(subject, call, gives))
        self.may(subject.session, gives)

    @rule(
        data=st.data(),
        way=st.sampled_from([settle_result, settle_failure]),
        text=st.sampled_from(["", "quiet", "text", "quiet\ntext"]),
        again=st.booleans(),
    )
    @precondition(lambda self: self.out)
    def result(self, data: st.DataObject, way: Callable[..., object], text: str, again: bool) -> None:
        one = data.draw(st.sampled_from(self.out))
        self.step(
            lambda tx: way(
                tx, one.subject, one.call, text, self.now(), digest=DIGEST, fresh=lambda: analysis(one.gives)
            ),
        )
        quiet = text == "" or (text == "quiet" and Label.SECRET not in one.gives)
        self.meet(one.subject, frozenset() if quiet else one.gives)
        if not again:
            self.out.remove(one)

    @rule(data=st.data())
    @precondition(lambda self: self.out)
    def refuse(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(self.out))
        self.step(lambda tx: settle_refusal(tx, one.subject, one.call, digest=DIGEST))

    @rule(data=st.data(), gives=LABELS)
    def mention(self, data: st.DataObject, gives: Labels) -> None:
        subject = self.any_subject(data)
        what = self.name("file")
        self.step(lambda tx: expose(tx, subject, "prompt", analysis(gives, what).effects, self.now()))
        self.meet(subject, gives)

    # agents

    @rule(data=st.data(), kind=TYPES)
    def spawn(self, data: st.DataObject, kind: str) -> None:
        subject = self.any_subject(data)
        call = ToolCall("Agent", {"subagent_type": kind}, call_id=self.name("c"))
        self.step(lambda tx: expect(tx, subject, call, Analysis(), DIGEST, self.now()))
        self.spawns.append(Spawn(subject, call, self.truth[subject]))

    @rule(data=st.data(), how=st.sampled_from(["told", "guess", "launched", "first call"]))
    @precondition(lambda self: self.spawns)
    def begin(self, data: st.DataObject, how: str) -> None:
        spawn = data.draw(st.sampled_from(self.spawns))
        self.spawns.remove(spawn)
        child = Subject(spawn.parent.session, self.name("a"))
        kind = spawn.call.tool_input["subagent_type"] or "x"
        context = self.context(child, kind, spawn.call.call_id if how == "told" else "")
        if how == "launched":
            self.step(lambda tx: note_launch(tx, child.session, spawn.call.call_id, child.agent))
        entry = ensure_subject if how == "first call" else begin_agent
        self.step(lambda tx: entry(tx, context, self.now()))
        self.children.append(Child(child, spawn, False))
        self.meet(child, spawn.carries)

    @rule(data=st.data(), meets=LABELS)
    def delegate(self, data: st.DataObject, meets: Labels) -> None:
        parent = self.any_subject(data)
        with self.store.reading() as tx:
            locked = U in {taint.label for taint in tx.taints(parent) if taint.state is TaintState.CONFIRMED}
        child, call = Subject(parent.session, self.name("d")), ToolCall("Agent", {}, call_id=self.name("c"))
        brief = BriefRow(self.name("b"), parent.session, parent.agent, call.call_id, DIGEST, "text", "approved")

        def act(tx: Transaction) -> None:
            tx.put_brief(brief)
            expect(tx, parent, call, Analysis(), DIGEST, self.now(), asked=True)
            row = begin_agent(tx, self.context(child, spawned_by=call.call_id), self.now(), delegate=brief.brief)
            assert bool(row.delegate) == locked
            expose(tx, child, "prompt", analysis(meets, brief.brief).effects, self.now())

        self.step(act)
        spawn = Spawn(parent, call, frozenset() if locked else self.truth[parent])
        self.children.append(Child(child, spawn, locked))
        self.meet(child, spawn.carries | meets)

    @rule(data=st.data(), report=st.booleans())
    @precondition(lambda self: self.children)
    def come_back(self, data: st.DataObject, report: bool) -> None:
        child = data.draw(st.sampled_from(self.children))
        with self.store.reading() as tx:
            before = [taint for taint in tx.taints(child.spawn.parent) if taint.label is U]
        if report:
            parent, call = child.spawn.parent, child.spawn.call
            self.step(lambda tx: note_launch(tx, parent.session, call.call_id, child.subject.agent))
            self.step(
                lambda tx: settle_result(
                    tx, parent, call, "report", self.now(), digest=DIGEST, fresh=lambda: Analysis()
                ),
            )
        self.step(lambda tx: end_agent(tx, self.context(child.subject)))
        brings = self.truth[child.subject]
        if child.delegate:
            with self.store.reading() as tx:
                after = [taint for taint in tx.taints(child.spawn.parent) if taint.label is U]
            assert after == before, "a delegate gave its parent untrusted"
            brings -= {U}
        self.meet(child.spawn.parent, brings)
        self.children.remove(child)

    @rule(data=st.data(), known=st.booleans())
    def message(self, data: st.DataObject, known: bool) -> None:
        sender = self.any_subject(data)
        others = sorted(subject for subject in self.truth if subject.session == sender.session)
        to = data.draw(st.sampled_from(others))
        self.step(lambda tx: join_message(tx, sender, to if known else None))
        with self.store.reading() as tx:
            row = tx.agent(to)
        if known or row is None or row.state == "running":
            self.meet(to, self.truth[sender])

    # what goes wrong

    @rule()
    def restart(self) -> None:
        self.store.close()
        self.store = SqliteStore.open(self.folder + "/state")

    @rule(data=st.data(), gives=LABELS)
    def crash(self, data: st.DataObject, gives: Labels) -> None:
        """Everything that a transaction did before it broke off is as if it had never been."""
        subject = self.any_subject(data)
        with suppress(CrashError), self.store.transaction() as tx:
            expose(tx, subject, "prompt", analysis(gives).effects, 1.0)
            for one in self.out:
                settle_refusal(tx, one.subject, one.call, digest=DIGEST)
            tx.append_audit(1.0, {})
            raise CrashError

    # what always holds

    @invariant()
    def what_is_said_is_what_is_true(self) -> None:
        with self.store.reading() as tx:
            for subject, true in self.truth.items():
                said = labels_of(tx, subject)
                sure = frozenset(one.label for one in provenance(tx, subject) if one.state is TaintState.CONFIRMED)
                assert true <= said, f"lost: {subject} has met {true}, the store says {said}"
                assert said <= self.ever[subject.session], f"false alarm: {subject} has {said}"
                assert said == {one.label for one in provenance(tx, subject)}
                _, was_sure = self.before.get(subject, (frozenset(), frozenset()))
                assert was_sure <= sure, f"shrunk: {subject} had {was_sure}, has {sure}"
                self.before[subject] = said, sure


Machine.TestCase.settings = settings(
    max_examples=examples(50),
    stateful_step_count=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestMachine = Machine.TestCase
