"""Rules on one tool call: joins the table's verdict, pattern matches, objections and the ways of escape.

Everything here reads one :class:`DecisionInput`, within the transaction in which it was made.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from lockgate.configuration.load import Configuration
from lockgate.core.events import Context
from lockgate.core.model import (
    OWN_PACKAGE,
    PAGE_OPENED,
    SPAWNING_TOOLS,
    Analysis,
    Effect,
    EffectKind,
    Label,
    LabelState,
    PolicyDecision,
    Reason,
    Taint,
    Tier,
    ToolCall,
    Variant,
    Verdict,
)
from lockgate.core.questions import Objection, Opinion
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate import session
from lockgate.gate.findings import is_enforced, join_findings, stricter
from lockgate.gate.monitor.masking import Mask
from lockgate.gate.parts import merge
from lockgate.patterns.model import GuardrailResult
from lockgate.policy.decide import decide, possible, strictest
from lockgate.policy.profiles import Profile

if TYPE_CHECKING:
    from typing import Any, Literal

    from lockgate.containment.registry_proxy.lookup import Wanted
    from lockgate.gate.monitor.attendance import LocatedPerson
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import ApprovalRow

    PersonWord = Literal["", "used", "denied", "denied before", "unknown no", "expired", "unproven"]

MESSAGE_TOOL = "SendMessage"
_BARE: frozenset[Verdict] = frozenset()
_CONTAINING = frozenset({Verdict.CONTAIN})
_JUDGING = frozenset({Verdict.JUDGE})
_ASKING = frozenset({Verdict.ASK})
RULES_ROW = "rules"
"""What stands in a reason in the place of a table's row, where a rule set or a plugin objects."""


class DecisionInput(Record):
    """A call of a subject, and everything that it is judged by."""

    tx: Transaction
    context: Context
    call: ToolCall
    digest: str
    """SHA-256 of the exact call, hexadecimal."""
    taints: Sequence[Taint]
    """The subject's, without what this call itself is expected to bring."""
    configuration: Configuration
    contain: Callable[..., Mapping[str, Any] | None]
    """The input that makes a call run contained, in a room, or ``None``. See :class:`~lockgate.gate.parts.Parts`."""
    leave_out: Callable[[Context, ToolCall], Mapping[str, Any] | None]
    """The input with which a search leaves the gate's own state out, or ``None``."""
    now: float
    found: GuardrailResult = GuardrailResult()
    """What the pattern library says to the call."""
    mask: Mask = Mask()
    """Takes what was found out of what is said and recorded."""
    judges: bool = False
    """Whether a judge can be asked."""
    opinion: Opinion | None = None
    """What the judge says of the call in this state, once it was asked."""
    objections: Sequence[Objection] = ()
    """What rule sets and plugins have against the call."""
    noes: Sequence[ApprovalRow] = ()
    """The calls of the session that a person has said no to."""
    place: Callable[[], LocatedPerson | None] = lambda: None
    """Where a person is proven to be. Asked only where a table takes one."""
    wanted: Wanted | None = None
    """What the installs in the call may ask package indexes for; ``None`` where there are none that are covered."""
    is_waited: Callable[[str], bool] = lambda _: True
    """Whether a process waits for the answer to a question, by its id."""

    @property
    def labels(self) -> frozenset[Label]:
        """The subject's labels."""
        return frozenset(taint.label for taint in self.taints)


class _TableResult(Record):
    """The tables' verdict on a call."""

    decision: PolicyDecision
    new_input: Mapping[str, Any] | None = None
    """What the call becomes where it is changed."""
    place: LocatedPerson | None = None
    """Where the person is, where the tables take one."""


