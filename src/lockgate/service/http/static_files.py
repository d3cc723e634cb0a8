"""Serves pages and scripts to everybody, for they hold nothing. They are read once, at the start."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lockgate.core.record import Record
from lockgate.service.http.problems import problem

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
    ".webmanifest": "application/manifest+json",
    ".json": "application/json",
}
_INDEX = "/index.html"


class StaticFile(Record):
    """One file, as it is sent."""

    data: bytes
    type: str
    etag: str


class StaticFiles:
    """All files below a folder, by their path. A file that comes later is never served."""

    def __init__(self, folder: str = FOLDER) -> None:
        """Read them."""
        self._files = dict(_read(folder))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request; the index for ``/``."""
        await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            return problem(405, headers={"Allow": "GET, HEAD"})
        file = self._files.get(_INDEX if request.url.path == "/" else request.url.path)
        if file is None:
            return problem(404, "there is no such thing")
        headers = {"ETag": file.etag, "Cache-Control": "no-cache"}
        if file.etag in _tags(request.headers.get("if-none-match", "")):
            return Response(None, 304, headers)
        return Response(file.data, 200, headers, file.type)


def _tags(header: str) -> list[str]:
    return [tag.strip().removeprefix("W/") for tag in header.split(",")]


def _read(folder: str) -> Iterator[tuple[str, StaticFile]]:
    for place, _, names in os.walk(folder):
        for name in names:
            kind = _TYPES.get(os.path.splitext(name)[1])
            path = os.path.join(place, name)
            if kind is not None and not name.startswith(".") and os.path.isfile(path):
                with open(path, "rb") as file:
                    data = file.read()
                web = "/" + os.path.relpath(path, folder).replace(os.sep, "/")
                yield web, StaticFile(data, kind, f'"{hashlib.sha256(data).hexdigest()[:32]}"')
