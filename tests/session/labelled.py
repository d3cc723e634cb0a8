"""Words for tests of labels: whose, of which call, and what a call can bring."""

from __future__ import annotations

from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, EffectKind, Label, Subject, Taint, ToolCall
from lockgate.gate.session import begin_agent, expect
from lockgate.store.protocol import Transaction
from lockgate.store.rows import BriefRow

U, S = Label.UNTRUSTED, Label.SECRET
NONE: frozenset[Label] = frozenset()
KEY = b"k" * 32
MAIN = Subject("s")
DIGEST = "0" * 64


def ctx(session: str = "s", agent: str = "", **more: str) -> Context:
    return Context("test", Subject(session, agent), **more)  # type: ignore[arg-type]


def source(*gives: Label, what: str = "page", quiet: tuple[str, ...] = ()) -> Analysis:
    kinds = {U: EffectKind.INGEST, S: EffectKind.READ_SECRET}
    effects = tuple(Effect(kinds[label], what, "test:rule", "a test", gives=label) for label in gives)
    return Analysis(effects, quiet=quiet)


def call(call_id: str = "c1", tool: str = "Bash", **tool_input: str) -> ToolCall:
    return ToolCall(tool, tool_input, call_id=call_id)


def never() -> Analysis:
    raise AssertionError("a call that was seen is not analysed anew")


def taint(tx: Transaction, subject: Subject, *labels: Label) -> None:
    tx.add_taints(subject, [Taint(label, f"{label.value} thing", "Bash", f"t-{label.value}", 1.0) for label in labels])


def spawn(tx: Transaction, subject: Subject, call_id: str, kind: str = "general", *, asked: bool = False) -> None:
    expect(tx, subject, call(call_id, "Agent", subagent_type=kind, prompt="p"), Analysis(), DIGEST, 1.0, asked=asked)


def delegate(tx: Transaction, agent: str = "d", parent: str = "") -> None:
    tx.put_brief(BriefRow("b1", "s", parent, "c9", DIGEST, "push", "approved"))
    begin_agent(tx, ctx(agent=agent, agent_type="lockgate:delegate"), 2.0, delegate="b1")
