"""Assembles the web application: the API, the pages, and the middleware."""

from __future__ import annotations

from typing import Annotated, Any

import anyio.to_thread
from fastapi import APIRouter, Depends, FastAPI, Header
from starlette.types import ASGIApp, Receive, Scope, Send

from lockgate.service.http import problems
from lockgate.service.http.auth.sessions import CSRF_HEADER, ApiCaller
from lockgate.service.http.context import DashboardContext, caller
from lockgate.service.http.event_stream import MEDIA_TYPE, Feed, Stream
from lockgate.service.http.middleware import API, SecurityMiddleware
from lockgate.service.http.problems import common_responses, document_responses
from lockgate.service.http.routes import access, corrections, policy, sessions
from lockgate.service.http.schemas import Problem
from lockgate.service.http.schemas.access import EventNotice
from lockgate.service.http.static_files import StaticFiles

VERSION = "1.0.0"
"""The API's version. Within version 1 nothing is removed."""
_DESCRIPTION = (
    "Sessions, decisions, questions to a person and policy of one Lockgate installation. See `docs/api.md`."
    " Texts are escaped for showing and are no markup."
)


def make_app(dashboard: DashboardContext, static: StaticFiles) -> ASGIApp:
    """The application as it is served.

    Args:
        dashboard: The store, who may get in, and the tools.
        static: The pages and scripts.
    """

    async def find_token(given: str) -> ApiCaller | None:
        return await anyio.to_thread.run_sync(dashboard.token, given)

    api = make_api(dashboard)

    async def both(scope: Scope, receive: Receive, send: Send) -> None:
        await (api if scope["path"].startswith(API) else static)(scope, receive, send)

    return SecurityMiddleware(both, dashboard.names, dashboard.access, find_token)


def make_api(dashboard: DashboardContext) -> FastAPI:
    """The routes and their contract, without what stands before them."""
    app = FastAPI(
        title="Lockgate",
        version=VERSION,
        description=_DESCRIPTION,
        openapi_url=f"{API}openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        separate_input_output_schemas=False,
        generate_unique_id_function=lambda route: route.name,
    )
    problems.install(app)
    rooms = (sessions, corrections, policy, access)
    for router in (*(each.router(dashboard) for each in rooms), _events(dashboard)):
        app.include_router(router, prefix=API.rstrip("/"))
    app.openapi = lambda: _contract(app)  # type: ignore[method-assign]
    return app


def _events(dashboard: DashboardContext) -> APIRouter:
    api = APIRouter(responses=common_responses())
    feed = Feed(dashboard)
    stream: dict[str, Any] = {"schema": {"type": "string"}, "x-event": {"$ref": "#/components/schemas/EventNotice"}}

    @api.get(
        "/events",
        status_code=200,
        tags=["events"],
        response_class=Stream,
        responses={
            **document_responses(429),
            200: {"description": "Each record as it comes", "content": {MEDIA_TYPE: stream}},
        },
    )
    async def listen(
        who: Annotated[ApiCaller, Depends(caller)], last_event_id: Annotated[int | None, Header(ge=0, le=2**62)] = None
    ) -> Stream:
        """Server-sent events: `decision`, `approval`, `session`, each an `EventNotice`; `reset` to read all anew."""
        return Stream(feed, who, last_event_id)

    return api


def _contract(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI document, with what the application itself does not know: who stands before it."""
    if app.openapi_schema is None:
        found = FastAPI.openapi(app)  # keeps it
        schemas = found["components"]["schemas"]
        for model in (Problem, EventNotice):
            schema = model.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
            schemas.update(schema.pop("$defs", {}))
            schemas[model.__name__] = schema
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        found["components"]["securitySchemes"] = {
            "session": {"type": "apiKey", "in": "cookie", "name": "lockgate"},
            "csrf": {"type": "apiKey", "in": "header", "name": CSRF_HEADER.title()},
            "token": {"type": "http", "scheme": "bearer"},
        }
        found["security"] = [{"session": [], "csrf": []}, {"token": []}]
        found["paths"][f"{API}login"]["post"]["security"] = []
    assert app.openapi_schema is not None
    return app.openapi_schema
