"""Spells refused requests as RFC 9457 says. Nothing of the server's inside is told, and no foreign text unescaped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.routing import Route

from lockgate.core.errors import LockgateError, StoreError
from lockgate.service.http.schemas import ApprovalState, Invalid, Problem, ProblemCode
from lockgate.service.http.views.display_values import escape_text

MEDIA_TYPE = "application/problem+json"
_MOST_ERRORS = 20
_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}  # RFC 9110 has other words than older Pythons


class RequestRefused(Exception):  # noqa: N818 - it is an answer
    """A request that is refused. The caller is told why."""

    def __init__(
        self,
        status: int,
        detail: str,
        *,
        code: ProblemCode = "",
        state: ApprovalState | None = None,
        headers: Mapping[str, str] = {},
    ) -> None:
        """Refuse.

        Args:
            status: The HTTP status.
            detail: What to do about it, in words of ours.
            code: A stable word for programs.
            state: What has become of a question to a person.
            headers: Further headers of the answer.
        """
        super().__init__(detail)
        self.status, self.detail, self.code, self.state, self.headers = status, detail, code, state, dict(headers)

    def response(self) -> Response:
        """The answer."""
        return problem(self.status, self.detail, self.code, self.state, headers=self.headers)


def problem(
    status: int,
    detail: str = "",
    code: ProblemCode = "",
    state: ApprovalState | None = None,
    *,
    errors: Sequence[Invalid] = (),
    headers: Mapping[str, str] = {},
) -> Response:
    """The answer to a request that is not met."""
    said = Problem(
        type="about:blank",
        title=_title(status),
        status=status,
        code=code,
        detail=escape_text(detail),
        state=state,
        errors=list(errors),
    )
    return Response(said.model_dump_json(), status, dict(headers), MEDIA_TYPE)


def document_responses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What a route may answer beside success, for the OpenAPI document."""
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    return {status: {"description": _title(status), "content": content} for status in statuses}


def common_responses() -> dict[int | str, dict[str, Any]]:
    """What any route of the API may answer beside success."""
    return document_responses(400, 401, 403, 408, 413, 415, 421, 422, 500, 503)


def _title(status: int) -> str:
    return _TITLES.get(status) or HTTPStatus(status).phrase


def install(app: FastAPI) -> None:
    """Answer every error of an application so."""
    app.add_exception_handler(RequestRefused, _refuse)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(StoreError, _store)
    app.add_exception_handler(LockgateError, _ours)
    app.add_exception_handler(Exception, _fault)


async def _refuse(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestRefused)
    return error.response()


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    found = error.errors()
    if any(each["type"] == "json_invalid" for each in found):
        return problem(400, "the body is no JSON")
    # What was sent is not told back: only where it is wrong, and how.
    told = [
        Invalid(where=escape_text(".".join(map(str, each["loc"]))[:200]), problem=escape_text(str(each["msg"])[:400]))
        for each in found[:_MOST_ERRORS]
    ]
    return problem(422, "see errors", errors=told)


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if error.status_code == 405:
        return problem(405, headers={"Allow": ", ".join(sorted(_methods(request)))})
    return problem(error.status_code, "there is no such thing" if error.status_code == 404 else "")


def _methods(request: Request) -> set[str]:
    """What can be done with a path: the framework names only what the first of its routes does."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    found = [route.methods or () for route in routes if route.path_regex.match(request.url.path)]
    return {method for methods in found for method in methods}


async def _store(_: Request, error: Exception) -> Response:
    return problem(503, str(error)[:600], "state")


async def _fault(_: Request, __: Exception) -> Response:
    return problem(500, "see the log of `lockgate dashboard`")  # the shield logs where it was


async def _ours(_: Request, error: Exception) -> Response:
    return problem(422, str(error)[:600])
