"""Who connects and does not finish what they say is dropped, with and without TLS; who does is not."""

from __future__ import annotations

import signal
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import httpx
import pytest

from lockgate.service.http.auth.tokens import add
from support.api_server import Machine, Server, read_all

PATIENCE = 1.0
SECONDS = 20.0


@pytest.fixture(scope="module")
def plain(machine: Machine) -> Iterator[Server]:
    with machine.serve(patience=PATIENCE) as server:
        yield server


@pytest.fixture(scope="module")
def tls(machine: Machine, certificate: tuple[str, str]) -> Iterator[Server]:
    with machine.serve(patience=PATIENCE, certificate=certificate[0], key=certificate[1]) as server:
        yield server


@pytest.fixture(params=["plain", "tls"])
def either(request: pytest.FixtureRequest) -> Server:
    server = request.getfixturevalue(request.param)
    assert isinstance(server, Server)
    return server


def connected(server: Server) -> socket.socket:
    """A connection on which a request can begin."""
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
    if not server.url.startswith("https:"):
        return connection
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context.wrap_socket(connection)


def drips_until_dropped(connection: socket.socket, sent: bytes, more: bytes) -> None:
    """Say something, then a little again and again, until the other end is gone."""
    end = time.monotonic() + SECONDS
    with connection, suppress(ConnectionError, ssl.SSLError):
        connection.sendall(sent)
        connection.settimeout(0.1)
        while True:
            assert time.monotonic() < end, "it was not dropped"
            try:
                if connection.recv(65536) == b"":
                    return
            except TimeoutError:
                connection.sendall(more)


HEAD = b"GET /api/v1/me HTTP/1.1\r\nHost: x\r\n"


@pytest.mark.parametrize(
    ("sent", "more"),
    [
        pytest.param(b"", b"", id="nothing"),
        pytest.param(b"G", b"", id="a-letter"),
        pytest.param(HEAD, b"", id="half-a-head"),
        pytest.param(HEAD, b"x: y\r\n", id="a-head-without-an-end"),
        pytest.param(HEAD + b"\r\n" + HEAD, b"x: y\r\n", id="a-second-head-without-an-end"),
    ],
)
def test_a_request_that_is_not_finished_is_dropped(either: Server, sent: bytes, more: bytes) -> None:
    drips_until_dropped(connected(either), sent, more)


@pytest.mark.parametrize(
    "sent",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"\x16\x03\x01", id="half-a-record"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", id="half-a-greeting"),
    ],
)
def test_a_handshake_that_is_not_finished_is_dropped(tls: Server, sent: bytes) -> None:
    drips_until_dropped(socket.create_connection(("127.0.0.1", tls.port), timeout=SECONDS), sent, b"")


def test_crowds_of_them_keep_nobody_out(either: Server) -> None:
    crowd = [socket.create_connection(("127.0.0.1", either.port), timeout=SECONDS) for _ in range(300)]
    try:
        end = time.monotonic() + SECONDS
        status = 0
        while status != 200:
            assert time.monotonic() < end
            with suppress(httpx.HTTPError):
                status = httpx.get(f"{either.url}/", verify=False, timeout=SECONDS).status_code
    finally:
        for connection in crowd:
            connection.close()


GREETING = b"\x16\x03\x01"
"""The beginning of a TLS handshake."""
HAS_RESTED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"
BODY = (
    b"POST /api/v1/login HTTP/1.1\r\nHost: 127.0.0.1:%(port)d\r\nOrigin: http://127.0.0.1:%(port)d\r\n"
    b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{"
)
"""What anybody may begin to say."""
CROWD = 450
"""More than may come in, or rest, at a time."""


@pytest.mark.parametrize(
    ("encrypted", "sent"),
    [
        pytest.param(False, b"", id="nothing"),
        pytest.param(False, HEAD, id="half-a-head"),
        pytest.param(False, HAS_RESTED, id="answered"),
        pytest.param(False, BODY, id="half-a-body"),
        pytest.param(True, GREETING, id="half-a-handshake"),
    ],
)
def test_who_has_waited_longest_makes_room(
    machine: Machine, certificate: tuple[str, str], encrypted: bool, sent: bytes
) -> None:
    """However long each may take, there are only so many of them, and nobody else is kept out meanwhile."""
    files = {"certificate": certificate[0], "key": certificate[1]} if encrypted else {}
    with machine.serve(patience=10 * SECONDS, **files) as server, ExitStack() as held:
        crowd = []
        for _ in range(CROWD):
            crowd.append(held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)))
            with suppress(ConnectionError):
                crowd[-1].sendall(sent.replace(b"%(port)d", str(server.port).encode()))
        assert httpx.get(f"{server.url}/", verify=False, timeout=SECONDS).status_code == 200
        with suppress(ConnectionError):  # it was dropped, however that is told
            while crowd[0].recv(65536):
                pass
        crowd[-1].settimeout(0.2)
        with suppress(TimeoutError):
            while said := crowd[-1].recv(65536):
                assert said.startswith(b"HTTP/1.1 4")
            raise AssertionError("the last was dropped too")


@pytest.mark.parametrize("waiting", [100, 250])
def test_a_crowd_that_came_while_the_server_was_held_up_keeps_nobody_out(machine: Machine, waiting: int) -> None:
    with machine.serve(patience=10 * SECONDS) as server, ExitStack() as held:
        body = BODY.replace(b"%(port)d", str(server.port).encode())

        def come(said: bytes) -> socket.socket:
            connection = held.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS))
            with suppress(ConnectionError):
                connection.sendall(said)
            return connection

        for _ in range(CROWD):
            come(body)
        assert httpx.get(f"{server.url}/", timeout=SECONDS).status_code == 200
        held.callback(server.process.send_signal, signal.SIGCONT)  # whatever happens: it could not be ended
        server.process.send_signal(signal.SIGSTOP)
        for _ in range(waiting):
            come(body)
        person = come(f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\nConnection: close\r\n\r\n".encode())
        server.process.send_signal(signal.SIGCONT)
        assert read_all(person).startswith(b"HTTP/1.1 200 ")


def test_what_others_send_does_not_fill_the_terminal(plain: Server) -> None:
    for _ in range(5):
        with connected(plain) as connection:
            connection.sendall(b"no HTTP\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 400")
    assert not [line for line in plain.logged if "HTTP" in line]


def test_who_listens_or_thinks_is_not_dropped(machine: Machine, plain: Server) -> None:
    token = add(machine.store, f"patient {time.monotonic_ns()}", "read")
    client = plain.program(token)
    with client.stream("GET", "events") as stream:
        assert stream.status_code == 200
        time.sleep(2 * PATIENCE)
        number = machine.recorded({"event": "prompt", "session": "s1"})
        for line in stream.iter_lines():
            if line == f"id: {number}":
                break
        else:
            raise AssertionError("the stream ended")
    time.sleep(1.5 * PATIENCE)
    assert client.get("me").status_code == 200
