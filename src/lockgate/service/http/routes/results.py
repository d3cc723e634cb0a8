"""The routes about results that made a session untrusted."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query
from pydantic import Field

from lockgate.service.http.auth.sessions import Caller
from lockgate.service.http.context import Desk, missing, person
from lockgate.service.http.problems import documented, of_every_route
from lockgate.service.http.routes.sessions import Asked
from lockgate.service.http.schemas.results import Endorse, Endorsed, Results
from lockgate.service.http.views import results

ResultId = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="The result's whole id.")]


class ResultQuery(Asked):
    """Whose results."""

    session: str = Field(max_length=500)


def router(desk: Desk) -> APIRouter:
    """The routes, for one dashboard."""
    api = APIRouter(responses=of_every_route())

    @api.get("/results", tags=["results"], responses=documented(404))
    def list_results(query: Annotated[ResultQuery, Query()]) -> Results:
        """The results that made a session untrusted, with why one cannot be endorsed."""
        with desk.looking() as tx:
            if tx is None:
                raise missing("session")
            return results.of_session(tx, query.session)

    @api.post("/results/{result}/endorse", tags=["results"], responses=documented(404, 409))
    def endorse(result: ResultId, word: Endorse, who: Annotated[Caller, Depends(person)]) -> Endorsed:
        """Say that exactly the result that was shown is fine, so that the session is not held back by it."""
        with desk.store() as store:
            if store is None:
                raise missing("session")
            return results.endorse(store, result, word, who)

    return api
