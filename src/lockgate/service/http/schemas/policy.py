"""The API's records of policy: tables, patterns, what-if, the audit chain, and the doctor."""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import Field

from lockgate.core.model import Label, LabelState
from lockgate.service.http.schemas import Given, Model, VerdictWord
from lockgate.service.http.schemas.calls import Call
from lockgate.service.http.views.display_values import Shown, ShownJson

Verdicts = dict[LabelState, VerdictWord]

# -- tables


class Cell(Model):
    """One cell of a policy table."""

    column: LabelState
    verdicts: list[VerdictWord] = Field(description="From lenient to strict; the first that the host can do is taken.")
    flagged: VerdictWord | None = Field(description="What a call gets that the judge has flagged, where it is asked.")
    layer: Shown = Field(description="Which layer of the configuration says so; `shipped` for the profile itself.")


class Row(Model):
    """One row of a policy table: a kind of effect."""

    row: str
    cells: list[Cell]


class TableInfo(Model):
    """One policy. Where several hold, a call gets the strictest of their verdicts."""

    profile: Shown
    shadow: Shown | None = Field(description="The profile that is tried beside it.")
    rows: list[Row]


class SettingInfo(Model):
    """Another value of the configuration."""

    key: Shown
    value: ShownJson
    layer: Shown


class LayerShown(Model):
    """One file of the configuration."""

    name: Shown
    path: Shown
    state: str = Field(description="valid, untrusted, last good, invalid, absent.")
    sha256: str | None


class FileProblem(Model):
    """A problem of a file."""

    file: Shown
    line: int
    key: Shown
    problem: Shown


class PolicyInfo(Model):
    """The policy of a workspace."""

    workspace: Shown
    workspaces: list[Shown] = Field(description="The folders that can be asked about: those of the sessions.")
    tables: list[TableInfo]
    settings: list[SettingInfo]
    layers: list[LayerShown]
    problems: list[FileProblem]
    notes: list[Shown]


# -- patterns


class GroupInfo(Model):
    """A group of patterns."""

    id: Shown
    name: Shown
    side: Shown = Field(description="Whether it looks at what goes into a tool, or at what comes out.")
    mode: Shown
    kind: Shown
    timeout_ms: float
    fallback: Shown = Field(description="What holds where there was no time to look.")
    rules: int
    hits: int


class RuleInfo(Model):
    """One pattern."""

    id: Shown
    group: Shown
    type: Shown
    severity: Shown
    mode: Shown
    layers: list[Shown]
    provider: Shown
    source: Shown
    hits: int = Field(description="How often it was found, by the audit.")
    last_at: datetime | None


class Patterns(Model):
    """The pattern library, and what it has found."""

    version: Shown
    workspace: Shown
    groups: list[GroupInfo]
    rules: list[RuleInfo] = Field(description="Those with hits first, the most first.")
    total: int = Field(description="How many rules match the filter.")
    next: int | None = Field(description="`offset` of the next page.")
    layers: list[LayerShown]
    problems: list[FileProblem]
    notes: list[Shown]


# -- what if


class WhatIf(Given):
    """A call that nobody makes."""

    tool: str = Field(default="Bash", max_length=200, description="The tool's name, as a client spells it.")
    command: str | None = Field(default=None, max_length=100_000, description="Stands in for `input.command`.")
    input: dict[str, Any] | None = Field(default=None, description="The tool's arguments.")
    workspace: str = Field(default="", max_length=4096, description="One of `workspaces` of `/policy`, or empty: home.")


class EffectExplained(Model):
    """One effect, and what it would get alone."""

    kind: str
    row: str
    what: Shown
    rule: Shown
    because: Shown
    address: Shown
    gives: Label | None
    uncontainable: Shown = Field(description="Why it is not contained; empty where it is.")
    verdicts: Verdicts


class ObjectionShown(Model):
    """A rule's objection to the call, in every state."""

    rule: Shown
    verdict: VerdictWord
    reason: Shown


class TierShown(Model):
    """One step of the decision."""

    tier: str
    says: Shown
    verdict: VerdictWord | None


class PatternFound(Model):
    """A match of the pattern library in the call, without the text of it."""

    rule: Shown
    type: Shown
    path: Shown
    decision: str


class FlowShown(Model):
    """A secret that reaches what sends."""

    source: Shown
    through: list[Shown]
    sink: Shown
    certain: bool
    says: Shown


class LocalVerdicts(Model):
    """The answers on this machine."""

    verdicts: Verdicts
    cannot_contain: Shown
    cannot_judge: Shown
    decided_by: dict[LabelState, str]
    tiers: dict[LabelState, list[TierShown]]


class ObjectWordsShown(Model):
    """The authors of an issue or pull request that the call reads, as far as they are known."""

    object: Shown
    says: Shown = Field(description="Whether a result of it gives a label, and why, in a sentence.")
    authors: list[Shown] = Field(description="Who wrote it, each with their permission and the part they wrote.")


class CallExplanation(Model):
    """The output of `lockgate explain --json`, with the call marked as an approval's is."""

    tool_name: Shown
    call: Call
    cwd: Shown
    profiles: list[Shown]
    programs: list[Shown | None]
    category: str
    gives: list[Label]
    verdicts: Verdicts
    here: LocalVerdicts
    objections: list[ObjectionShown]
    patterns: list[PatternFound]
    effects: list[EffectExplained]
    flows: list[FlowShown]
    hints: list[Shown]
    commands: ShownJson = Field(description="The command as a tree (`docs/explain-json.md`); null where there is none.")
    whose_words: list[ObjectWordsShown]


# -- the audit chain, the doctor


class ChainHead(Model):
    """The last link of the audit chain."""

    seq: int
    digest: str


class VerificationShown(Model):
    """The outcome of a check of the whole chain, and of the state against it."""

    ok: bool = Field(description="Whether the chain holds.")
    records: int = Field(description="How many records hold, from the first.")
    problem: Shown
    seq: int | None = Field(description="The record where it is wrong.")
    against: list[Shown] = Field(description="What answers and labels say against the chain; the first of them.")
    against_count: int = Field(description="How many there are.")
    head: ChainHead | None
    at: datetime = Field(description="When it was checked.")
    seconds: float = Field(description="How long that took.")


class Audit(Model):
    """The state of the audit chain."""

    head: ChainHead | None
    records: int
    verified: VerificationShown | None = Field(description="The last check by this dashboard.")
    verifying: bool


class Workspace(Given):
    """The workspace that is meant."""

    workspace: str = Field(default="", max_length=4096, description="One of `workspaces` of `/policy`, or empty: home.")


class CheckShown(Model):
    """A finding of the doctor."""

    name: Shown
    state: Literal["ok", "warn", "fail"]
    says: Shown
    mend: Shown = Field(description="What to do; empty where nothing is to be done.")


class Doctor(Model):
    """The doctor's findings."""

    ran_at: datetime | None = Field(description="Null where it was not asked yet.")
    ok: bool | None = Field(description="Whether nothing failed.")
    checks: list[CheckShown]
    running: bool
