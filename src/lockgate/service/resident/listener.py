"""Accepts hook connections, reads requests and writes answers. It never blocks, and decides nothing."""

from __future__ import annotations

import os
import selectors
import socket
import time
from _socket import AF_UNIX, SOCK_STREAM
from _socket import socket as Socket  # noqa: N812 - the name of the class that it is
from collections import deque
from contextlib import suppress

from lockgate.clients.wire import resident
from lockgate.core.errors import BadInputError
from lockgate.core.record import TYPE_CHECKING
from lockgate.service.resident.connection import Connection, most_connections
from lockgate.system.peer_credentials import peer_of, sees_the_same

if TYPE_CHECKING:
    from collections.abc import Callable

    from lockgate.service.resident.metrics import Measures

_FINISH = 1.0
"""Seconds in which a gate that ends finishes the answers that it has begun to give."""
_BREATH = 0.01
"""Seconds of rest where the system has no more files."""


class Listener:
    """All open connections."""

    def __init__(self, listening: socket.socket, measures: Measures, key: bytes) -> None:
        """Accept nobody yet.

        Args:
            listening: The socket.
            measures: Counts the hooks that have to decide by themselves.
            key: The installation's, which proves answers.
        """
        self._key = key
        self._listening = listening
        self._measures = measures
        self._selector = selectors.DefaultSelector()
        self._open: set[Connection] = set()
        self._most = most_connections()
        self.ready: deque[tuple[Connection, resident.HookRequest]] = deque()
        """Connections with their requests, the oldest first."""
        self.wakeup = LoopWakeup()
        """Other threads wake the loop by it."""

    def __len__(self) -> int:
        """How many connections are open."""
        return len(self._open)

    def begin(self) -> None:
        """Accept hooks from now on."""
        self._listening.setblocking(False)
        self._selector.register(self._listening, selectors.EVENT_READ)
        self._selector.register(self.wakeup, selectors.EVENT_READ)

    def end(self) -> None:
        """Close all connections. Begun answers are finished, and hooks without one decide by themselves."""
        for source in (self._listening, self.wakeup):
            with suppress(KeyError):  # ``begin`` was never called
                self._selector.unregister(source)
        self._listening.close()
        self._finish(time.monotonic() + _FINISH)
        for connection in list(self._open):
            self._drop(connection)
        self._selector.close()
        self.wakeup.close()

    def _finish(self, until: float) -> None:
        """Send the rest of the answers that were begun."""
        while any(connection.owes for connection in self._open) and (left := until - time.monotonic()) > 0:
            for key, _ in self._selector.select(left):
                if isinstance(key.fileobj, Connection):
                    self._continue(key.fileobj)

    def poll(self, seconds: float) -> None:
        """Read from hooks and other threads; wait for so many seconds where nothing comes."""
        for key, _ in self._selector.select(max(seconds, 0.0)):
            what = key.fileobj
            if what is self._listening:
                self._accept()
            elif what is self.wakeup:
                self.wakeup.answer()
            elif isinstance(what, Connection):
                self._continue(what)

    def send(self, connection: Connection, frame: bytes, *, last: bool) -> None:
        """Send a frame to a hook, as soon as its socket takes it."""
        if connection.closed:
            return
        try:
            done = connection.send(frame, last=last)
            if done and connection.ends:
                self._drop(connection)
            else:
                self._listen(connection, selectors.EVENT_READ | (0 if done else selectors.EVENT_WRITE))
        except OSError:
            self._drop(connection)

    def decline(self, connection: Connection) -> None:
        """Tell a hook to decide by itself."""
        self._measures.declined += 1
        self.send(connection, resident.NOT_HERE, last=True)

    def drop_late(self, now: float) -> None:
        """Close connections that take too long to send a request, or to read its answer."""
        for connection in [connection for connection in self._open if connection.until < now]:
            if connection.work is None or connection.ends:
                self._drop(connection)

    def _accept(self) -> None:
        while True:
            try:
                # socket.accept() does the same, and then looks up names for family and kind, which takes as long again.
                descriptor, _ = self._listening._accept()  # type: ignore[attr-defined]
                accepted = Socket(AF_UNIX, SOCK_STREAM, 0, descriptor)
            except BlockingIOError:
                return
            except OSError:  # the system has no more files; the listening socket stays ready, and must not be spun on
                time.sleep(_BREATH)
                return
            try:
                peer = peer_of(accepted)
                if peer.uid != os.geteuid() or not sees_the_same(peer) or len(self._open) >= self._most:
                    accepted.close()
                    continue
                connection = Connection(accepted, peer, self._key)
            except OSError:
                accepted.close()
                continue
            self._open.add(connection)
            self._continue(connection)
            if not (connection.closed or connection.complete_at):  # most requests are whole by now
                self._listen(connection, selectors.EVENT_READ)

    def _listen(self, connection: Connection, events: int) -> None:
        """Have the selector watch a connection."""
        if connection.closed:
            return
        if connection.is_watched:
            self._selector.modify(connection, events)
        else:
            self._selector.register(connection, events)
            connection.is_watched = True

    def _continue(self, connection: Connection) -> None:
        try:
            asked = connection.receive()
            if asked is not None:
                self.ready.append((connection, asked))
            elif connection.complete_at:
                self.send(connection, b"", last=False)
        except BadInputError:
            self.decline(connection)
        except OSError:
            self._drop(connection)

    def _drop(self, connection: Connection) -> None:
        if connection in self._open:
            self._open.discard(connection)
            if connection.is_watched:
                self._selector.unregister(connection)
        connection.close()


class LoopWakeup:
    """Runs functions of other threads in the loop. The loop waits for sockets, so this is one."""

    def __init__(self) -> None:
        """Make the pair of sockets."""
        self._calls: deque[Callable[[], None]] = deque()
        """Appending to it is atomic."""
        self._sender, self._receiver = socket.socketpair()
        self._sender.setblocking(False)
        self._receiver.setblocking(False)

    def fileno(self) -> int:
        """The descriptor, for a selector."""
        return self._receiver.fileno()

    def call_in_loop(self, what: Callable[[], None]) -> None:
        """Run a function in the loop. May be called in any thread."""
        self._calls.append(what)
        self.wake()

    def wake(self) -> None:
        """Wake the loop. May be called in any thread, and in a signal handler."""
        try:
            self._sender.send(b"!")
        except OSError:  # it is woken already, or all is over
            return

    def answer(self) -> None:
        """Run the functions that were handed over; to be called by the loop."""
        try:
            while self._receiver.recv(4096):
                pass
        except OSError:
            pass
        while self._calls:
            self._calls.popleft()()

    def close(self) -> None:
        """Close the sockets."""
        self._sender.close()
        self._receiver.close()
