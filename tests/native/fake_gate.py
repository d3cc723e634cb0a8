"""A gate that says what a test wants, and writes down what it was asked."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

MAGIC = b"LOCKGATE2\n"


class Request(NamedTuple):
    """What a client asked."""

    parent: int
    arguments: list[str]
    environ: dict[str, str]
    payload: bytes
    code: str = ""


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
    assert head.endswith(b"\0")
    parent, code, count, *words = [word.decode("utf-8", "surrogateescape") for word in head[:-1].split(b"\0")]
    arguments, variables = words[: int(count)], words[int(count) :]
    return Request(int(parent), arguments, dict(variable.split("=", 1) for variable in variables), payload, code)


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
            asked.append(request)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        for part in parts:
            connection.sendall(part)

    return converse
