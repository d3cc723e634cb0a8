"""Forwards connections from this machine's loopback to a server in a room. Linux.

A process of its own enters the room's network, and connects there. It hands each connection over, and what is passed on
runs outside. See setns(2), user_namespaces(7).
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import os
import socket

from lockgate.core.errors import ContainmentError
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_SECONDS = 5.0
"""For one connection in the room: nobody else is there, so it comes at once or not at all."""
_NEW_USER, _NEW_NETWORK = 0x10000000, 0x40000000
_LOOPBACKS = ("127.0.0.1", "::1")
_CHUNK = 1 << 16


def forward(room: socket.socket, pid: int, port: int, host_port: int, begun: Callable[[int], object]) -> None:
    """Listen at a port of this machine's loopback, and pass on to a port of the room's, until the room ends.

    Args:
        room: A connection to the process that holds the room. It is readable once that has ended.
        pid: That process.
        port: Where the server listens in the room.
        host_port: Where to listen outside; 0 for any port that is free.
        begun: Is called with the port outside, once that listens.

    Raises:
        ContainmentError: The room cannot be entered, or the port outside is taken.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    child = os.fork()
    if child == 0:
        ours.close()
        _connect_inside(theirs, pid, port)
    theirs.close()
    try:
        if ours.recv(1) != b"+":
            raise ContainmentError("the room cannot be entered: it has ended, or the system forbids it")
        asyncio.run(_listen(ours, room, host_port, begun))
    finally:
        ours.close()
        os.waitpid(child, 0)


# ---------------------------------------------------------------- inside
def _connect_inside(asked: socket.socket, pid: int, port: int) -> NoReturn:
    """Enter the network of a process, and hand a connection over for each byte that comes; end with whoever asks."""
    try:
        with contextlib.suppress(OSError):
            _enter(pid)
            asked.send(b"+")
            while asked.recv(1):
                _hand_over(asked, port)
    finally:
        os._exit(0)


def _enter(pid: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    names = ((_NEW_USER, "user"), (_NEW_NETWORK, "net"))
    held = [(kind, os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)) for kind, name in names]
    for kind, descriptor in held:
        if libc.setns(descriptor, kind) != 0:
            raise OSError(ctypes.get_errno(), "cannot enter the room")
        os.close(descriptor)


def _hand_over(asked: socket.socket, port: int) -> None:
    for address in _LOOPBACKS:
        with contextlib.suppress(OSError), socket.create_connection((address, port), _SECONDS) as connection:
            socket.send_fds(asked, [b"+"], [connection.fileno()])
            return
    asked.send(b"-")


# ---------------------------------------------------------------- outside
async def _listen(asked: socket.socket, room: socket.socket, host_port: int, begun: Callable[[int], object]) -> None:
    loop, over = asyncio.get_running_loop(), asyncio.Event()
    turn = asyncio.Lock()
    loop.add_reader(room, over.set)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with turn:
            inside = await loop.run_in_executor(None, _take_connection, asked)
        if inside is None:
            writer.close()
            return
        there = await asyncio.open_connection(sock=inside)
        await asyncio.gather(_pass_on(reader, there[1]), _pass_on(there[0], writer))

    try:
        server = await asyncio.start_server(serve, _LOOPBACKS[0], host_port)
    except OSError as error:
        raise ContainmentError(f"port {host_port} cannot be opened: {error.strerror}; choose another one") from None
    async with server:
        begun(server.sockets[0].getsockname()[1])
        await over.wait()
    loop.remove_reader(room)


def _take_connection(asked: socket.socket) -> socket.socket | None:
    """A connection to the server inside; ``None`` where nobody listens there."""
    asked.send(b"?")
    said, descriptors, _, _ = socket.recv_fds(asked, 1, 1)
    return socket.socket(fileno=descriptors[0]) if said == b"+" and descriptors else None


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Pass on what comes until no more does, and say so to the other side."""
    with contextlib.suppress(OSError):
        while data := await reader.read(_CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
            return
    writer.close()
