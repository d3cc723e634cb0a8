"""The routes that read sessions, decisions and approvals, and that answer a question."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Path, Query
from pydantic import AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field

from lockgate.service.http.auth.sessions import ApiCaller
from lockgate.service.http.context import DashboardContext, approver, not_found
from lockgate.service.http.problems import RequestRefused, common_responses, document_responses
from lockgate.service.http.schemas import SessionDetail, SessionPage, VerdictWord
from lockgate.service.http.schemas.calls import (
    Approval,
    ApprovalPage,
    Approve,
    DecisionDetail,
    DecisionPage,
    Deny,
    Gates,
)
from lockgate.service.http.views import approvals, calls, decisions, sessions
from lockgate.store.protocol import Store
from lockgate.store.rows import ApprovalRow, AuditQuery

_TIME = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_ID = "^[0-9a-z]{1,32}$"
SEQ = 2**62
"""The greatest number of a record that can be asked about: both stores keep 64 bits."""
ApprovalId = Annotated[str, Path(pattern=_ID, description="The question's id.")]
Tier = Literal["labels", "local", "table", "containment", "judge", "person", "patterns", "rules"]


def _is_time(value: object) -> object:
    if isinstance(value, str) and not _TIME.fullmatch(value):
        raise ValueError("a time is written as RFC 3339 says, with its zone: 2026-11-22T14:05:13Z")
    return value


Time = Annotated[AwareDatetime, BeforeValidator(_is_time)]
"""A time, and not the seconds since some day."""


class QueryParameters(BaseModel):
    """Base of what stands in an address after ``?``: a name that is not known is an error."""

    model_config = ConfigDict(extra="forbid")


class SessionQuery(QueryParameters):
    """Which sessions."""

    text: str = Field(default="", max_length=200, description="Stands in the id, the folder or the client.")
    live: bool = Field(default=False, description="Only those that have not ended.")
    limit: int = Field(default=50, ge=1, le=200)
    offset: int = Field(default=0, ge=0, le=SEQ)


class GateQuery(QueryParameters):
    """Which session's decisions are listed."""

    gate: str = Field(
        default="", pattern="^([0-9a-f]{32})?$", description="One of `/gates`; empty for this machine's own."
    )


class DecisionQuery(GateQuery):
    """Which decisions."""

    text: str = Field(default="", max_length=200, description="Stands anywhere in the record.")
    verdict: VerdictWord | None = None
    session: str = Field(default="", max_length=500)
    tool: str = Field(default="", max_length=200)
    client: str = Field(default="", max_length=100)
    tier: Tier | None = Field(default=None, description="The step that decided.")
    rule: str = Field(default="", max_length=200, description="The rule of a reason, or of a pattern that matched.")
    since: Time | None = None
    until: Time | None = None
    before: int = Field(default=0, ge=0, le=SEQ, description="`next` of the page before.")
    limit: int = Field(default=50, ge=1, le=200)


class ApprovalQuery(QueryParameters):
    """Which questions."""

    state: approvals.Which = "pending"
    session: str = Field(default="", max_length=500)
    limit: int = Field(default=50, ge=1, le=200)


def router(dashboard: DashboardContext) -> APIRouter:
    """The routes, for one dashboard."""
    api = APIRouter(responses=common_responses())
    _add_sessions(api, dashboard)
    _add_decisions(api, dashboard)
    _add_approvals(api, dashboard)
    return api


def _add_sessions(api: APIRouter, dashboard: DashboardContext) -> None:
    @api.get("/sessions", tags=["sessions"])
    def list_sessions(query: Annotated[SessionQuery, Query()]) -> SessionPage:
        """Sessions: those that run first, in each part the last seen first."""
        with dashboard.look_with_time() as (tx, now):
            if tx is None:
                return SessionPage(items=[], total=0, live=0, silent=0, next=None)
            return sessions.page(tx, now, text=query.text, live=query.live, limit=query.limit, offset=query.offset)

    @api.get("/sessions/{session:path}", tags=["sessions"], responses=document_responses(404))
    def one_session(session: Annotated[str, Path(max_length=500)]) -> SessionDetail:
        """One session, with all that happened in it."""
        with dashboard.look_with_time() as (tx, now):
            row = sessions.find(tx, session) if tx is not None else None
            if tx is None or row is None:
                raise not_found("session")
            return sessions.whole(tx, row, now)