class Ruling(Record):
    """The decision on a call, and its grounds."""

    analysis: Analysis
    decision: PolicyDecision
    shadow: PolicyDecision | None = None
    """What the profile that this one stands in for would have said."""
    brief: str = ""
    """The delegate's brief that a person is asked about, if the question is one."""
    brief_id: str = ""
    new_input: Mapping[str, Any] | None = None
    """What the call becomes, where it is to run contained or leaves the gate's state out."""
    lost_in: str = ""
    """The client's permission mode, where it would have lost the question that was due."""
    asks_elsewhere: bool = False
    """Whether a person at another window is to be asked before this holds."""
    unanswerable: bool = False
    """Whether a question was due, the client cannot ask one, and nobody listens elsewhere."""
    approval: str = ""
    """The id under which a person was asked elsewhere, where one was."""
    person: PersonWord = ""
    """What became of that question; empty where nobody elsewhere was asked, or nobody has answered yet."""
    person_says: str = ""
    """The reason that the person gives to the agent."""
    place: LocatedPerson | None = None
    """Where a person is, where the verdict rests on that."""
    reached: tuple[str, ...] = ()
    """Addresses behind names in the call, for the person."""
    window: tuple[int, int] | None = None
    """Rows and columns of the client's terminal, where they are known."""


def rule(question: DecisionInput, analyses: Sequence[Analysis], key: bytes, *, askable: bool) -> Ruling:
    """Decide on a call.

    Args:
        question: The call.
        analyses: What it can do, under each policy of the configuration.
        key: The installation's secret, for the addresses that the session has seen.
        askable: Whether a question about this call is sure to reach a person.
    """
    policies = question.configuration.policies
    analyses = [_with_session_facts(question, each, key) if each.effects else each for each in analyses]
    profiles = [policy.profile for policy in policies]
    result = _with_person(question, analyses, profiles)
    if result.decision.verdict > Verdict.CONTAIN:
        result = _without_state(question, analyses, profiles) or result
    shadows = [
        (analysis, profile.shadow) for analysis, profile in zip(analyses, profiles, strict=True) if profile.shadow
    ]
    shadow = _with_person(question, *zip(*shadows, strict=True)).decision if shadows else None
    ruling = Ruling(merge(analyses), result.decision, shadow, new_input=result.new_input, place=result.place)
    ruling = _join_findings(question, ruling)
    ruling = _join_objections(question, _join_findings(question, _escape(question, ruling)))
    if question.noes:
        import lockgate.gate.monitor.denied_before as denied_before

        approvers = question.configuration.options.approvers
        effects = ruling.analysis.effects
        again = denied_before.ask_again(question.tx, question.noes, effects, ruling.decision, approvers)
        ruling = ruling if again is None else ruling._replace(decision=again, new_input=None)
    elsewhere = ruling.place is not None and ruling.place.needs_no_dialog
    if ruling.decision.verdict is Verdict.ASK and not (askable or elsewhere):
        denied = ruling.decision._replace(verdict=Verdict.DENY)
        return ruling._replace(decision=denied, lost_in=question.context.mode)
    return ruling


def _join_findings(question: DecisionInput, ruling: Ruling) -> Ruling:
    """Join what the pattern library says."""
    if question.found.is_empty:
        return ruling
    return _join(question, ruling, lambda decision: join_findings(decision, question.found))


def _join_objections(question: DecisionInput, ruling: Ruling) -> Ruling:
    """Join what rule sets and plugins have against the call: it can only make the decision stricter."""
    if not question.objections:
        return ruling
    return _join(question, ruling, lambda decision: _against(decision, question))


def _join(question: DecisionInput, ruling: Ruling, join: Callable[[PolicyDecision], PolicyDecision]) -> Ruling:
    """Join something with the decision, or where a profile only observes, with its shadow."""
    if not is_enforced(question.configuration):
        return ruling._replace(shadow=ruling.shadow and join(ruling.shadow))
    decision = join(ruling.decision)
    new_input = ruling.new_input if decision.verdict is ruling.decision.verdict else None
    return ruling._replace(decision=decision, new_input=new_input)


def _against(decision: PolicyDecision, question: DecisionInput) -> PolicyDecision:
    verdict = max(max(objection.verdict, Verdict.ASK) for objection in question.objections)
    if verdict < decision.verdict:
        return decision
    reasons = tuple(
        Reason(
            Effect(EffectKind.EGRESS, question.call.tool, objection.rule, objection.reason),
            RULES_ROW,
            decision.column,
            verdict,
        )
        for objection in question.objections
        if max(objection.verdict, Verdict.ASK) is verdict
    )
    return stricter(decision, verdict, reasons, Tier.RULES)


