"""What the API says: problems, and sessions. ``docs/api.md`` describes how it is used.

Every :data:`~lockgate.service.http.views.display_values.Shown` text may hold what an attacker wrote; it is escaped for
showing and is to be put into a page as text. Times are RFC 3339 in UTC. Fields stay; more may come.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from lockgate.core.model import Label, LabelState
from lockgate.service.http.views.display_values import Shown, escape_json

VerdictWord = Literal["allow", "contain", "judge", "ask", "deny"]
ApprovalState = Literal["pending", "approved", "denied", "expired", "changed", "used"]
ProblemCode = Literal[
    "",
    "already_decided",
    "changed",
    "denied_before",
    "expired",
    "host",
    "link",
    "link-here",
    "link-twice",
    "listeners",
    "login",
    "logins",
    "not_endorsable",
    "not_stopped",
    "not_whole",
    "origin",
    "person",
    "running",
    "scope",
    "signature",
    "state",
]
"""What a program can tell problems of one status by; empty where the status is enough."""


class Model(BaseModel):
    """Base of all: what a route answers."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=True)

    @field_validator("*", mode="before")
    @classmethod
    def _escape(cls, value: Any) -> Any:
        """Escape every text, whichever field it is in: a record that somebody changed has them anywhere."""
        return escape_json(value)


class Given(BaseModel):
    """Base of what a route takes: a name that is not known is an error, not a wish that is silently not met."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Invalid(Model):
    """One thing that is wrong with a request."""

    where: str = Field(description="The field, as `body.shown` or `query.limit`.")
    problem: str


class Problem(Model):
    """Why a request was not met (RFC 9457, `application/problem+json`)."""

    type: str = Field(default="about:blank", description="Always `about:blank`: the status says the kind.")
    title: str = Field(description="The status in words.")
    status: int
    code: ProblemCode = Field(
        default="", description="A stable word for programs, as `expired`; empty where status is enough."
    )
    detail: str = Field(default="", description="What to do about it.")
    state: ApprovalState | None = Field(default=None, description="For a conflict: what has become of the question.")
    errors: list[Invalid] = Field(default=[], description="For 422: each thing that is wrong.")


# -- sessions


class SessionSummary(Model):
    """One session of an agent."""

    session: Shown
    client: Shown = Field(description="The agent's client: `claude-code`, `codex` ...")
    cwd: Shown
    workspace: Shown = Field(description="Root of the project; empty where it is not known.")
    parent: Shown | None = Field(description="The session that it came from.")
    how: Shown | None = Field(description="How it began: startup, resume, clear, compact, fork.")
    started_at: datetime | None
    seen_at: datetime | None
    ended_at: datetime | None
    why: Shown | None = Field(description="Why it ended.")
    live: bool = Field(description="Whether it has not ended.")
    silent: bool = Field(
        description="Whether it has not ended and gives no sign: its client's process is gone, or was silent for a day."
    )
    state: LabelState = Field(description="The main agent's column of the policy table.")
    labels: list[Label]
    blocked: int = Field(description="How many calls were stopped.")
    pending: int = Field(description="How many of its questions wait for a person.")


class SessionPage(Model):
    """Sessions: those that run first, in each part the last seen first."""

    items: list[SessionSummary]
    total: int
    live: int = Field(description="How many of all have not ended.")
    silent: int = Field(description="How many of these give no sign.")
    next: int | None = Field(description="`offset` of the next page; null on the last one.")


class SourceInfo(Model):
    """Where a label came from."""

    label: Label
    source: Shown
    tool: Shown
    call: Shown = Field(description="The client's id of the call.")
    at: datetime | None
    state: Literal["pending", "confirmed"] = Field(description="`pending` until the result has come.")
    origin: Shown | None = Field(description="The agent or session that it was inherited from.")


class Agent(Model):
    """A sub-agent."""

    agent: Shown
    type: Shown
    parent: Shown
    state: Literal["running", "ended"]
    delegate: Shown | None = Field(description="Id of the approved brief that it runs under.")
    labels: list[Label]
    started_at: datetime | None


class Delegate(Model):
    """A brief for a delegate with clean labels."""

    brief: str
    state: str = Field(description="asked, approved, running, done, refused.")
    agent: Shown
    text: Shown
    at: datetime | None


class Blocked(Model):
    """A call that was stopped."""

    agent: Shown
    what: Shown
    at: datetime | None


class Moment(Model):
    """One entry of a session's time line."""

    at: datetime | None
    kind: Literal["began", "label", "stopped", "asked", "answered", "agent", "delegate", "ended"]
    agent: Shown = Field(description="The sub-agent; empty for the main agent.")
    text: Shown = Field(description="What happened, for a person.")
    label: Label | None = Field(default=None, description="For `label`: the label that came.")
    pending: bool = Field(default=False, description="For `label`: whether its result has not come yet.")
    origin: Shown | None = Field(default=None, description="For `label`: from whom it was inherited.")
    verdict: VerdictWord | None = Field(default=None, description="For `stopped`.")
    because: Shown = Field(default="", description="For `stopped`: the first reason.")
    tool: Shown = ""
    call: Shown = ""
    decision: int | None = Field(default=None, description="The decision on that call, for `/decisions/{seq}`.")
    approval: str | None = Field(default=None, description="For `asked` and `answered`.")


class SessionDetail(SessionSummary):
    """One session, with what happened in it."""

    timeline: list[Moment] = Field(description="Oldest first; the newest 500, as far as half a second finds them.")
    timeline_omitted: int = Field(description="Older entries that are not in the list.")
    provenance: list[SourceInfo] = Field(description="Where the main agent's labels came from, oldest first.")
    agents: list[Agent]
    delegates: list[Delegate]
    blocked_calls: list[Blocked]
