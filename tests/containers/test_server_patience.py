"""What a connection leaves behind that was reset."""

from __future__ import annotations

import asyncio
import gc
import socket
import struct
import weakref
from typing import Any

import pytest
import uvicorn

from lockgate.service.listening.sockets import tcp_socket
from lockgate.service.listening.timeout_protocol import Server, TimeoutProtocol, run

_NOW = struct.pack("ii", 1, 0)
"""``SO_LINGER`` with no time: the end is told by a reset."""


async def _app(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
    await send({"type": "http.response.body", "body": b""})


async def _asks_and_resets(port: int) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200")
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NOW)
    writer.transport.abort()


def test_a_connection_that_was_reset_is_forgotten_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else all that it has sent would stay as long as another request is waited for."""
    made: list[weakref.ref[TimeoutProtocol]] = []

    class Seen(TimeoutProtocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            made.append(weakref.ref(self))

    async def serve() -> int:
        with tcp_socket("127.0.0.1", 0) as listening:
            config = uvicorn.Config(_app, http=Seen, lifespan="off", log_config=None, timeout_keep_alive=3600)
            server = Server(config)
            serving = asyncio.create_task(server.serve([listening]))
            for _ in range(5):
                await _asks_and_resets(listening.getsockname()[1])
            while len(made) < 5 or server.server_state.connections:
                await asyncio.sleep(0.01)
            gc.collect()
            left = sum(each() is not None for each in made)
            server.should_exit = True
            await serving
            return left

    assert run(serve()) == 0