def _with_person(question: DecisionInput, analyses: Sequence[Analysis], profiles: Sequence[Profile]) -> _TableResult:
    """What the tables say, with a person where only one can let the call through. Else nobody looks for a person."""
    alone = _possible(question, analyses, profiles, _BARE)
    if alone.decision.verdict is not Verdict.DENY:
        return alone
    asked = _possible(question, analyses, profiles, _ASKING).decision
    if asked.verdict is Verdict.DENY:
        return _TableResult(alone.decision)
    place = question.place()
    is_reachable = place is not None and place.is_reachable
    return _TableResult(asked if is_reachable else alone.decision, place=place)


def _possible(
    question: DecisionInput, analyses: Sequence[Analysis], profiles: Sequence[Profile], asking: frozenset[Verdict]
) -> _TableResult:
    """What the tables say, as far as this host can carry it out for this call.

    A call is contained where each of its effects may be: one that needs a person's yes runs as it stands after it, so
    that the person is then told of all its effects.
    """
    flagged = None if question.opinion is None else question.opinion.flagged
    labels = question.labels

    def decide_with(able: frozenset[Verdict]) -> PolicyDecision:
        return strictest(
            decide(analysis.effects, labels, profile, able=able, flagged=flagged)
            for analysis, profile in zip(analyses, profiles, strict=True)
        )

    judging = asking | (_JUDGING if question.judges else _BARE)
    if flagged is None:
        # A judge is asked about the whole of a call that is not contained, and so is what it says about that whole.
        decision = decide_with(_CONTAINING | judging)
        if decision.verdict is Verdict.ALLOW:
            return _TableResult(decision)
        new_input = _contain(question) if decision.verdict is Verdict.CONTAIN else None
        if new_input is not None:
            return _TableResult(decision, new_input)
    return _TableResult(decide_with(judging))


def _contain(question: DecisionInput) -> Mapping[str, Any] | None:
    from lockgate.gate.monitor import rooms

    room = rooms.name_of(question.tx, question.context.subject, question.labels)
    named = [question.wanted] if question.wanted else []
    return question.contain(question.context, question.call, room, *named)


def _without_state(
    question: DecisionInput, analyses: Sequence[Analysis], profiles: Sequence[Profile]
) -> _TableResult | None:
    """Let a search run that leaves out the gate's own state below its folder; ``None`` where that does not suffice.

    It does not where something else stands against the call: one that a person says yes to runs as it stands.
    """
    from lockgate.resources.paths import OWN_BELOW

    below = [effect for analysis in analyses for effect in analysis.effects if effect.rule == OWN_BELOW]
    new_input = question.leave_out(question.context, question.call) if below else None
    if new_input is None:
        return None
    rest = [[effect for effect in analysis.effects if effect.rule != OWN_BELOW] for analysis in analyses]
    decision = strictest(
        decide(effects, question.labels, profile) for effects, profile in zip(rest, profiles, strict=True)
    )
    if decision.verdict is not Verdict.ALLOW:
        return None
    reason = Reason(below[0], below[0].row, decision.column, Verdict.CONTAIN)
    contained = decision._replace(verdict=Verdict.CONTAIN, reasons=(reason,), tier=Tier.CONTAINMENT)
    return _TableResult(contained, new_input)


def _with_session_facts(question: DecisionInput, analysis: Analysis, key: bytes) -> Analysis:
    """What a call can do, with what the session says of it: which addresses it has seen, and who wrote a script."""
    found = _with_own_scripts(
        question, _with_known_addresses(question, _with_known_deployments(question, analysis), key)
    )
    if not question.call.tool.startswith("mcp__"):
        return found
    from lockgate.gate.monitor.open_pages import with_open_page

    return with_open_page(question.tx, question.context.subject.session, question.call, found, question.now)


def _with_known_deployments(question: DecisionInput, analysis: Analysis) -> Analysis:
    """What a call can do, without handing a secret to a provider that a person has let it be handed to before."""
    if not any(effect.deployment for effect in analysis.effects):
        return analysis
    from lockgate.gate.monitor.deployments import is_known

    return analysis._replace(effects=tuple(e for e in analysis.effects if not is_known(question.tx, e.deployment)))


