"""Answers ``GET /metrics`` on a loopback address or a Unix socket of the user's own."""

from __future__ import annotations

import os
import socket
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from socketserver import ThreadingMixIn
from typing import TYPE_CHECKING, Any

from lockgate.resources.loopback import is_loopback
from lockgate.service.observability.settings import Metrics

if TYPE_CHECKING:
    from lockgate.service.observability.process import Exporter

_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = 5.0
"""How long one who asks may take, from the connection to the end of the answer."""
_MOST = 8
"""Connections at once. One more takes the place of the oldest, so that slow ones keep nobody out."""


class _Tcp(ThreadingMixIn, HTTPServer):
    """A thread for each connection; connections are bounded in number and in time."""

    request_queue_size = 16
    daemon_threads = True
    block_on_close = False

    def __init__(self, *arguments: Any) -> None:
        self._open: dict[socket.socket, float] = {}
        """When each began, the oldest first."""
        self._lock = threading.Lock()
        super().__init__(*arguments)

    def process_request(self, request: Any, client_address: Any) -> None:
        with self._lock:
            if len(self._open) >= _MOST:
                self._cut(next(iter(self._open)))
            self._open[request] = time.monotonic()
        super().process_request(request, client_address)

    def service_actions(self) -> None:
        """End what takes too long. ``serve_forever`` calls this between connections."""
        with self._lock:
            late = time.monotonic() - _SECONDS
            for connection in [each for each, began in self._open.items() if began < late]:
                self._cut(connection)

    def shutdown_request(self, request: Any) -> None:
        with self._lock:
            self._open.pop(request, None)
        super().shutdown_request(request)

    def _cut(self, connection: socket.socket) -> None:
        """Wake the thread that reads from a connection or writes to it: it finds its end, and closes it."""
        del self._open[connection]
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, *_: Any) -> None:
        """Say nothing: one who asks went away, or was cut off."""


class _Tcp6(_Tcp):
    address_family = socket.AF_INET6


class _Unix(_Tcp):
    address_family = socket.AF_UNIX
    _is_bound = False

    def server_bind(self) -> None:
        path = str(self.server_address)
        with suppress(FileNotFoundError):
            if stat.S_ISSOCK(os.lstat(path).st_mode):
                os.unlink(path)
        # The rights are there before anybody can connect.
        before = os.umask(0o177)
        try:
            self.socket.bind(path)
        finally:
            os.umask(before)
        self._is_bound = True
        self.server_name, self.server_port = "localhost", 0

    def server_close(self) -> None:
        super().server_close()
        if self._is_bound:  # else what is there is somebody else's
            with suppress(OSError):
                os.unlink(str(self.server_address))


@contextmanager
def serve_metrics(metrics: Metrics | None, exporter: Exporter) -> Iterator[None]:
    """Answer for as long as something else goes on, in a thread; nothing, where no address is configured.

    Raises:
        OSError: The address cannot be listened on.
    """
    if metrics is None or not metrics.listen:
        yield
        return
    server = _server(metrics.listen, _handler(exporter))
    thread = threading.Thread(target=server.serve_forever, args=(0.1,), name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _server(listen: str, handler: type[BaseHTTPRequestHandler]) -> HTTPServer:
    if listen.startswith("unix:"):
        return _Unix(listen.removeprefix("unix:"), handler)
    host, _, port = listen.rpartition(":")
    kind = _Tcp6 if host == "[::1]" else _Tcp
    return kind((host.strip("[]"), int(port)), handler)


def _handler(exporter: Exporter) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _SECONDS
        server_version = "lockgate"
        sys_version = ""

        def do_GET(self) -> None:
            if not self._is_local():
                self._say(403, b"this is answered to this machine alone\n", "text/plain")
            elif self.path != "/metrics":
                self._say(404, b"there is only /metrics\n", "text/plain")
            else:
                self._say(200, exporter.page, _TYPE)

        def _is_local(self) -> bool:
            """Whether the request names this machine: a page of another site would have to name its own host."""
            if isinstance(self.server, _Unix):
                return True
            host = self.headers.get("Host", "")
            return is_loopback((host if host.endswith("]") else host.rpartition(":")[0] or host).strip("[]"))

        def _say(self, status: int, body: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Content-Type-Options", "nosniff")
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Say nothing: what is asked is no news."""

    return Handler
