"""A stand-in of GitHub's API on loopback: it answers what the official actions ask, and writes down what is posted."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class Api:
    """The service: who may write, and what it was told."""

    def __init__(self) -> None:
        self.posted: list[dict[str, Any]] = []
        """Each request that changes something: its method, path and value."""
        self.unknown: list[str] = []
        """What was asked and is not known here."""
        self.writers = {"owner"}
        self.address = ""

    def find(self, path: str) -> Any:
        """The answer to a GET; ``None`` where there is none."""
        match path.partition("?")[0].strip("/").split("/"):
            case ["users", login]:
                return {"login": login, "id": 9, "type": "Bot" if login.endswith("[bot]") else "User"}
            case ["repos", _, _, "collaborators", login, "permission"]:
                may = "write" if login in self.writers else "read"
                return {"permission": may, "role_name": may, "user": {"login": login}}
            case ["repos", owner, name]:
                return {"full_name": f"{owner}/{name}", "default_branch": "main", "private": False}
        return None


@contextmanager
def serving() -> Iterator[Api]:
    """A service, as long as the block lasts."""
    held = Api()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            pass

        def _say(self, status: int, value: Any) -> None:
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json; charset=utf-8")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            found = held.find(self.path)
            if found is None:
                held.unknown.append(f"GET {self.path}")
            self._say(404 if found is None else 200, found)

        def _change(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
            held.posted.append({"method": self.command, "path": self.path, "body": body})
            self._say(201, {"id": 1})

        do_POST = do_PATCH = do_PUT = do_DELETE = _change  # noqa: N815 - the names are the base class's

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    held.address = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield held
    finally:
        server.shutdown()
        server.server_close()