# ---------------------------------------------------------------- addresses
def _with_known_addresses(question: DecisionInput, analysis: Analysis, key: bytes) -> Analysis:
    if not any(effect.kind is EffectKind.FETCH or effect.variant is Variant.DOWNLOAD for effect in analysis.effects):
        return analysis
    # With a secret in the context, a result may have been shaped with it: then only a person's address is known.
    human_only = Label.SECRET in question.labels

    def as_known(effect: Effect) -> Effect:
        if effect.kind is not EffectKind.FETCH or effect.variant is not Variant.PLAIN or not effect.address:
            return effect
        subject = question.context.subject
        # A browser is logged in to places: to open an address that strangers wrote can act there.
        persons = human_only or effect.rule == PAGE_OPENED
        if not session.knows(question.tx, key, subject.session, effect.address, human_only=persons):
            return effect
        return effect._replace(variant=Variant.KNOWN)

    def is_given(effect: Effect) -> bool:
        # Who gives an address to install from has said that what lies there is run.
        if effect.variant is not Variant.DOWNLOAD or not effect.address:
            return False
        return session.knows(question.tx, key, question.context.subject.session, effect.address, human_only=True)

    return analysis._replace(effects=tuple(as_known(effect) for effect in analysis.effects if not is_given(effect)))


# ---------------------------------------------------------------- scripts
_COARSE = 2.0
"""Seconds by which a file system's clock may be late."""


def _with_own_scripts(question: DecisionInput, analysis: Analysis) -> Analysis:
    """What the agent wrote into a script after it had read untrusted text counts as if it were typed."""
    if all(effect.changed is None for effect in analysis.effects):
        return analysis
    began = min((taint.at for taint in question.taints if taint.label is Label.UNTRUSTED), default=None)
    if began is None:
        return analysis

    def own(effect: Effect) -> Effect:
        if effect.changed is None or effect.changed < began - _COARSE:
            return effect
        variant = Variant.PLAIN if effect.variant is Variant.SCRIPT or effect.rule == OWN_PACKAGE else effect.variant
        because = f"{effect.because}; it was written after this session had read untrusted text"
        return effect._replace(variant=variant, because=because)

    return analysis._replace(effects=tuple(map(own, analysis.effects)))


# ---------------------------------------------------------------- delegates
def _escape(question: DecisionInput, ruling: Ruling) -> Ruling:
    """Hold a delegate's brief, or a message to a delegate, against the subject's labels."""
    call, column = question.call, ruling.decision.column
    if call.tool != MESSAGE_TOOL and call.tool not in SPAWNING_TOOLS:
        return ruling
    held = any(
        possible(policy.profile.cell("egress", column), _BARE) > Verdict.ALLOW
        for policy in question.configuration.policies
    )
    if ruling.decision.verdict is Verdict.DENY or not held:
        return ruling
    from lockgate.gate.delegates import briefs

    context = question.context
    if briefs.wants_delegate(call) and column in (LabelState.UNTRUSTED, LabelState.BOTH):
        text = briefs.brief_of(call)
        if question.configuration.options.approvers is not None:
            text = briefs.BriefRefusal("no approver can sign a brief: the person has the work done by a new session")
        if isinstance(text, briefs.BriefRefusal):
            return _overrule(ruling, Verdict.DENY, "escape:brief", text.because)
        row = briefs.ask(question.tx, context.subject, call, question.digest, text, question.now)
        because = "a delegate with clean labels would act on this brief"
        return _overrule(ruling, Verdict.ASK, "escape:brief", because)._replace(brief=text, brief_id=row.brief)
    if call.tool == MESSAGE_TOOL and briefs.find_addressed(question.tx, context.subject.session, recipient(call)):
        because = "a delegate acts on the brief that a person approved and on nothing else; start a new one"
        return _overrule(ruling, Verdict.DENY, "escape:message", because)
    return ruling


def _overrule(ruling: Ruling, verdict: Verdict, name: str, because: str) -> Ruling:
    effect = Effect(EffectKind.EGRESS, "delegate", name, because)
    reason = Reason(effect, "egress", ruling.decision.column, verdict)
    return ruling._replace(decision=ruling.decision._replace(verdict=verdict, reasons=(reason,), tier=Tier.TABLE))


def recipient(call: ToolCall) -> str:
    """The receiver of a message; empty where it names none."""
    to = call.tool_input.get("to")
    return to if isinstance(to, str) else ""
