"""Garbage, bodies without an end and half requests: whoever only wants to break the dashboard."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from lockgate.service.http.middleware import MOST_BODY
from support.api_server import Server, read_all


def request(server: Server, head: str, body: bytes = b"", wait: float = 15.0) -> bytes:
    """Send bytes, and read until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=wait) as connection:
        connection.sendall(head.replace("HOST", f"127.0.0.1:{server.port}").encode("latin-1") + body)
        return read_all(connection)


GET = "GET / HTTP/1.1\r\nConnection: close\r\n"
POST = "POST /api/v1/login HTTP/1.1\r\nConnection: close\r\nHost: HOST\r\n"
GARBAGE: list[Any] = [
    pytest.param("\x00\x01\x02\r\n\r\n", b"", id="bytes"),
    pytest.param("GET / HTTP/9.9\r\nConnection: close\r\nHost: HOST\r\n\r\n", b"", id="version"),
    pytest.param(f"{GET}Host: HOST\r\nHost: HOST\r\n\r\n", b"", id="two-hosts"),
    pytest.param(f"{GET}\r\n", b"", id="no-host"),
    pytest.param(f"{POST}Content-Length: -1\r\n\r\n", b"", id="negative-length"),
    pytest.param(f"{POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n", b"12345", id="two-lengths"),
    pytest.param(f"{POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n", b"0\r\n\r\n", id="smuggling"),
    pytest.param(f"GET /{'a' * 100_000} HTTP/1.1\r\nConnection: close\r\nHost: HOST\r\n\r\n", b"", id="long-path"),
    pytest.param(f"{GET}Host: HOST\r\nX: {'a' * 100_000}\r\n\r\n", b"", id="long-header"),
    pytest.param("CONNECT x:443 HTTP/1.1\r\nConnection: close\r\nHost: HOST\r\n\r\n", b"", id="proxy"),
    pytest.param("GET http://x/ HTTP/1.1\r\nConnection: close\r\nHost: x\r\n\r\n", b"", id="absolute"),
    pytest.param(
        "GET /api/v1/events HTTP/1.1\r\nHost: HOST\r\nConnection: close, Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Key: eA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        b"",
        id="websocket",
    ),
]


@pytest.mark.parametrize(("head", "body"), GARBAGE)
def test_garbage_is_refused_and_harms_nobody(server: Server, head: str, body: bytes) -> None:
    try:
        line = request(server, head, body).partition(b"\r\n")[0]
    except (ConnectionError, TimeoutError):
        line = b""
    page = head.startswith("GET / ")  # which everybody may have
    assert line == b"" or line.split()[1][:1] == b"4" or (page and line.split()[1] == b"200"), line
    assert server.process.poll() is None
    assert server.browser().get("me").status_code == 401


@pytest.mark.parametrize(
    ("length", "status"),
    [(MOST_BODY, 422), (MOST_BODY + 1, 413), (10**18, 413)],
)
def test_a_body_has_a_bound(server: Server, length: int, status: int) -> None:
    person = server.person()
    padded = b'{"token": 1' + b" " * (min(length, MOST_BODY + 1) - 12) + b"}"
    headers = {"Content-Type": "application/json", "Content-Length": str(length)}
    if length > len(padded):
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        answer = request(
            server,
            f"POST /api/v1/login HTTP/1.1\r\nHost: HOST\r\nOrigin: {server.url}\r\nConnection: close\r\n{head}\r\n",
        )
        assert answer.split()[1] == str(status).encode()
        return
    assert person.post("login", content=padded, headers=headers).status_code == status


def test_a_body_without_a_length_has_the_same_bound(server: Server) -> None:
    def parts() -> Iterator[bytes]:
        for _ in range(20):
            yield b" " * 100_000

    try:
        answer = server.person().post("login", content=parts(), headers={"Content-Type": "application/json"})
    except httpx.WriteError:
        return  # it was refused before all was sent
    assert answer.status_code == 413


def test_half_a_request_changes_nothing_and_holds_nobody_up(server: Server, approval: str) -> None:
    person = server.person()
    cookie = "; ".join(f"{name}={value}" for name, value in person.cookies.items())
    head = (
        f"POST /api/v1/approvals/{approval}/deny HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nOrigin: {server.url}\r\n"
        f"Cookie: {cookie}\r\nX-CSRF-Token: {person.headers['X-CSRF-Token']}\r\n"
        "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{"
    )
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(head.encode())
        assert person.get("me").status_code == 200, "while the other half is waited for"
    assert person.get("me").status_code == 200


NO_JSON: list[tuple[bytes, str]] = [
    (b"", "empty"),
    (b"{", "cut"),
    (b'{"token": "\xff"}', "no-utf-8"),
    (b"[" * 100_000, "deep"),
    (b"NaN", "nan"),
    (b'{"token": 1e999}', "infinite"),
    (b'{"token": "x", "token": "y"}', "twice"),
    (b'{"token": "\\ud800"}', "half-a-pair"),
    (b"null", "null"),
    (b'{"token": "x", "more": 1}', "more"),
]


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for body, name in NO_JSON])
def test_what_is_no_request_is_told_so(server: Server, body: bytes) -> None:
    answer = server.browser().post("login", content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 401, 422, 429)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == answer.status_code
    assert "Traceback" not in answer.text
