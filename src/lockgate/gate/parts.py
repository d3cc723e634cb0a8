"""The parts that a gate is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lockgate.analysis import analyse
from lockgate.configuration.load import Configuration
from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, ToolCall
from lockgate.core.questions import (
    NO_DIALOG,
    JudgeQuestion,
    Objection,
    Opinion,
    PersonQuestion,
    ResultQuestion,
    RuleSets,
    RulesQuestion,
    TurnQuestion,
)
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate import session
from lockgate.patterns.model import GuardrailResult
from lockgate.resources.host_view import AnalysisRules, HostView
from lockgate.store.audit import record
from lockgate.system.digests import canonical_json, sha256

if TYPE_CHECKING:
    from typing import Any

    from lockgate.containment.registry_proxy.lookup import Wanted
    from lockgate.core.questions import Need
    from lockgate.store.protocol import Store, Transaction
    from lockgate.store.rows import SessionRow

Texts = Sequence[tuple[str, str]]
"""Texts with the paths to them."""

KeptWriter = Callable[[Context, str, Callable[[str], str]], None]
"""Reads the file in which the client keeps a long result, and writes what the function makes of it, where that differs.

Raises ``OSError`` or :class:`lockgate.core.errors.LockgateError` where it cannot be, or must not be touched.
"""


def no_kept_file(_: Context, file: str, __: Callable[[str], str]) -> None:
    """Where no file may be touched."""
    raise OSError(f"{file} cannot be rewritten")


class Guard(Record):
    """The pattern library on this machine. Without one, everything is approved.

    The checks raise :class:`lockgate.core.errors.LockgateError` where the library cannot be asked.
    """

    check_input: Callable[[Context, ToolCall], GuardrailResult] = lambda *_: GuardrailResult()
    check_output: Callable[[Context, ToolCall, Texts], tuple[GuardrailResult, Mapping[str, str]]] = lambda *_: (
        GuardrailResult(),
        {},
    )
    """Checks texts of a result; also gives, by path, each text that changes when what must go is taken out."""
    prepare: Callable[[Context], Sequence[Exception]] = lambda _: ()
    """Begins to get ready for a session, where that takes time, and hardly waits for it.

    Gives what is wrong with the files of patterns, as far as that is known by then.
    """


class Consultants(Record):
    """Everyone whom the gate asks beside its tables, and how a hook waits for the answers.

    A program that awaits them (:meth:`lockgate.gate.Monitor.deliberate`) needs only the two that answer at once.
    """

    has_rules: Callable[[Configuration], bool] = lambda _: False
    """Whether there is a rule set or a plugin to be asked."""
    rule_sets: Callable[[Configuration], RuleSets] = lambda _: RuleSets()
    """Which rules and plugins these are. Only plugins are asked about results."""
    can_judge: Callable[[Configuration], bool] = lambda _: False
    """Whether a judge can be asked on this machine."""
    rules: Callable[[RulesQuestion], Sequence[Objection]] = lambda _: ()
    results: Callable[[ResultQuestion], Sequence[Objection]] = lambda _: ()
    authors: Callable[[ResultQuestion], None] | None = None
    """Has a service say whose words a result is; ``None`` where none can be asked. Never raises."""
    judge: Callable[[JudgeQuestion], Opinion] = lambda _: Opinion(flagged=True, reason="", failed="there is no judge")
    """Never raises: a judge that fails has an opinion that says so."""
    turn: Callable[[Context], Callable[[TurnQuestion], frozenset[str]] | None] = lambda _: None
    """A reader of the calls that were made together, where one can tell. Neither raises."""
    wait: Callable[[PersonQuestion], None] = lambda _: None
    """Returns once a person has decided, or the time is over."""
    waits_for_person: Callable[[Configuration], bool] = lambda _: False
    """Whether a client that nobody sits before waits for a person elsewhere. Asked only where a person is needed."""
    is_heard: Callable[[Configuration, Transaction], bool] = lambda *_: False
    """Whether somebody elsewhere is proven to hear of a question. Asked only where a table takes such a person."""
    unattended: Callable[[Context, ToolCall], str] = lambda *_: NO_DIALOG
    """Why a question in the client's own dialog may be answered by somebody else than the person before it, in words;
    empty where it cannot. Asked only where a table takes such a person."""

    asking_tool: str = ""
    """The client's tool by which an agent asks its person, where a question of the gate can be put by it."""
    window: Callable[[Context], tuple[int, int] | None] = lambda _: None
    """Rows and columns of the terminal that the client's dialog is drawn on, where that is known."""
    is_waited: Callable[[str], bool] = lambda _: True
    """Whether a process waits for the answer to a question, by its id."""

    def ask(self, need: Need) -> Any:
        """Ask whom a question is for, and wait for the answer."""
        match need:
            case RulesQuestion():
                return self.rules(need)
            case ResultQuestion():
                return self.authors(need) if self.authors and need.objects else self.results(need)
            case JudgeQuestion():
                return self.judge(need)
            case TurnQuestion():
                tell = self.turn(need.context)
                return tell(need) if tell else frozenset()
            case _:
                return self.wait(need)


