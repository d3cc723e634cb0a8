"""A stand-in on loopback for a service's REST API. It keeps what it is asked, and can misbehave."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class Asked(NamedTuple):
    """One request."""

    method: str
    path: str
    token: str
    body: Any


class StandInApi:
    """What was asked, and what is answered."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.status = 201
        self.headers: dict[str, str] = {}
        self.body = b"{}"
        self.address = ""


@contextmanager
def standing_in() -> Iterator[StandInApi]:
    """The stand-in, listening."""
    api = StandInApi()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
            self._answer(json.loads(body))

        def do_GET(self) -> None:
            self._answer(None)

        def _answer(self, body: Any) -> None:
            api.asked.append(Asked(self.command, self.path, self.headers.get("Authorization", ""), body))
            self.send_response(api.status)
            for name, value in {**api.headers, "Content-Length": str(len(api.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(api.body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the base class
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    api.address = f"http://127.0.0.1:{server.server_address[1]}/api/v3"
    try:
        yield api
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
