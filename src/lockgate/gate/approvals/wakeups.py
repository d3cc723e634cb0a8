"""Wakes processes that wait for a change of the store, so that none of them has to poll.

A waiting process binds a Unix datagram socket with a name of its own, in a folder that is the user's alone. Whoever
changes the store sends it an empty datagram. It carries nothing, so nothing can be forged by it: the woken process
reads the store. The next process that sends to a dead process's socket, or binds one beside it, removes it.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from contextlib import suppress

from lockgate.core.record import TYPE_CHECKING
from lockgate.system.unix_sockets import short_path

if TYPE_CHECKING:
    import socket
    from types import TracebackType
    from typing import Self

FOLDER = "bells"
"""The folder below the state folder. Older versions that wait at the same time look for this very name."""
_CHECKED = 32
"""How many sockets each new one checks, so that those of dead processes do not gather."""


class WakeupSocket:
    """A socket of this process. Where none can be bound, :meth:`wait` takes its whole time, and is never woken.

    Not every file system has sockets, and a state folder can be read-only. A waiting process reads the store now and
    then anyhow.
    """

    def __init__(self, state: str, name: str) -> None:
        """Name it. Several sockets can have the same name, and are woken together.

        Args:
            state: The state folder.
            name: Letters and digits.
        """
        self._state = state
        self._file = f"{name}.{os.urandom(8).hex()}"
        self.socket: socket.socket | None = None
        """What becomes readable when it is woken, while it is bound."""
        self._peer: socket.socket | None = None
        """The other end, where it could not be bound."""

    def __enter__(self) -> Self:
        with suppress(OSError):
            self.socket = _bind(self._state, self._file)
        return self

    def waker(self) -> Callable[[], None]:
        """A function that wakes it from another thread of the process, also where it could not be bound."""
        if self.socket is None:
            import socket

            self.socket, self._peer = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._peer.setblocking(False)
        return self._wake

    def _wake(self) -> None:
        if self._peer is None:
            _send(os.path.join(self._state, FOLDER), self._file, b"")
            return
        with suppress(OSError):
            self._peer.send(b"!")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.socket is not None:
            self.socket.close()
            with suppress(OSError):
                os.unlink(os.path.join(self._state, FOLDER, self._file))
        if self._peer is not None:
            self._peer.close()

    def wait(self, seconds: float) -> None:
        """Wait until it is woken, or so many seconds are over."""
        if self.socket is None:
            import time

            time.sleep(seconds)
            return
        self.socket.settimeout(seconds)
        with suppress(OSError):
            self.socket.recv(1)
            self.drain()

    def drain(self) -> None:
        """Discard the datagrams that have come: the store is read once for all of them."""
        if self.socket is None:
            return
        self.socket.setblocking(False)
        with suppress(OSError):
            while True:
                self.socket.recv(1)


def wake(state: str, name: str) -> int:
    """Wake all who wait under a name. Never blocks, and never fails: who is not woken reads the store later anyhow.

    Args:
        state: The state folder.
        name: The name.

    Returns:
        How many wait.
    """
    return _send_to_all(state, name, b"")


def is_waited_for(state: str, name: str) -> bool:
    """Whether a living process waits under a name. Where that cannot be told, one may."""
    return _send_to_all(state, name, None) > 0


def _send_to_all(state: str, name: str, message: bytes | None) -> int:
    folder = os.path.join(state, FOLDER)
    try:
        files = [entry for entry in os.listdir(folder) if entry.startswith(f"{name}.")]
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError:  # no descriptor is left, for one: somebody may wait
        return 1
    return sum(_send(folder, file, message) for file in files)


def _send(folder: str, file: str, message: bytes | None) -> bool:
    path = os.path.join(folder, file)
    import socket

    try:
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            return False
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender, short_path(folder, file) as address:
            sender.setblocking(False)
            sender.connect(address)
            if message is not None:
                sender.send(message)
    except ConnectionRefusedError:
        with suppress(OSError):  # its process has died
            os.unlink(path)
        return False
    except FileNotFoundError:  # it was removed meanwhile
        return False
    except OSError:
        # Its queue is full, so it is woken; or nobody can tell. A question must not lose who waits for it.
        return True
    return True


def _remove_dead(folder: str) -> None:
    """Remove some sockets of processes that were killed, and that nobody sends to."""
    files = os.listdir(folder)
    start = int.from_bytes(os.urandom(4), "big") % (len(files) or 1)
    for file in (files[start:] + files[:start])[:_CHECKED]:
        _send(folder, file, None)


def _bind(state: str, file: str) -> socket.socket:
    folder = os.path.join(state, FOLDER)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise OSError(f"{folder} is not a folder of this user alone")
    import socket

    _remove_dead(folder)
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        with short_path(folder, file) as address:
            bound.bind(address)
    except BaseException:
        bound.close()
        raise
    return bound