def _add_decisions(api: APIRouter, dashboard: DashboardContext) -> None:
    @api.get("/decisions", tags=["decisions"])
    def search_decisions(query: Annotated[DecisionQuery, Query()]) -> DecisionPage:
        """Decisions that meet all that is given, newest first."""
        wanted = AuditQuery(
            text=query.text,
            event="decision",
            session=query.session,
            client=query.client,
            tool=query.tool,
            verdict=query.verdict or "",
            tier=query.tier or "",
            rule=query.rule,
            since=_seconds(query.since),
            until=_seconds(query.until),
        )
        with dashboard.look() as tx:
            if tx is None:
                return DecisionPage(items=[], next=None, complete=True)
            return decisions.page(tx, wanted, query.before, query.limit, query.gate)

    @api.get("/decisions/{seq}", tags=["decisions"], responses=document_responses(404))
    def one_decision(seq: Annotated[int, Path(ge=1, le=SEQ)], query: Annotated[GateQuery, Query()]) -> DecisionDetail:
        """One decision, with its evidence and what came of it."""
        with dashboard.look() as tx:
            if tx is None:
                raise not_found("decision")
            return decisions.whole(tx, seq, query.gate)

    @api.get("/gates", tags=["decisions"])
    def list_gates() -> Gates:
        """The gates that use this store: one, or those of all machines that share it."""
        with dashboard.look() as tx:
            return Gates(items=list(map(calls.gate, tx.gates())) if tx is not None else [])


def _seconds(at: datetime | None) -> float:
    if at is None:
        return 0.0
    try:
        return at.timestamp()
    except (OverflowError, ValueError, OSError):
        raise RequestRefused(422, "a time is out of range") from None


def _add_approvals(api: APIRouter, dashboard: DashboardContext) -> None:
    @api.get("/approvals", tags=["approvals"])
    def list_approvals(query: Annotated[ApprovalQuery, Query()]) -> ApprovalPage:
        """Questions to a person: the oldest first where they wait, else the newest first."""
        with dashboard.look_with_time() as (tx, now):
            if tx is None:
                return approvals.empty_page(now)
            return approvals.page(tx, now, query.state, query.session, query.limit)

    @api.get("/approvals/{approval}", tags=["approvals"], responses=document_responses(404))
    def one_approval(approval: ApprovalId) -> Approval:
        """One question, the whole call with its effects marked."""
        with dashboard.look_with_time() as (tx, now):
            row = approvals.find(tx, approval)
        return approvals.whole(dashboard.where, row, now)

    def give_answer(answer: Callable[[Store], ApprovalRow]) -> Approval:
        with dashboard.store() as store:
            if store is None:
                raise not_found("question")
            row, now = answer(store), store.clock()
        return approvals.whole(dashboard.where, row, now)

    @api.post("/approvals/{approval}/approve", tags=["approvals"], responses=document_responses(404, 409))
    def approve(approval: ApprovalId, yes: Approve, who: Annotated[ApiCaller, Depends(approver)]) -> Approval:
        """Approve exactly the call that was shown, once."""
        dashboard.demand_unsigned(f"lockgate approve {approval}", "pending")
        return give_answer(
            lambda store: approvals.approve(store, dashboard.where.state, approval, yes.shown, yes.reason, who)
        )

    @api.post("/approvals/{approval}/deny", tags=["approvals"], responses=document_responses(404, 409))
    def deny(approval: ApprovalId, no: Deny, who: Annotated[ApiCaller, Depends(approver)]) -> Approval:
        """Refuse a call, and tell the agent why."""
        return give_answer(lambda store: approvals.deny(store, dashboard.where.state, approval, no.reason, who))