class Parts(Record):
    """The parts of a gate."""

    store: Store
    configure: Callable[[Context], Configuration]
    host_view: Callable[[Context, AnalysisRules], HostView]
    clock: Callable[[], float]
    parents: Callable[[Context], tuple[str, ...]] = lambda _: ()
    """The sessions that a fork's transcript names, where the client has written it. Asked once for a fork."""
    history: Callable[[Context], bool] = lambda _: False
    """Whether a session has read something already. Asked once, for a session whose beginning was not seen."""
    above: Callable[[Context], Sequence[str]] = lambda _: ()
    """The processes that the client's own comes from, the nearest first. Asked once, for a session that is new."""
    results_since: Callable[[Context, float], Sequence[str]] = lambda *_: ()
    """The calls whose results a session's transcript holds that are newer than a time. Asked with the last time at
    which the store knows of the session."""
    results_before: Callable[[Context, float], Sequence[str]] = lambda *_: ()
    """Calls whose results a session's transcript holds that are older than a time. Asked with the time at which the
    session began."""
    contain: Callable[..., Mapping[str, Any] | None] = lambda *_: None
    """The input that makes a call run contained, in the room of a name; ``None`` where it cannot be.

    Asked only where a table says so: with the context, the call, the room, and for an install what it may ask package
    indexes for.
    """
    head: Callable[[Context], tuple[str, str]] = lambda _: ("", "")
    """The root of the repository of a session's workspace, and the commit that is checked out; empty where none is."""
    installs: Callable[[Context, Sequence[Analysis]], tuple[list[Analysis], Wanted | None]] = lambda _, analyses: (
        list(analyses),
        None,
    )
    """What a call can do, where its installs are compared with what was committed before the session; and what they
    may ask package indexes for. It reads the store when it is asked, so no transaction may be open then."""
    end_rooms: Callable[[Sequence[str]], object] = lambda _: None
    """Ends rooms of contained commands, by their names, with every process in them."""
    original: Callable[[Context, ToolCall], ToolCall] = lambda _, call: call
    """The call that an agent made, where ``contain`` or ``leave_out`` changed it; else the call itself."""
    leave_out: Callable[[Context, ToolCall], Mapping[str, Any] | None] = lambda *_: None
    """The input with which a search leaves the gate's own state out; ``None`` where the tool cannot be told to."""
    guard: Guard = Guard()
    write_kept: KeptWriter = no_kept_file
    consultants: Consultants = Consultants()
    timer: Callable[[], float] = lambda: 0.0
    """Seconds of a clock that only goes forward."""
    trace: Callable[[], str] = lambda: ""
    """The trace that the client's process is a part of, as W3C Trace Context writes it; empty where it is none."""
    earlier: Callable[[Context, HostView], HostView] = lambda _, around: around
    """Tells the host view what earlier calls have left: files with secrets or with code from the network, and
    servers. It reads the store when it is asked, so no transaction may be open then."""
    read_file: Callable[[str], bytes | None] = lambda _: None
    """Reads a regular file of at most a mebibyte; ``None`` for all others."""
    seen: Callable[[Context, ToolCall], Sequence[Effect]] = lambda *_: ()
    """Effects that somebody nearer to the call's files sees. They are added, so they can only make it stricter."""

    def analyse(
        self, context: Context, call: ToolCall, configuration: Configuration, *, earlier: bool = False
    ) -> list[Analysis]:
        """What a call can do, under each policy of the configuration; with ``earlier``, after what calls have left."""
        around = [self.host_view(context, policy.rules) for policy in configuration.policies]
        found = [analyse(call, self.earlier(context, each) if earlier else each) for each in around]
        seen = tuple(self.seen(context, call))
        if not seen:
            return found
        return [each._replace(effects=tuple(dict.fromkeys((*each.effects, *seen))), receipt=()) for each in found]

    def enter(self, tx: Transaction, context: Context, now: float) -> SessionRow:
        """Make the subject known; a delegate is bound to its brief by the call that spawned it."""
        if context.subject.agent and tx.agent(context.subject) is None:
            from lockgate.gate.delegates import briefs

            brief = briefs.find_waiting(tx, context.subject, context.agent_type, context.spawned_by)
            if brief is not None:
                session.begin_agent(tx, context, now, delegate=brief.brief)
                bound = briefs.bind_brief(tx, context.subject, brief)
                tx.append_audit(now, record.approval_record(context, bound))
        return self.make_known(tx, context, now)

    def make_known(self, tx: Transaction, context: Context, now: float) -> SessionRow:
        """Make sure that the store has a session and, for a sub-agent, that agent."""
        self.read_on(tx, context, now)
        return session.ensure_subject(
            tx, context, now, history=lambda: self.history(context), above=lambda: self.above(context)
        )

    def read_on(self, tx: Transaction, context: Context, now: float) -> None:
        """Give a session its labels where its transcript knows more of it than the store; first for every event."""
        unknown = session.label_unknown_results(tx, context, now, self.results_since, self.results_before)
        if unknown:
            tx.append_audit(now, record.event_record(context, "unknown-results", {"calls": unknown}))


