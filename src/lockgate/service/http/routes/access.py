"""The routes of login and health."""

from __future__ import annotations

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Request, Response

from lockgate.core.errors import StoreError
from lockgate.core.version import __version__
from lockgate.service.http.auth.sessions import CSRF_HEADER, ApiCaller, cookies_named
from lockgate.service.http.context import DashboardContext, caller
from lockgate.service.http.problems import common_responses, document_responses
from lockgate.service.http.schemas.access import CurrentUser, Health, LoggedIn, Login
from lockgate.service.http.views import approvals, record_values


def router(dashboard: DashboardContext) -> APIRouter:
    """The routes, for one dashboard."""
    api = APIRouter(responses=common_responses())
    _add_health(api, dashboard)
    _add_login(api, dashboard)
    return api


def _add_health(api: APIRouter, dashboard: DashboardContext) -> None:
    @api.get("/health", tags=["state"])
    def health() -> Health:
        """Which version this is, whether the state can be read, and how much there is."""
        try:
            return _health(dashboard)
        except StoreError as error:
            return _empty(str(error)[:600])


def _health(dashboard: DashboardContext) -> Health:
    with dashboard.look_with_time() as (tx, now):
        if tx is None:
            return _empty("")
        rows = tx.sessions()
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
    now = record_values.instant(time.time())
    return Health(version=__version__, ready=False, problem=problem, sessions=0, live=0, records=0, pending=0, now=now)


def _add_login(api: APIRouter, dashboard: DashboardContext) -> None:
    @api.post("/login", tags=["login"], responses=document_responses(429))
    async def login(link: Login, request: Request, response: Response) -> LoggedIn:
        """Begin a session with the token of a one-time link."""
        cookies = cookies_named(dashboard.names.cookie, request.headers)
        known = request.headers.get(CSRF_HEADER, "")
        session = dashboard.access.login(link.token, cookies, known)
        response.set_cookie(
            dashboard.names.cookie,
            session.cookie,
            path="/",
            secure=dashboard.names.tls,
            httponly=True,
            samesite="strict",
        )
        return LoggedIn(csrf=session.csrf, expires_at=record_values.instant(session.ends))

    @api.post("/logout", tags=["login"], status_code=204)
    async def logout(who: Annotated[ApiCaller, Depends(caller)]) -> Response:
        """End this session. A token is not ended so: remove it."""
        dashboard.access.logout(who)
        answer = Response(status_code=204)
        answer.delete_cookie(
            dashboard.names.cookie, path="/", secure=dashboard.names.tls, httponly=True, samesite="strict"
        )
        return answer

    @api.get("/me", tags=["login"])
    async def me(who: Annotated[ApiCaller, Depends(caller)]) -> CurrentUser:
        """The caller, and what they may do."""
        return CurrentUser(
            user=who.name,
            kind="person" if who.person else "token",
            scopes=sorted(who.scopes),
            expires_at=record_values.moment(who.ends),
        )
