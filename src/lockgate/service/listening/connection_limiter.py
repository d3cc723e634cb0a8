"""Limits connections: a TLS handshake has a deadline, and the one that waits longest makes room.

asyncio bounds only the time. Each connection takes a file from the first byte on, of which a process has some thousand:
whoever opens them faster than they end would take all, and with them what the store and the containers' files need.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from functools import partial
from ssl import SSLContext

MOST = 384
"""Connections whose handshake goes on, and as many that wait for a request: together they leave a process that may open
1,024 files, as most may, enough for its work."""
TLS_SECONDS = 5.0
"""How long a TLS handshake may take; and the farewell, after which the connection is closed whatever comes."""
_AT_ONCE = 16
"""Connections that are let in before those that are in already have their turn: few, for each may have to make another
one's room, and what was done for that one takes some turns to end. Until then uvicorn counts it, and refuses others."""
_BREATH = 0.1
"""Seconds of rest where the system has no more files: the socket stays ready, and must not be spun on."""
_NO_FILES = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})

Factory = Callable[[], asyncio.BaseProtocol]


class LimitedListener:
    """A listening socket. To uvicorn it is what :mod:`asyncio` calls a server."""

    def __init__(self, factory: Factory, listening: socket.socket, tls: SSLContext | None) -> None:
        """Accept nobody yet.

        Args:
            factory: Makes what speaks to one who has come in.
            listening: The socket; whoever has made it closes it.
            tls: How a handshake is made; ``None`` for none.
        """
        self._factory = factory
        self._listening = listening
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._coming: dict[asyncio.Task[object], None] = {}
        """Those who are about to come in; the first has waited longest."""
        self._again: asyncio.TimerHandle | None = None
        self._open = False

    def open(self) -> None:
        """Accept connections from now on."""
        self._listening.setblocking(False)
        self._open = True
        self._loop.add_reader(self._listening.fileno(), self._admit)

    def close(self) -> None:
        """Accept nobody any more, and drop connections in their handshake."""
        if self._open:
            self._open = False
            self._rest(0.0)
        for coming in list(self._coming):
            coming.cancel()

    async def wait_closed(self) -> None:
        """Wait until those are gone who were about to come in."""
        await asyncio.gather(*self._coming, return_exceptions=True)

    def _admit(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, _ = self._listening.accept()
            except OSError as error:
                if error.errno in _NO_FILES:
                    self._make_room()
                    self._rest(_BREATH)
                return  # nobody is there any more
            self._greet(accepted)

    def _greet(self, accepted: socket.socket) -> None:
        patience = {"ssl_handshake_timeout": TLS_SECONDS, "ssl_shutdown_timeout": TLS_SECONDS} if self._tls else {}
        coming = self._loop.connect_accepted_socket(self._factory, accepted, ssl=self._tls, **patience)
        task: asyncio.Task[object] = self._loop.create_task(coming)
        self._coming[task] = None
        task.add_done_callback(partial(self._came, accepted))
        if len(self._coming) > MOST:
            self._make_room()

    def _came(self, accepted: socket.socket, task: asyncio.Task[object]) -> None:
        self._coming.pop(task, None)
        if task.cancelled():
            accepted.close()  # it may not have begun
        else:
            task.exception()  # a handshake that fails is theirs: nobody here wants to hear of it

    def _make_room(self) -> None:
        """Send away who has waited longest: an honest handshake takes a few milliseconds."""
        longest = next(iter(self._coming), None)
        if longest is not None:
            del self._coming[longest]
            longest.cancel()

    def _rest(self, seconds: float) -> None:
        """Accept nobody for a while; or never again, once it is closed."""
        self._loop.remove_reader(self._listening.fileno())
        if self._again is not None:
            self._again.cancel()
        self._again = self._loop.call_later(seconds, self._go_on) if self._open else None

    def _go_on(self) -> None:
        self._loop.add_reader(self._listening.fileno(), self._admit)
