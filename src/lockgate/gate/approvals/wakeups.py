"""Bells: how one process wakes another that waits for a change of the store, without either looking again and again.

Whoever waits hangs up a bell: a Unix datagram socket with a name of its own in a folder that is the user's alone.
Whoever has changed the store rings it: an empty datagram. It carries nothing, so that nothing can be forged by it: who
is woken reads the store. A bell whose process has died is taken down by the next one that rings it, or hangs one up.
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
"""The folder below the state folder."""
_SWEPT = 32
"""Bells that are looked at whenever one is hung up, so that those of the dead do not gather."""


class WakeupSocket:
    """A bell of this process. Where none can be hung up, :meth:`heard` waits all the same, and is never woken.

    Not every file system has sockets, and a state folder can be read-only; whoever waits looks at the store now and
    then anyhow.
    """

    def __init__(self, state: str, name: str) -> None:
        """Name it: several bells can have the same name, and are rung together.

        Args:
            state: The state folder.
            name: Letters and digits.
        """
        self._state = state
        self._file = f"{name}.{os.urandom(8).hex()}"
        self.socket: socket.socket | None = None
        """What becomes readable when it is rung, as long as it hangs."""
        self._rope: socket.socket | None = None
        """The other end of a bell that hangs nowhere."""

    def __enter__(self) -> Self:
        with suppress(OSError):
            self.socket = _hung(self._state, self._file)
        return self

    def wakeable(self) -> Callable[[], None]:
        """What rings this one from another thread of the process, also where it could not be hung up."""
        if self.socket is None:
            import socket

            self.socket, self._rope = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
            self._rope.setblocking(False)
        return self._wake

    def _wake(self) -> None:
        if self._rope is None:
            _reached(os.path.join(self._state, FOLDER), self._file, b"")
            return
        with suppress(OSError):
            self._rope.send(b"!")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.socket is not None:
            self.socket.close()
            with suppress(OSError):
                os.unlink(os.path.join(self._state, FOLDER, self._file))
        if self._rope is not None:
            self._rope.close()

    def heard(self, seconds: float) -> None:
        """Wait until it is rung, or so many seconds are over."""
        if self.socket is None:
            import time

            time.sleep(seconds)
            return
        self.socket.settimeout(seconds)
        with suppress(OSError):
            self.socket.recv(1)
            self.quieten()

    def quieten(self) -> None:
        """Take what was rung meanwhile as heard: the store is read once for all of it."""
        if self.socket is None:
            return
        self.socket.setblocking(False)
        with suppress(OSError):
            while True:
                self.socket.recv(1)


def ring(state: str, name: str) -> int:
    """Ring all bells of a name. Never waits, and never fails: a bell that is not heard is made up for by patience.

    Args:
        state: The state folder.
        name: Their name.

    Returns:
        How many hang there.
    """
    return _each(state, name, b"")


def hangs(state: str, name: str) -> bool:
    """Whether a bell of that name hangs, of a process that lives. Where that cannot be told, one may."""
    return _each(state, name, None) > 0


def _each(state: str, name: str, message: bytes | None) -> int:
    folder = os.path.join(state, FOLDER)
    try:
        files = [entry for entry in os.listdir(folder) if entry.startswith(f"{name}.")]
    except (FileNotFoundError, NotADirectoryError):
        return 0
    except OSError:  # no descriptor is left, for one: somebody may wait
        return 1
    return sum(_reached(folder, file, message) for file in files)


def _reached(folder: str, file: str, message: bytes | None) -> bool:
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
    except FileNotFoundError:  # it was taken down meanwhile
        return False
    except OSError:
        # It has been rung often enough to wake, or nobody can tell: a question must not lose who waits for it.
        return True
    return True


def _sweep(folder: str) -> None:
    """Take down some bells of the dead: of processes that were killed, and that nobody rings for."""
    files = os.listdir(folder)
    start = int.from_bytes(os.urandom(4), "big") % (len(files) or 1)
    for file in (files[start:] + files[:start])[:_SWEPT]:
        _reached(folder, file, None)


def _hung(state: str, file: str) -> socket.socket:
    folder = os.path.join(state, FOLDER)
    with suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    found = os.lstat(folder)
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise OSError(f"{folder} is not a folder of this user alone")
    import socket

    _sweep(folder)
    hung = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    try:
        with short_path(folder, file) as address:
            hung.bind(address)
    except BaseException:
        hung.close()
        raise
    return hung
