"""Answers containers over a Unix socket or HTTPS. There are three routes, and no others."""

from __future__ import annotations

import asyncio
import os
import socket
from functools import partial
from typing import Any

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from lockgate.clients.wire.envelope import MAX_MESSAGE, digest, is_same
from lockgate.core.record import Record
from lockgate.service.containers.groups import ContainerGroup, Groups
from lockgate.service.containers.handler import ContainerDecisions, make_waiting_note
from lockgate.service.listening.timeout_protocol import TimeoutProtocol
from lockgate.system.digests import json_object
from lockgate.system.peer_credentials import peer_of

_PEER = "peer-uid"
"""Stands in place of a client's host where the client is a process of this machine; the port is then its user."""
_FIRST_SECONDS, _NEXT_SECONDS = 1.0, 25.0
"""Seconds after which a request is answered with a note that it takes longer. Then it is put again."""
_KEEP_SECONDS = 60.0
"""Seconds that an answer is kept for a client that was told to wait. It fetches the answer at once, or is gone."""
_TYPE = "application/octet-stream"


class _ExpectedRequest(Record):
    """The facts of a request that HTTP tells before the request is read."""

    report: bool
    id: str = ""


class PeerProtocol(TimeoutProtocol):
    """HTTP that knows which user the other end of a Unix socket is."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Ask the kernel who connected."""
        super().connection_made(transport)
        connection = transport.get_extra_info("socket")
        if connection is not None and connection.family == socket.AF_UNIX:
            self.client = (_PEER, peer_uid(connection))


def peer_uid(connection: Any) -> int:
    """The user of the process that connected; -1, which is nobody's, where the system does not tell."""
    try:
        return peer_of(connection).uid
    except OSError:
        return -1


class Web:
    """The application, on whichever socket it is served."""

    def __init__(self, groups: Groups, decisions: ContainerDecisions) -> None:
        """Decide for the groups that exist when a request comes."""
        self._groups = groups
        self._decisions = decisions
        self._version = -1
        self._known: dict[str, ContainerGroup] = {}
        """The groups of that version of their folder, by name."""
        self._open: dict[tuple[str, str], asyncio.Task[bytes]] = {}
        """Answers that are being made or wait to be fetched, by group and digest of the request."""
        self.app = Starlette(
            routes=[
                Route("/v1/decide", partial(self._ask, report=False), methods=["POST"]),
                Route("/v1/report", partial(self._ask, report=True), methods=["POST"]),
                Route("/healthz", _healthy, methods=["GET"]),
            ]
        )

    async def _ask(self, request: Request, *, report: bool) -> Response:
        group = self._group(request)
        if group is None:
            return PlainTextResponse("the token is not one of a group here\n", 401)
        try:
            message = await _body(request)
        except ClientDisconnect:
            return PlainTextResponse("", 400)
        if message is None:
            return PlainTextResponse("the request is too large\n", 413)
        name = (group.name, digest(message))
        if name not in self._open and not self._decisions.has_room(group.name):
            return PlainTextResponse("too many requests of this group are open\n", 429, {"Retry-After": "1"})
        again = name in self._open
        if not again:
            task = asyncio.create_task(self._decisions.decide(group, lambda: message, _ExpectedRequest(report)))
            self._open[name] = task
            task.add_done_callback(partial(self._forget_later, name))
        return await self._answer(group, message, name, _NEXT_SECONDS if again else _FIRST_SECONDS)

    async def _answer(self, group: ContainerGroup, message: bytes, name: tuple[str, str], seconds: float) -> Response:
        task = self._open[name]
        done, _ = await asyncio.wait({task}, timeout=seconds)
        if not done:
            asked = _id_of(message)
            return Response(make_waiting_note(group, message, asked), 202, media_type=_TYPE)
        self._open.pop(name, None)
        return Response(task.result(), media_type=_TYPE)

    def _forget_later(self, name: tuple[str, str], task: asyncio.Task[bytes]) -> None:
        """Drop an answer that nobody fetches: a client that went away must not fill this machine's memory."""
        task.get_loop().call_later(_KEEP_SECONDS, self._forget, name, task)

    def _forget(self, name: tuple[str, str], task: asyncio.Task[bytes]) -> None:
        if self._open.get(name) is task:
            del self._open[name]

    def __len__(self) -> int:
        """How many answers are being made, or wait to be fetched."""
        return len(self._open)

    def _group(self, request: Request) -> ContainerGroup | None:
        """The group of the request's token. A wrong one takes as long as a right one of the same group."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        group = self._current_groups().get(token.partition(".")[0])
        known = group.key.token if group is not None else "-"
        right = is_same(token.encode(), known.encode()) and kind.lower() == "bearer"
        if group is None or not right:
            return None
        client = request.client
        if client is not None and client.host == _PEER and client.port not in (group.uid, os.geteuid()):
            return None
        return group

    def _current_groups(self) -> dict[str, ContainerGroup]:
        version = self._groups.version()
        if version != self._version:
            self._version, self._known = version, self._groups.all()
        return self._known


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _body(request: Request) -> bytes | None:
    """The body; ``None`` where it is larger than a message can be."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > MAX_MESSAGE:
            return None
        parts.append(part)
    return b"".join(parts)


def _id_of(message: bytes) -> str:
    """The id in a request, for a note that its own side checks."""
    name = (json_object(message.partition(b"\n")[2]) or {}).get("id")
    return name if isinstance(name, str) else ""
