"""The routes by which a person says that a stop was needless, or a result fine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from lockgate.service.http.auth.sessions import ApiCaller
from lockgate.service.http.context import DashboardContext, not_found, person
from lockgate.service.http.problems import RequestRefused, common_responses, document_responses
from lockgate.service.http.routes.sessions import SEQ, ApprovalId, GateQuery, QueryParameters
from lockgate.service.http.schemas.calls import Reported
from lockgate.service.http.schemas.results import Endorse, Endorsed, Results
from lockgate.service.http.views import approvals, decisions, results

_STOPS = ("ask", "deny")
ResultId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="The result's whole id.")]


class ResultQuery(QueryParameters):
    """Which session's results are listed."""

    session: str = Field(max_length=500)


def router(dashboard: DashboardContext) -> APIRouter:
    """The routes, for one dashboard."""
    api = APIRouter(responses=common_responses())

    @api.get("/results", tags=["results"], responses=document_responses(404))
    def list_results(query: Annotated[ResultQuery, Query()]) -> Results:
        """The results that made a session untrusted, with why one cannot be endorsed."""
        with dashboard.look() as tx:
            if tx is None:
                raise not_found("session")
            return results.list_results(tx, query.session)

    @api.post("/results/{result}/endorse", tags=["results"], responses=document_responses(404, 409))
    def endorse(result: ResultId, word: Endorse, who: Annotated[ApiCaller, Depends(person)]) -> Endorsed:
        """Say that exactly the result that was shown is fine, so that the session is not held back by it."""
        with dashboard.store() as store:
            if store is None:
                raise not_found("session")
            dashboard.demand_unsigned(f"lockgate endorse {result}")
            return results.endorse(store, result, word, who)

    @api.post("/approvals/{approval}/needless", tags=["approvals"], responses=document_responses(404))
    def report_question(approval: ApprovalId, who: Annotated[ApiCaller, Depends(person)]) -> Reported:
        """Write the case of a question into a file to report. It is no answer to it."""
        with dashboard.look() as tx:
            about = approvals.find(tx, approval).about
        return _report(dashboard, about)

    @api.post("/decisions/{seq}/needless", tags=["decisions"], responses=document_responses(404, 409))
    def report_decision(
        seq: Annotated[int, Path(ge=1, le=SEQ)],
        query: Annotated[GateQuery, Query()],
        who: Annotated[ApiCaller, Depends(person)],
    ) -> Reported:
        """Write the case of a call that was asked about or refused into a file to report."""
        with dashboard.look() as tx:
            if tx is None:
                raise not_found("decision")
            _, about = decisions.find(tx, seq, query.gate)
        if about.get("verdict") not in _STOPS:
            raise RequestRefused(409, "this call was not stopped", code="not_stopped")
        return _report(dashboard, about)

    return api


def _report(dashboard: DashboardContext, about: Mapping[str, Any]) -> Reported:
    try:
        return Reported(file=dashboard.tools.report(about))
    except OSError as error:
        raise RequestRefused(503, f"the report cannot be written: {error.strerror}", code="state") from None
