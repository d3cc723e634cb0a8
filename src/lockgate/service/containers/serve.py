"""``lockgate serve``: starts all parts of the host's side, and stops them together."""

from __future__ import annotations

import asyncio
import signal
import socket
import sys
from contextlib import ExitStack

import uvicorn

from lockgate.core.errors import RemoteError
from lockgate.core.record import Record
from lockgate.service.containers.groups import Groups
from lockgate.service.containers.handler import ContainerDecisions
from lockgate.service.containers.http import PeerProtocol, Web
from lockgate.service.containers.local_calls import Locality
from lockgate.service.containers.mailbox_server import MailboxServer
from lockgate.service.containers.workers import Workers
from lockgate.service.listening.sockets import address, check_address, tcp_socket, unix_socket
from lockgate.service.listening.timeout_protocol import Server
from lockgate.system.folders import Folders

WORKERS = 1
"""Threads that decide. The interpreter runs one at a time, so more of them only wait for each other."""
_TURN = 0.0005
"""Seconds until a thread has to let another run."""


class ContainerServerSettings(Record):
    """The ways in which the host is reached."""

    folder: str = ""
    """The folder of the groups' folders; empty where there is no IPC by files."""
    unix: str = ""
    listen: str = ""
    """``HOST:PORT``."""
    certificate: str = ""
    key: str = ""
    poll: bool = False
    workers: int = WORKERS


def check(settings: ContainerServerSettings) -> None:
    """Make sure that the settings can be served.

    Raises:
        RemoteError: They cannot, or it would not be safe.
    """
    if not (settings.folder or settings.unix or settings.listen):
        raise RemoteError("there is nothing to serve: give --ipc, --unix or --listen")
    check_address(settings.listen, settings.certificate, settings.key)


async def serve(where: Folders, settings: ContainerServerSettings, ready: asyncio.Event | None = None) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises:
        RemoteError: It cannot be served.
        StoreError: The state cannot be opened or trusted.
    """
    check(settings)
    # Threads take turns: each call of the system gives the turn away, and by default it comes back after 5 ms only.
    sys.setswitchinterval(_TURN)
    groups = Groups(where.state)
    workers = Workers(where, settings.workers)
    decisions = ContainerDecisions(workers)
    sockets = ExitStack()
    mailboxes: MailboxServer | None = None
    try:
        stop = asyncio.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(name, stop.set)
        tasks = workers.run()
        locality = Locality(where, groups, workers)
        await locality.look()
        tasks.append(asyncio.create_task(locality.run()))
        if settings.folder:
            mailboxes = MailboxServer(settings.folder, groups, decisions, poll=settings.poll)
            tasks.append(asyncio.create_task(mailboxes.run()))
        tasks += _listen(Web(groups, decisions), settings, sockets)
        if ready is not None:
            ready.set()
        await _wait_for_end(stop, tasks)
    finally:
        if mailboxes is not None:
            mailboxes.close()
        sockets.close()
        decisions.close()
        workers.close()


def _listen(web: Web, settings: ContainerServerSettings, sockets: ExitStack) -> list[asyncio.Task[None]]:
    """Begin to answer at each address; the stack closes the sockets."""
    tasks = []
    if settings.unix:
        listening = sockets.enter_context(unix_socket(settings.unix))
        tasks.append(asyncio.create_task(_server(web, listening, ContainerServerSettings())))
    if settings.listen:
        listening = sockets.enter_context(tcp_socket(*address(settings.listen)))
        tasks.append(asyncio.create_task(_server(web, listening, settings)))
    return tasks


async def _wait_for_end(stop: asyncio.Event, tasks: list[asyncio.Task[None]]) -> None:
    """Wait for the end. A part that fails ends all: half a gate would look like a whole one."""
    stopping = asyncio.create_task(stop.wait())
    done, _ = await asyncio.wait([*tasks, stopping], return_when=asyncio.FIRST_COMPLETED)
    for task in (*tasks, stopping):
        task.cancel()
    await asyncio.gather(*tasks, stopping, return_exceptions=True)
    for task in done:
        if task is not stopping:
            task.result()


async def _server(web: Web, listening: socket.socket, settings: ContainerServerSettings) -> None:
    config = uvicorn.Config(
        web.app,
        http=PeerProtocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        ssl_certfile=settings.certificate or None,
        ssl_keyfile=settings.key or None,
        timeout_graceful_shutdown=2,
        limit_concurrency=2048,
    )
    # Signals are the caller's to handle: it ends all parts at once.
    await Server(config).serve([listening])
