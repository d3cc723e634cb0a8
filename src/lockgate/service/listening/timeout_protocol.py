"""Bounds how long uvicorn waits for a request's head or a TLS handshake: it has no such limits itself.

Whoever connects and says nothing, or a byte now and then, would hold a connection for ever. All of them together would
keep everybody else out. So each has its time; and of many that have not asked anything whole, the one that has rested
longest makes room for the next.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from lockgate.service.listening.connection_limiter import MOST, LimitedListener

HEAD_SECONDS = 10.0
"""How long a request's head may take, from the connection, or the end of the request before, to its empty line."""

_Result = TypeVar("_Result")


class _State(ServerState):
    """The state that the connections of one server share."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.most = most
        self.resting: dict[TimeoutProtocol, None] = {}
        """Those of whom no whole request has come, of which there are so many at most; the first has rested longest."""


class TimeoutProtocol(H11Protocol):
    """HTTP that drops who does not finish a request. The time of a body is the application's: it knows whose it is."""

    _late: asyncio.TimerHandle | None = None
    server_state: _State

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()
        self._rest()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request. uvicorn ends its own waiting for another request with its first byte."""
        super().data_received(data)
        if self._is_asked():
            self._stop()
            if not self.cycle.more_body:
                self.server_state.resting.pop(self, None)
        elif self._late is None:
            self._wait()

    def on_response_complete(self) -> None:
        """Wait for another request."""
        super().on_response_complete()
        if not (self.transport.is_closing() or self._is_asked()):
            self._rest()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop()
        self.server_state.resting.pop(self, None)
        super().connection_lost(exc)
        self._unset_keepalive_if_required()  # which uvicorn leaves out where the connection was reset

    def _is_asked(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _rest(self) -> None:
        resting = self.server_state.resting
        resting[self] = None
        if len(resting) > self.server_state.most:
            longest = next(iter(resting))
            del resting[longest]
            longest.transport.abort()

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Server(uvicorn.Server):
    """A server that leaves signals to the caller, who has more to end than this."""

    def __init__(self, config: uvicorn.Config) -> None:
        """Serve nothing yet. Half of the connections that it may have, at most, wait for a request."""
        super().__init__(config)
        # What others send would fill the terminal: no HTTP, too many at a time. It is answered, which is enough.
        logging.getLogger("uvicorn.error").setLevel(logging.ERROR)
        most = MOST if config.limit_concurrency is None else min(MOST, config.limit_concurrency // 2)
        self.server_state = _State(most)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class _Loop(asyncio.SelectorEventLoop):
    async def create_server(self, protocol_factory: Any, *arguments: Any, **options: Any) -> Any:
        """Listen on a socket of ours: uvicorn cannot be told how many may come in at a time, nor how long TLS takes."""
        if arguments or "sock" not in options:
            return await super().create_server(protocol_factory, *arguments, **options)
        door = LimitedListener(protocol_factory, options["sock"], options.get("ssl"))
        door.open()
        return door


def run(main: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a program that serves, as :func:`asyncio.run` does, in a loop in which sockets have doors."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)
