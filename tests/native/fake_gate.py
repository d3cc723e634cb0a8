"""A gate that says what a test wants, and writes down what it was asked."""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

MAGIC = b"LOCKGATE3\n"
KEY = b"k" * 32
"""The key of the installation whose gate this is."""
PERSON = b"lockgate answer"


class Request(NamedTuple):
    """What a client asked."""

    parent: int
    arguments: list[str]
    environ: dict[str, str]
    payload: bytes
    code: str = ""
    spelt: bytes = b""
    """All of it, as it came."""


Conversation = Callable[[socket.socket], None]
"""What the gate does with one connection."""


def answer(code: int = 0, stdout: bytes = b"", stderr: bytes = b"") -> bytes:
    """The frame of an answer."""
    return struct.pack(">cBII", b"A", code, len(stdout), len(stderr)) + stdout + stderr


def wait(milliseconds: int) -> bytes:
    """The frame that says that somebody is waited for."""
    return struct.pack(">cI", b"W", milliseconds)


def read_request(connection: socket.socket) -> Request:
    """Read one whole request, and nothing after it.

    Raises:
        ConnectionError: There was none.
    """

    def read(size: int) -> bytes:
        data = stream.read(size)
        if len(data) < size:
            raise ConnectionError
        return data

    with connection.makefile("rb") as stream:
        assert read(len(MAGIC)) == MAGIC
        head_size, payload_size = struct.unpack(">II", read(8))
        head, payload = read(head_size), read(payload_size)
    sizes = struct.pack(">II", head_size, payload_size)
    assert head.endswith(b"\0")
    nonce, parent, code, count, *words = [word.decode("utf-8", "surrogateescape") for word in head[:-1].split(b"\0")]
    arguments, variables = words[: int(count)], words[int(count) :]
    assert len(nonce) == 32
    environ = dict(variable.split("=", 1) for variable in variables)
    return Request(int(parent), arguments, environ, payload, code, MAGIC + sizes + head + payload)


def proof(spelt: bytes, frame: bytes, key: bytes = KEY) -> bytes:
    """What stands behind a frame that is an answer to a request."""
    return hashlib.blake2b(spelt + frame, key=key, person=PERSON, digest_size=32).digest()


class Proving:
    """Puts proofs behind frames, wherever in what is said they end; what is no frame stays as it is."""

    def __init__(self, request: Request) -> None:
        self._request = request
        self._left = b""

    def __call__(self, part: bytes) -> bytes:
        """What is to be said instead of this part."""
        self._left += part
        said = b""
        while size := self._whole():
            frame, self._left = self._left[:size], self._left[size:]
            said += frame + proof(self._request.spelt, frame)
        if self._left[:1] not in (b"W", b"A"):
            said, self._left = said + self._left, b""
        return said

    def rest(self) -> bytes:
        """The beginning of a frame that was never ended."""
        return self._left

    def _whole(self) -> int:
        """How long the frame is that what is left begins with; 0 where it is not whole."""
        left = self._left
        if left[:1] == b"W":
            return 5 * (len(left) >= 5)
        if left[:1] == b"A" and len(left) >= 10:
            size = 10 + sum(struct.unpack(">II", left[2:10]))
            return size * (len(left) >= size)
        return 0


def listening_at(path: Path) -> socket.socket:
    """A Unix socket that listens at a path of any length."""
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(path.parent)
        Path(path.name).unlink(missing_ok=True)
        made.bind(path.name)
    finally:
        os.fchdir(here)
        os.close(here)
    made.listen(64)
    return made


def give_key(state: Path, key: bytes = KEY, mode: int = 0o600) -> None:
    """Give a state folder the key of its installation."""
    state.mkdir(parents=True, exist_ok=True)
    file = state / "key"
    file.unlink(missing_ok=True)
    file.write_bytes(key)
    file.chmod(mode)


class FakeGate:
    """A socket where a client looks for the gate of a state folder; use it as a context."""

    def __init__(self, state: Path, converse: Conversation) -> None:
        """Take the folder, which is made, and what to do with each connection, in a thread of its own."""
        self.state = state
        self.connections = 0
        self._converse = converse
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> FakeGate:
        folder = self.state / "run"
        folder.mkdir(parents=True, exist_ok=True)
        give_key(self.state)
        self._socket = listening_at(folder / "gate.sock")
        self._socket.settimeout(0.05)
        self._open = True
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._open = False
        self._thread.join(20)
        self._socket.close()

    def _serve(self) -> None:
        workers = []
        while self._open:
            try:
                connection, _ = self._socket.accept()
            except TimeoutError:
                continue
            self.connections += 1
            workers.append(threading.Thread(target=self._hear, args=(connection,)))
            workers[-1].start()
        for worker in workers:
            worker.join(20)

    def _hear(self, connection: socket.socket) -> None:
        connection.settimeout(20)
        # What a client does that has ended is not heard any more.
        with connection, contextlib.suppress(OSError):
            self._converse(connection)


def replying(*parts: bytes, asked: list[Request] | None = None) -> Conversation:
    """A gate that reads the request, says these bytes one after the other, and closes."""

    def converse(connection: socket.socket) -> None:
        request = read_request(connection)
        if asked is not None:
            asked.append(request._replace(spelt=b""))
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        proving = Proving(request)
        for part in parts:
            connection.sendall(proving(part))
        connection.sendall(proving.rest())

    return converse
