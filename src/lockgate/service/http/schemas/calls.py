"""The API's records of decisions on calls, and of questions to a person."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from lockgate.core.model import Label, LabelState
from lockgate.service.http.schemas import ApprovalState, Given, Model, SourceInfo, VerdictWord
from lockgate.service.http.views.display_values import Shown, ShownJson

MOST_REASON = 1000
"""Characters of a person's reason."""

# -- what a call is and does


class Piece(Model):
    """A part of a text, and which effects it has. All pieces in order are the whole text."""

    text: Shown
    effects: list[int] = Field(description="Indices into `effects`; empty for what has none.")


class CallField(Model):
    """One argument of a call."""

    name: Shown
    pieces: list[Piece]


class Call(Model):
    """A call as it is shown, with the parts that have effects marked."""

    tool: Shown
    fields: list[CallField]
    whole: bool = Field(description="Whether nothing is left out. What is not whole cannot be approved.")


class EffectShown(Model):
    """One thing that a call can do."""

    row: str = Field(description="The row of the policy table: `egress`, `fetch_known` ...")
    what: Shown = Field(description="The host, path or command.")
    rule: Shown = Field(description="The rule that found it: `program:git/push`.")
    because: Shown
    gives: Label | None = Field(description="The label that the result gives.")


class ReasonShown(Model):
    """Why a verdict was reached."""

    rule: Shown
    row: str
    because: Shown


class MatchShown(Model):
    """One match of the pattern library. What was matched is nowhere kept."""

    rule: Shown
    type: Shown
    severity: str
    path: Shown = Field(description="Where in the call.")
    encoding: list[str]
    decision: str


class Guardrail(Model):
    """What the pattern library found."""

    decision: str
    matches: list[MatchShown]
    matches_omitted: int
    elapsed_ms: float


class JudgeOpinion(Model):
    """What the judge said."""

    flagged: bool
    reason: Shown
    failed: Shown = Field(description="Why there is no opinion; empty where there is one.")
    model: Shown
    ms: float
    cached: bool


# -- decisions


class DecisionSummary(Model):
    """One decision."""

    seq: int = Field(description="Its number in the audit chain.")
    at: datetime
    session: Shown
    agent: Shown
    client: Shown
    tool: Shown
    call: Shown
    summary: Shown = Field(description="The call in one line, without credentials.")
    verdict: VerdictWord | None
    would_have: VerdictWord | None = Field(description="What another profile would have said, where one is tried.")
    state: LabelState | None = Field(description="The column of the table that decided.")
    profile: Shown
    tier: str = Field(description="Which step decided: labels, local, table, containment, judge, person ...")
    ms: float | None = Field(description="Milliseconds, with those of a judge or a person.")
    rules: list[Shown] = Field(description="The rules of its reasons.")
    matches: int = Field(description="How much the pattern library found.")


class DecisionPage(Model):
    """Decisions, newest first."""

    items: list[DecisionSummary]
    next: int | None = Field(description="`before` of the next page; null where nothing older can match.")
    complete: bool = Field(description="False where the search stopped for time: go on with `next`.")


class Related(Model):
    """Another record about the same call."""

    seq: int
    at: datetime
    event: str = Field(description="outcome, asked, answered, approve, deny ...")
    text: Shown


class DecisionDetail(DecisionSummary):
    """One decision with its evidence."""

    cwd: Shown
    digest: str = Field(description="SHA-256 of the exact call.")
    record: str = Field(description="Digest of this link of the audit chain.")
    previous: str = Field(description="Digest of the link before.")
    input: ShownJson = Field(description="The call's arguments, redacted and cut as the audit keeps them.")
    labels: list[Label]
    provenance: list[SourceInfo]
    effects: list[EffectShown]
    effects_omitted: int
    reasons: list[ReasonShown]
    judge: JudgeOpinion | None
    guardrail: Guardrail | None
    approval: str | None = Field(description="The question that a person was asked.")
    related: list[Related]


class GateShown(Model):
    """One gate, which keeps a chain of records of its own."""

    gate: str
    name: Shown = Field(description="What people call it; empty where it has no name.")
    own: bool = Field(description="Whether it is this machine's.")
    records: int
    anchored: int = Field(description="Up to which record its head was anchored centrally.")
    anchored_at: datetime | None


class Gates(Model):
    """All gates of a store."""

    items: list[GateShown]


# -- approvals


class ApprovalSummary(Model):
    """One question to a person."""

    approval: str
    state: ApprovalState = Field(description="A question whose time is over is `expired`, used or not.")
    asked_at: datetime
    expires_at: datetime
    decided_at: datetime | None
    decided_by: Shown
    reason: Shown
    client: Shown
    session: Shown
    agent: Shown
    tool: Shown
    cwd: Shown
    summary: Shown
    profile: Shown
    column: LabelState | None


class ApprovalPage(Model):
    """Questions: the oldest first where they wait, else the newest first."""

    items: list[ApprovalSummary]
    pending: int = Field(description="How many wait.")
    now: datetime = Field(description="The server's clock, to count down by.")


class Approval(ApprovalSummary):
    """One question, whole: what a person has to see before they answer."""

    call: Call
    brief: Shown = Field(description="For a delegate: what it is to do.")
    effects: list[EffectShown]
    effects_omitted: int
    reasons: list[ReasonShown]
    reaches: list[Shown] = Field(description="Whom it can reach.")
    provenance: list[SourceInfo]
    guardrail: Guardrail | None
    labels: list[Label]
    shown: str = Field(description="Digest of all that is shown; a yes must give it back.")
    now: datetime


Digest = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class Approve(Given):
    """A yes, to exactly what was shown."""

    shown: Digest = Field(description="`shown` of the question as it was looked at.")
    reason: Annotated[str, Field(max_length=MOST_REASON)] = ""


class Deny(Given):
    """A no."""

    reason: Annotated[str, Field(max_length=MOST_REASON)] = Field(default="", description="What the agent is told.")


class Reported(Model):
    """The case of a needless stop, as a file without credentials and folders. Nothing was sent."""

    file: Shown = Field(description="Where it lies, on the machine of the dashboard.")
