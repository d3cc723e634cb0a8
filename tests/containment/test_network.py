"""Nobody can be reached from a sandbox: each attempt is shown to work without one first."""

from __future__ import annotations

import errno
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from containment.machine import Machine

pytestmark = pytest.mark.sampled

CONNECT = """
import ast, socket, sys
family, kind, address = ast.literal_eval(sys.argv[1])
try:
    with socket.socket(getattr(socket, family), getattr(socket, kind)) as it:
        it.settimeout(3)
        it.connect(address)
        it.send(b"the code")
    print("reached")
except OSError as error:
    print(type(error).__name__, error.errno)
"""


class Listener:
    """Somebody on this machine who writes down what is said to him."""

    def __init__(self, family: str, kind: str, address: object) -> None:
        self._family, self._kind = family, kind
        self._socket = socket.socket(getattr(socket, family), getattr(socket, kind))
        self._socket.bind(address)  # type: ignore[arg-type]
        if kind == "SOCK_STREAM":
            self._socket.listen()
        self.heard: list[bytes] = []
        threading.Thread(target=self._listen, daemon=True).start()

    @property
    def place(self) -> str:
        return repr((self._family, self._kind, self._socket.getsockname()))

    def _listen(self) -> None:
        while True:
            try:
                if self._kind == "SOCK_STREAM":
                    connection, _ = self._socket.accept()
                    with connection:
                        self.heard.append(connection.recv(100))
                else:
                    self.heard.append(self._socket.recv(100))
            except OSError:
                return

    def close(self) -> None:
        address = self._socket.getsockname()
        self._socket.close()
        if isinstance(address, str) and address.startswith("/"):
            os.unlink(address)


PLACES = {
    "tcp": ("AF_INET", "SOCK_STREAM", lambda _: ("127.0.0.1", 0)),
    "tcp, all addresses": ("AF_INET", "SOCK_STREAM", lambda _: ("0.0.0.0", 0)),
    "udp": ("AF_INET", "SOCK_DGRAM", lambda _: ("127.0.0.1", 0)),
    "tcp, version 6": ("AF_INET6", "SOCK_STREAM", lambda _: ("::1", 0)),
    "udp, version 6": ("AF_INET6", "SOCK_DGRAM", lambda _: ("::1", 0)),
    "a name in no file system": ("AF_UNIX", "SOCK_STREAM", lambda _: f"\0lockgate-{os.urandom(8).hex()}"),
    "a file in the home folder": ("AF_UNIX", "SOCK_STREAM", lambda machine: str(machine.home / ".agent.sock")),
    "a file in the project": ("AF_UNIX", "SOCK_STREAM", lambda machine: str(machine.project / "web.sock")),
    "a file for letters": ("AF_UNIX", "SOCK_DGRAM", lambda machine: str(machine.home / "letters")),
    "a file in /tmp": (
        "AF_UNIX",
        "SOCK_STREAM",
        lambda machine: f"/tmp/lockgate-tests-{os.getpid()}-{machine.root.name}.sock",
    ),
    "a key agent": ("AF_UNIX", "SOCK_STREAM", lambda machine: str(machine.home / ".gnupg" / "S.gpg-agent")),
}


@pytest.fixture(params=PLACES)
def listener(request: pytest.FixtureRequest, machine: Machine) -> Iterator[Listener]:
    family, kind, address = PLACES[request.param]
    (machine.home / ".gnupg").mkdir()
    found = Listener(family, kind, address(machine))
    yield found
    found.close()


def test_a_listener_is_not_reached(machine: Machine, listener: Listener) -> None:
    assert machine.python(CONNECT, listener.place, contained=False) == "reached"
    before = list(listener.heard)
    said = machine.python(CONNECT, listener.place)
    # A datagram to nobody is sent without an error.
    assert said != "reached" or "SOCK_DGRAM" in listener.place
    assert listener.heard in (before, [b"the code"])


MAKE = """
import socket, sys
try:
    socket.socket(*map(int, sys.argv[1:]))
    print("made")
except OSError as error:
    print(error.errno)
"""
STREAM, RAW, SEQUENCED = int(socket.SOCK_STREAM), int(socket.SOCK_RAW), int(socket.SOCK_SEQPACKET)
NOT_SUPPORTED, NOT_PERMITTED = "97", "1"
OTHER_FAMILIES = {
    "vsock": (40, STREAM),
    "packet": (17, RAW),
    "alg": (38, SEQUENCED),
    "bluetooth": (31, SEQUENCED),
    "can": (29, RAW),
    "tipc": (30, STREAM),
    "rds": (21, SEQUENCED),
    "xdp": (44, RAW),
}


@pytest.mark.parametrize("family", OTHER_FAMILIES)
def test_other_families_are_refused(machine: Machine, family: str) -> None:
    assert machine.python(MAKE, *OTHER_FAMILIES[family]) == NOT_SUPPORTED


def test_a_raw_socket_is_refused(machine: Machine) -> None:
    assert machine.python(MAKE, 2, RAW, 1) == NOT_PERMITTED


def test_there_is_loopback_and_nothing_else(machine: Machine) -> None:
    assert machine.python("import socket; print(socket.if_nameindex())") == "[(1, 'lo')]"
    program = """
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
threading.Thread(target=lambda: server.accept()[0].sendall(b"hello")).start()
print(socket.create_connection(server.getsockname()).recv(10))
"""
    assert machine.python(program) == "b'hello'"


def test_no_name_is_resolved(machine: Machine) -> None:
    program = """
import socket
try:
    print(socket.getaddrinfo("example.com", 80))
except OSError:
    print("none")
"""
    assert machine.python(program) == "none"


def test_no_calls_past_the_filter(machine: Machine) -> None:
    """A ring of requests could open a socket without the call that is watched; so could numbers of another machine."""
    program = """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall(425, 1, 0)
print(ctypes.get_errno())
if platform.machine() == "x86_64":
    libc.syscall(0x40000000 + 41, 40, 1, 0)
    print(ctypes.get_errno())
"""
    assert set(machine.python(program).split()) == {"38"}


def test_a_socket_in_the_folder_of_another_user_is_no_hindrance(machine: Machine) -> None:
    theirs = machine.home / "theirs"
    theirs.mkdir()
    listener = Listener("AF_UNIX", "SOCK_STREAM", str(theirs / "gate.sock"))
    try:
        os.chown(theirs, 65534 if os.getuid() == 0 else -1, -1)
        theirs.chmod(0o700 if os.getuid() == 0 else 0)
        assert machine.python(CONNECT, listener.place) == f"PermissionError {errno.EACCES}"
        assert not listener.heard
    finally:
        theirs.chmod(0o700)
        listener.close()
