"""How other threads have the loop of a gate do something: it waits for sockets, so one of these is a bell."""

from __future__ import annotations

import socket
from collections import deque

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class Bell:
    """What the loop is told to do. A selector says when it has rung."""

    def __init__(self) -> None:
        """Nothing is to be done."""
        self._told: deque[Callable[[], None]] = deque()
        """Appending to it is atomic."""
        self._bell, self._ear = socket.socketpair()
        self._bell.setblocking(False)
        self._ear.setblocking(False)

    def fileno(self) -> int:
        """The descriptor, for a selector."""
        return self._ear.fileno()

    def tell(self, what: Callable[[], None]) -> None:
        """Have something done by the loop. May be called in any thread."""
        self._told.append(what)
        self.ring()

    def ring(self) -> None:
        """Have the loop come round. May be called in any thread, and in a signal handler."""
        try:
            self._bell.send(b"!")
        except OSError:  # it rings already, or all is over
            return

    def answer(self) -> None:
        """Do what was told; to be called by the loop."""
        try:
            while self._ear.recv(4096):
                pass
        except OSError:
            pass
        while self._told:
            self._told.popleft()()

    def close(self) -> None:
        """Hear nothing any more."""
        self._bell.close()
        self._ear.close()
