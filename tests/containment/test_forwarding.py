"""A person's browser reaches a server in a room, and the room reaches nothing through that."""

from __future__ import annotations

import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest

from containment.machine import Machine
from containment.test_rooms import ROOM, run, serve, wait_until
from containment.test_rooms import machine as machine
from lockgate.containment import rooms

FORWARD = """
import sys
from lockgate.containment.rooms import forward
state, name, port, host_port = sys.argv[1:]
forward(state, name, int(port), int(host_port), lambda found: print(found, flush=True))
print("over", flush=True)
"""
ECHO = """
import socket, sys
family, address, port = sys.argv[1:]
server = socket.create_server((address, int(port)), family=socket.AddressFamily[family])
while True:
    with server.accept()[0] as found:
        while data := found.recv(65536):
            found.sendall(data)
"""


@contextmanager
def forwarded(machine: Machine, port: int, host_port: int = 0) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A process that passes on to the room, and the port at which it listens."""
    words = [sys.executable, "-c", FORWARD, str(machine.state), ROOM, str(port), str(host_port)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert select.select([process.stdout], [], [], 20)[0]
            yield process, int(process.stdout.readline() or 0)
        finally:
            process.kill()


def asked(port: int, text: bytes) -> bytes:
    """What comes back, until the other side ends."""
    with socket.create_connection(("127.0.0.1", port), 10) as found:
        found.sendall(text)
        found.shutdown(socket.SHUT_WR)
        parts = []
        while part := found.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_a_page_is_seen_outside(machine: Machine) -> None:
    machine.file("page.html", "written by the project")
    serve(machine, 8100)
    with forwarded(machine, 8100) as (_, port):
        found = asked(port, b"GET /page.html HTTP/1.0\r\n\r\n")
    assert found.endswith(b"\r\n\r\nwritten by the project")


@pytest.mark.parametrize(("family", "address"), [("AF_INET", "127.0.0.1"), ("AF_INET6", "::1")])
def test_everything_is_passed_on_both_ways(machine: Machine, family: str, address: str) -> None:
    machine.file("echo.py", ECHO)
    run(machine, f"python3 echo.py {family} {address} 8101 >/dev/null 2>&1 &")
    wait_until(lambda: 8101 in rooms.ports(str(machine.state), [ROOM]))
    data = os.urandom(3_000_000)
    with forwarded(machine, 8101) as (_, port):
        assert asked(port, b"short") == b"short"
        assert asked(port, data) == data


def test_it_listens_on_loopback_alone_and_ends_with_the_room(machine: Machine) -> None:
    serve(machine, 8102)
    with forwarded(machine, 8102) as (process, port):
        with suppress(OSError):
            others = {entry[4][0] for entry in socket.getaddrinfo(socket.gethostname(), None, socket.AF_INET)}
            for address in others - {"127.0.0.1"}:
                if not str(address).startswith("127."):
                    with pytest.raises(OSError):
                        socket.create_connection((address, port), 2).close()
        assert rooms.end(str(machine.state), [ROOM]) == [ROOM]
        assert process.wait(20) == 0
        assert process.stdout is not None
        assert process.stdout.read() == "over\n"


def test_a_port_without_a_server_is_closed_at_once(machine: Machine) -> None:
    serve(machine, 8103)
    with forwarded(machine, 8104) as (_, port):
        began = time.monotonic()
        assert asked(port, b"") == b""
        assert time.monotonic() - began < 5


def test_a_port_that_is_taken_is_said(machine: Machine) -> None:
    serve(machine, 8105)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        words = [sys.executable, "-c", FORWARD, str(machine.state), ROOM, "8105", str(taken.getsockname()[1])]
        done = subprocess.run(words, capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode != 0
    assert "cannot be opened" in done.stderr


def test_nothing_is_left_and_the_room_gains_no_way_out(machine: Machine) -> None:
    """The process that connects is none of the room's: its commands neither see nor signal it, and have no route."""
    serve(machine, 8106)
    with socket.create_server(("127.0.0.1", 0)) as outside, forwarded(machine, 8106) as (process, port):
        assert asked(port, b"GET / HTTP/1.0\r\n\r\n")
        there = run(machine, f"curl -s --max-time 2 http://127.0.0.1:{outside.getsockname()[1]}/ || echo no way")
        assert there.stdout == "no way\n"
        seen = run(machine, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '").stdout
        assert "rooms import forward" not in seen
        children = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True, check=False
        ).stdout.split()
        assert len(children) == 1
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        wait_until(lambda: not os.path.exists(f"/proc/{children[0]}"))
