"""Checks every request before its route: names, origins, sizes, and the caller.

It is one ASGI application around all others, so that no route can be without it. Pages and scripts are for everybody,
for they hold nothing; all of the API but the login is for who has logged in, also what is not there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lockgate.core.errors import StoreError
from lockgate.core.record import Record
from lockgate.service.http.auth.sessions import CSRF_HEADER, Access, ApiCaller, cookies_named
from lockgate.service.http.problems import RequestRefused, problem
from lockgate.system.error_log import place_of

API = "/api/v1/"
LOGIN = f"{API}login"
MOST_BODY = 1024 * 1024
"""Bytes of a request's body."""
_BODY_SECONDS = 10.0
"""How long a body may take to come."""
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_PAGE = frozenset({"same-origin", "none"})
"""``Sec-Fetch-Site`` of a page's own requests, and of what a person types into the address bar."""

_CONTENT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:;"
    " font-src 'self'; manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none';"
    " require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Mapping[str, str] = {
    "content-security-policy": _CONTENT,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-embedder-policy": "require-corp",
    "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
"""Headers of every answer. See https://www.w3.org/TR/CSP3/ and https://www.w3.org/TR/trusted-types/."""
_LASTING = "max-age=31536000"

log = logging.getLogger("lockgate.service.http")

FindToken = Callable[[str], Awaitable[ApiCaller | None]]
"""Looks up who has a token."""


class HostNames(Record):
    """The names by which browsers call the dashboard."""

    hosts: frozenset[str]
    """``HOST:PORT`` as a ``Host`` header says it, in lower case."""
    tls: bool = False

    @property
    def scheme(self) -> str:
        """``http`` or ``https``."""
        return "https" if self.tls else "http"

    @property
    def cookie(self) -> str:
        """The cookie's name. ``__Host-`` binds it to this host, which browsers believe over TLS alone (RFC 6265bis)."""
        return "__Host-lockgate" if self.tls else "lockgate"


class SecurityMiddleware:
    """The application around all others."""

    def __init__(self, app: ASGIApp, names: HostNames, access: Access, find_token: FindToken) -> None:
        """Stand before an application.

        Args:
            app: What is protected.
            names: The hosts that requests may name.
            access: Links and sessions.
            find_token: Looks up a program's token.
        """
        self._app = app
        self._names = names
        self._access = access
        self._find_token = find_token
        lasting = {"strict-transport-security": _LASTING} if names.tls else {}
        self._headers = [(name.encode(), value.encode()) for name, value in {**HEADERS, **lasting}.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it."""
        if scope["type"] != "http":
            return  # no WebSocket, and nothing to do at start and end
        answer = _Answer(send, self._headers, api=scope["path"].startswith(API))
        try:
            receive = await self._check(scope, receive)
            await self._app(scope, receive, answer.send)
        except RequestRefused as refused:
            await refused.response()(scope, receive, answer.send)
        except StoreError as error:
            await problem(503, str(error)[:600], "state")(scope, receive, answer.send)
        except Exception as error:  # noqa: BLE001 - whoever asks is told nothing, and the log only where it was
            log.error("a request failed", extra={"facts": {"kind": type(error).__name__, "place": place_of(error)}})
            if not answer.begun:
                await problem(500, "see the log of `lockgate dashboard`")(scope, receive, answer.send)

    async def _check(self, scope: Scope, receive: Receive) -> Receive:
        """Refuse what must not get further. Gives what the body is read from."""
        headers = _headers(scope)
        self._check_host(headers)
        if not scope["path"].startswith(API):
            return receive
        self._check_origin(scope, headers)
        if scope["path"] != LOGIN:
            scope.setdefault("state", {})["caller"] = await self._caller(scope["method"], headers)
        elif scope["method"] == "POST":
            self._check_changes(headers)
        return await _read_body(scope, headers, receive)

    def _check_host(self, headers: Mapping[str, str]) -> None:
        """A page whose name was led to this machine (DNS rebinding) still says its own name."""
        if headers.get("host", "").lower() not in self._names.hosts:
            log.warning("a request named another host", extra={"facts": {"host": headers.get("host", "")[:200]}})
            raise RequestRefused(421, "this dashboard has another name", code="host")

    def _check_origin(self, scope: Scope, headers: Mapping[str, str]) -> None:
        """No page but the dashboard's own may ask anything, also not one at another port of this host."""
        origin, site = headers.get("origin"), headers.get("sec-fetch-site", "none")
        own = f"{self._names.scheme}://{headers.get('host', '').lower()}"
        if site not in _OWN_PAGE or (origin is not None and origin.lower() != own):
            log.warning("another page's request was refused", extra={"facts": {"origin": (origin or site)[:200]}})
            raise RequestRefused(403, "this comes from another page", code="origin")

    def _check_changes(self, headers: Mapping[str, str]) -> None:
        """A browser says where a request comes from that changes something; one that does not say is not believed."""
        if "origin" not in headers and headers.get("sec-fetch-site") != "same-origin":
            raise RequestRefused(403, "this request does not say where it comes from", code="origin")

    async def _caller(self, method: str, headers: Mapping[str, str]) -> ApiCaller:
        caller: ApiCaller | None
        cookies: list[str] = []
        if "authorization" in headers:
            kind, _, token = headers["authorization"].partition(" ")
            caller = await self._find_token(token.strip()) if kind.lower() == "bearer" else None
        else:
            cookies = cookies_named(self._names.cookie, headers)
            caller = self._access.person(cookies, headers.get(CSRF_HEADER, ""))
        if caller is None:
            raise self._access.why_not(cookies)
        if caller.person and method not in _SAFE:
            self._check_changes(headers)
        return caller


class _Answer:
    """Sends an answer with the headers that all have."""

    def __init__(self, send: Send, headers: list[tuple[bytes, bytes]], *, api: bool) -> None:
        self._send = send
        self._headers = [*headers, (b"cache-control", b"no-store")] if api else headers
        self.begun = False

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            message = {**message, "headers": [*message.get("headers", ()), *self._headers]}
        await self._send(message)


def _headers(scope: Scope) -> dict[str, str]:
    """The headers by lower-case name. One that must stand once and stands twice fits nothing."""
    found: dict[str, str] = {}
    for name, value in scope["headers"]:
        key = name.decode("latin-1").lower()
        joined = "; " if key == "cookie" else ", "
        found[key] = f"{found[key]}{joined}{value.decode('latin-1')}" if key in found else value.decode("latin-1")
    return found


async def _read_body(scope: Scope, headers: Mapping[str, str], receive: Receive) -> Receive:
    """Read the body, where there is one; it must be JSON, not too long, and come in time."""
    length = headers.get("content-length", "0")
    if length == "0" and "transfer-encoding" not in headers:
        return receive
    if not length.isascii() or not length.isdigit() or int(length) > MOST_BODY:
        raise RequestRefused(413, f"a request has {MOST_BODY} bytes at most")
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise RequestRefused(415, "a request's body is JSON: Content-Type: application/json")
    try:
        body = await asyncio.wait_for(_read(receive), _BODY_SECONDS)
    except TimeoutError:
        raise RequestRefused(408, "the request did not come in time") from None
    parts: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def again() -> Any:
        return parts.pop() if parts else await receive()

    return again


async def _read(receive: Receive) -> bytes:
    parts, size, more = [], 0, True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestRefused(400, "the request was not finished")
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > MOST_BODY:
            raise RequestRefused(413, f"a request has {MOST_BODY} bytes at most")
        more = message.get("more_body", False)
    return b"".join(parts)
