"""The routes about policy, patterns, what-if, the audit chain and the doctor, and those of login and health."""

from __future__ import annotations

import time
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import Field

from lockgate import __version__
from lockgate.dashboard import approvals, policy, said
from lockgate.dashboard.access import Caller, cookies_named
from lockgate.dashboard.checking import Checks
from lockgate.dashboard.desk import Desk, caller
from lockgate.dashboard.marking import marked
from lockgate.dashboard.problems import documented
from lockgate.dashboard.routes import Asked
from lockgate.dashboard.schemas_access import Health, LoggedIn, Login, Me
from lockgate.dashboard.schemas_calls import EffectShown
from lockgate.dashboard.schemas_policy import Audit, Doctor, Explanation, Patterns, Policy, WhatIf, Workspace
from lockgate.errors import StoreError
from lockgate.model import ToolCall
from lockgate.session.sessions import SELF_TEST


class PolicyQuery(Asked):
    """Which workspace."""

    workspace: str = Field(default="", max_length=4096, description="One of `workspaces`; empty for the home folder.")


class PatternQuery(PolicyQuery):
    """Which rules."""

    group: str = Field(default="", max_length=100)
    severity: str = Field(default="", max_length=20)
    text: str = Field(default="", max_length=200, description="Stands in id, type, provider or group.")
    found: bool = Field(default=False, description="Only rules that have found something.")
    limit: int = Field(default=100, ge=1, le=1000)
    offset: int = Field(default=0, ge=0, le=2**31)


def router(desk: Desk) -> APIRouter:
    """The routes, for one dashboard."""
    api = APIRouter(responses=documented(400, 401, 403, 408, 413, 415, 421, 422, 500, 503))
    _add_policy(api, desk)
    _add_checks(api, Checks(desk))
    _add_health(api, desk)
    _add_login(api, desk)
    return api


def _add_policy(api: APIRouter, desk: Desk) -> None:
    tally = policy.Tally()

    def known() -> list[str]:
        with desk.looking() as tx:
            return policy.workspaces(tx)

    @api.get("/policy", tags=["policy"], responses=documented(404))
    def show_policy(query: Annotated[PolicyQuery, Query()]) -> Policy:
        """The policy tables, and every other value that holds in a workspace."""
        return policy.policy(desk.where, query.workspace, known())

    @api.get("/patterns", tags=["policy"], responses=documented(404))
    def show_patterns(query: Annotated[PatternQuery, Query()]) -> Patterns:
        """The pattern library as it holds in a workspace, and how often each rule has found something."""
        with desk.looking() as tx:
            if tx is not None:
                tally.count(tx)
        return policy.patterns(desk.where, query.workspace, known(), tally, _wanted(query))

    @api.post("/explain", tags=["policy"], responses=documented(404))
    def explain(call: WhatIf) -> Explanation:
        """What a call could do, and what the gate would answer in each state. Nothing is run."""
        folder = policy.folder_of(desk.where, call.workspace, known())
        return _explained(desk, ToolCall(call.tool, _input(call), folder))


def _wanted(query: PatternQuery) -> policy.Wanted:
    return policy.Wanted(query.group, query.severity, query.text, query.found, query.limit, query.offset)


def _input(call: WhatIf) -> dict[str, Any]:
    short = {} if call.command is None else {"command": call.command}
    return {**(call.input or {}), **short}


def _explained(desk: Desk, call: ToolCall) -> Explanation:
    told = desk.tools.explain(call)
    effects = [
        EffectShown(row=each["row"], what=each["what"], rule=each["rule"], because=each["because"], gives=each["gives"])
        for each in told["effects"]
    ]
    shown = marked(desk.where, call.tool, call.tool_input, call.cwd, effects, whole=True)
    return Explanation(call=shown, **{name: told[name] for name in Explanation.model_fields if name != "call"})


def _add_checks(api: APIRouter, checks: Checks) -> None:
    @api.get("/audit", tags=["state"])
    def show_audit() -> Audit:
        """The audit chain's head, and the last check of it."""
        return checks.audit()

    @api.post("/audit/verify", tags=["state"], responses=documented(409))
    def verify_audit() -> Audit:
        """Check the whole chain: that no record was changed, removed, added or moved."""
        return checks.verify()

    @api.get("/doctor", tags=["state"])
    def show_doctor() -> Doctor:
        """What the doctor found last."""
        return checks.doctor()

    @api.post("/doctor", tags=["state"], responses=documented(404, 409))
    def run_doctor(asked: Workspace) -> Doctor:
        """Look whether the protection is in force. A call that must be refused goes through the registered hooks."""
        return checks.examine(asked.workspace)


def _add_health(api: APIRouter, desk: Desk) -> None:
    @api.get("/health", tags=["state"])
    def health() -> Health:
        """Which version this is, whether the state can be read, and how much there is."""
        try:
            return _health(desk)
        except StoreError as error:
            return _empty(str(error)[:600])


def _health(desk: Desk) -> Health:
    with desk.timed() as (tx, now):
        if tx is None:
            return _empty("")
        rows = [row for row in tx.sessions() if row.session != SELF_TEST]
        pending = [row for row in tx.approvals(state="pending") if approvals.state_of(row, now) == "pending"]
        return _empty("").model_copy(
            update={
                "ready": True,
                "sessions": len(rows),
                "live": sum(not row.ended_at for row in rows),
                "records": tx.audit_head().seq,
                "pending": len(pending),
            }
        )


def _empty(problem: str) -> Health:
    now = said.instant(time.time())
    return Health(version=__version__, ready=False, problem=problem, sessions=0, live=0, records=0, pending=0, now=now)


def _add_login(api: APIRouter, desk: Desk) -> None:
    @api.post("/login", tags=["login"], responses=documented(429))
    async def login(link: Login, request: Request, response: Response) -> LoggedIn:
        """Begin a session with the token of a one-time link."""
        cookies = cookies_named(desk.names.cookie, request.headers)
        cookie, csrf, ends = desk.access.login(link.token, cookies)
        response.set_cookie(
            desk.names.cookie, cookie, path="/", secure=desk.names.tls, httponly=True, samesite="strict"
        )
        return LoggedIn(csrf=csrf, expires_at=said.instant(ends))

    @api.post("/logout", tags=["login"], status_code=204)
    async def logout(who: Annotated[Caller, Depends(caller)]) -> Response:
        """End this session. A token is not ended so: remove it."""
        desk.access.logout(who)
        answer = Response(status_code=204)
        answer.delete_cookie(desk.names.cookie, path="/", secure=desk.names.tls, httponly=True, samesite="strict")
        return answer

    @api.get("/me", tags=["login"])
    async def me(who: Annotated[Caller, Depends(caller)]) -> Me:
        """Who asks, and what they may do."""
        return Me(
            user=who.name,
            kind="person" if who.person else "token",
            scopes=sorted(who.scopes),
            expires_at=said.moment(who.ends),
        )