_TEXT = canonical_json(default=str, allow_nan=True)


def canonical(call: ToolCall) -> str:
    """The exact call as canonical JSON: tool, input and working folder."""
    return _TEXT([call.tool, dict(call.tool_input), call.cwd])


def call_digest(call: ToolCall) -> str:
    """SHA-256 of the exact call."""
    return digest_of(canonical(call))


def digest_of(body: str) -> str:
    """What :func:`call_digest` gives for the call of which :func:`canonical` made a text."""
    return sha256(b"lockgate call\0" + body.encode("utf-8", "surrogatepass")).hexdigest()


def merge(analyses: Sequence[Analysis]) -> Analysis:
    """The union of what several analyses of one call found."""
    if len(analyses) == 1:
        return analyses[0]
    effects = dict.fromkeys(effect for analysis in analyses for effect in analysis.effects)
    quiet = [analysis.quiet for analysis in analyses if analysis.gives]
    common = tuple(line for line in quiet[0] if all(line in other for other in quiet[1:])) if quiet else ()
    receipts = [analysis.receipt for analysis in analyses if analysis.gives]
    return analyses[0]._replace(
        effects=tuple(effects),
        hints=tuple(dict.fromkeys(hint for analysis in analyses for hint in analysis.hints)),
        quiet=common,
        echoes=any(analysis.echoes for analysis in analyses),
        flows=tuple(dict.fromkeys(flow for analysis in analyses for flow in analysis.flows)),
        commands=tuple(command for analysis in analyses for command in analysis.commands),
        listens=tuple(dict.fromkeys(name for analysis in analyses for name in analysis.listens)),
        keeps=frozenset(label for analysis in analyses for label in analysis.keeps),
        left=tuple(dict.fromkeys(left for analysis in analyses for left in analysis.left)),
        receipt=tuple(dict.fromkeys(line for lines in receipts for line in lines)) if all(receipts) else (),
        written=tuple(dict.fromkeys(path for analysis in analyses for path in analysis.written)),
        writes=any(analysis.writes for analysis in analyses),
    )
