"""How long uvicorn waits for others: it knows no time for a TLS handshake, nor for a request's head.

Whoever connects and says nothing, or a byte now and then, would hold a connection for ever, and all of them together
would keep everybody else out.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

TLS_SECONDS = 5.0
"""How long a TLS handshake may take; and the farewell, after which the connection is closed whatever comes."""
HEAD_SECONDS = 10.0
"""How long a request's head may take, from the connection, or the end of the request before, to its empty line."""

_Result = TypeVar("_Result")


class PatientProtocol(H11Protocol):
    """HTTP that drops who does not finish the head of a request."""

    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Wait for the first request."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Take a part of a request. uvicorn ends its own waiting for another request with its first byte."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop()
        elif self._late is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop()
        super().connection_lost(exc)

    def _wait(self) -> None:
        self._late = self.loop.call_later(HEAD_SECONDS, self.transport.abort)

    def _stop(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Server(uvicorn.Server):
    """A server that leaves signals to the caller, who has more to end than this."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class _Loop(asyncio.SelectorEventLoop):
    async def create_server(self, *arguments: Any, **options: Any) -> asyncio.Server:
        """Listen. uvicorn cannot be told the times of TLS, which asyncio knows."""
        if options.get("ssl") is not None:
            options.setdefault("ssl_handshake_timeout", TLS_SECONDS)
            options.setdefault("ssl_shutdown_timeout", TLS_SECONDS)
        return await super().create_server(*arguments, **options)


def run(main: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a program that serves, as :func:`asyncio.run` does, in a loop in which TLS has its time."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(main)
