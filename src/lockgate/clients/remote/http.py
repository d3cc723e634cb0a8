"""Asks the host's gate over a Unix socket or HTTPS, where files are not wanted."""

from __future__ import annotations

import socket
import ssl
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from lockgate.clients.wire.envelope import MAX_MESSAGE
from lockgate.core.errors import RemoteError
from lockgate.resources.loopback import is_loopback


class _UnixConnection(HTTPConnection):
    """HTTP over a Unix socket."""

    def __init__(self, path: str, timeout: float) -> None:
        super().__init__("localhost", timeout=timeout)
        self._path = path

    def connect(self) -> None:
        """Connect to the path."""
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def exchange(place: str, ca_file: str, path: str, token: str, message: bytes, until: float) -> bytes:
    """Put a message to the host, and wait for its answer.

    Args:
        place: ``unix:PATH`` or ``https://HOST:PORT``.
        ca_file: Certificates to trust instead of the system's; empty for those.
        path: What is asked: ``/v1/decide`` or ``/v1/report``.
        token: The bearer token.
        message: The sealed request.
        until: A time of the monotonic clock.

    Raises:
        RemoteError: There is no answer in time, or it is not one of the gate's.
    """
    try:
        connection = _connection(place, ca_file, max(until - time.monotonic(), 0.001))
        try:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/octet-stream"}
            connection.request("POST", path, message, headers)
            answer = connection.getresponse()
            body = answer.read(MAX_MESSAGE + 1)
        finally:
            connection.close()
    except (OSError, HTTPException, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise RemoteError(f"the gate cannot be reached: {reason}") from None
    if answer.status not in (200, 202) or len(body) > MAX_MESSAGE:
        raise RemoteError(f"the gate does not answer as it must (status {answer.status})")
    return body


def _connection(place: str, ca_file: str, timeout: float) -> HTTPConnection:
    if place.startswith("unix:"):
        return _UnixConnection(place.removeprefix("unix:"), timeout)
    url = urlsplit(place)
    if not url.hostname or url.username or url.path not in ("", "/") or url.query or url.fragment:
        raise ValueError("not an address of a gate")
    if url.scheme == "http" and is_loopback(url.hostname):
        return HTTPConnection(url.hostname, url.port, timeout=timeout)
    if url.scheme != "https":
        raise ValueError("not an address of a gate")
    context = ssl.create_default_context(cafile=ca_file or None)
    return HTTPSConnection(url.hostname, url.port, timeout=timeout, context=context)
