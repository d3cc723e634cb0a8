"""One hook's connection: what has been read of its request, and what is still to be written."""

from __future__ import annotations

import time
from _socket import MSG_DONTWAIT, MSG_PEEK

from lockgate.clients.wire import resident
from lockgate.core.errors import BadInputError
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from _blake2 import blake2b as Hash  # noqa: N812 - the name of the class that it is
    from _socket import socket as Socket  # noqa: N812 - the name of the class that it is

    from lockgate.service.resident.request import Work
    from lockgate.system.peer_credentials import Peer

_PART = 1 << 15
"""Most bytes that are read at once. The buffer is allocated each time, and a much larger one would take longer than
the rest of the reading."""
_MOST_CONNECTIONS = 1024
_OWN_FILES = 128
"""Files that are left to the gate's own work, whoever connects."""
TALK_SECONDS = 5.0
"""How long a hook may take to send its request, and to read an answer. A hook itself gives up sooner."""


class Connection:
    """One connection, which never blocks."""

    def __init__(self, connection: Socket, peer: Peer, key: bytes) -> None:
        """Take over an accepted socket. The key of the installation proves answers."""
        connection.setblocking(False)
        self.socket = connection
        self.peer = peer
        self.work: Work | None = None
        self.complete_at = 0.0
        """When the request was whole, by the monotonic clock; 0.0 before."""
        self.until = time.monotonic() + TALK_SECONDS
        """When the connection is given up."""
        self._received = bytearray()
        self._head = self._size = -1
        self._out = b""
        self._key = key
        self._proof: Hash | None = None
        """The beginning of all proofs, where the hook wants them."""
        self.ends = False
        """Whether it is closed once everything is sent."""
        self.closed = False
        self.is_watched = False
        """Whether a selector watches it."""

    def has_ended(self) -> bool:
        """Whether the hook is gone, as the system tells now. May be called in any thread."""
        if self.closed:
            return True
        try:
            return self.socket.recv(1, MSG_PEEK | MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False
        except OSError:
            return True

    @property
    def owes(self) -> bool:
        """Whether a part of its answer is still to be sent."""
        return self.ends and bool(self._out) and not self.closed

    def fileno(self) -> int:
        """The descriptor, for a selector."""
        return self.socket.fileno()

    def receive(self) -> resident.HookRequest | None:
        """Read what has arrived; gives the request once it is whole.

        Raises:
            ConnectionError: The hook is gone.
            BadInputError: It sends something else.
        """
        while True:
            try:
                part = self.socket.recv(_PART)
            except BlockingIOError:
                return None
            if not part:
                raise ConnectionAbortedError
            if self.complete_at:
                raise BadInputError("the request is longer than it says")
            self._received += part
            if self._size < 0 and len(self._received) >= resident.HEADER:
                self._head, payload = resident.sizes(self._received[: resident.HEADER])
                self._size = resident.HEADER + self._head + payload
            if self._size < 0 or len(self._received) < self._size:
                continue
            if len(self._received) > self._size:
                raise BadInputError("the request is longer than it says")
            self.complete_at = time.monotonic()
            whole = bytes(self._received)
            self._received.clear()
            asked = resident.request(
                whole[resident.HEADER : resident.HEADER + self._head], whole[resident.HEADER + self._head :]
            )
            self._proof = resident.proof_begun(self._key, whole) if asked.nonce else None
            return asked

    def send(self, frame: bytes, *, last: bool) -> bool:
        """Queue a frame and send what can be sent; whether everything is sent. Nothing follows a last frame."""
        if not self.ends:
            self._out += (
                resident.prove(self._proof, frame) if self._proof and frame.startswith(resident.PROVED) else frame
            )
            if last:
                self.ends = True
                self.until = time.monotonic() + TALK_SECONDS
        return self.flush()

    def flush(self) -> bool:
        """Send what can be sent; whether everything is sent.

        Raises:
            ConnectionError: The hook is gone.
        """
        try:
            while self._out:
                self._out = self._out[self.socket.send(self._out) :]
        except BlockingIOError:
            return False
        return True

    def close(self) -> None:
        """Close the socket, and end the work for it."""
        if not self.closed:
            self.closed = True
            if self.work is not None:
                self.work.end()
                self.work = None
            self.socket.close()


def most_connections() -> int:
    """How many connections there can be at a time, once this process may have as many files as the system lets it."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_CONNECTIONS + _OWN_FILES
    if soft < wanted:
        soft = min(wanted, hard) if hard != resource.RLIM_INFINITY else wanted
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    return max(min(_MOST_CONNECTIONS, soft - _OWN_FILES), 1)
