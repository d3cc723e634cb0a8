"""Publishes the dashboard's port to the gate, which then lets no agent talk to it.

A file stands for a port, and each dashboard that listens there holds a shared lock on it (``flock``), which goes with
its process: so it is known of one that was killed, wherever it listened, and no dashboard takes another's mark away.
"""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress

from lockgate.gate.host.host_view import PORTS, own_ports
from lockgate.store.files import own_folder

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC


class OwnPort:
    """A port, from when it is listened at until it is let go of."""

    def __init__(self, state: str, port: int) -> None:
        """Say it. What dashboards that were killed have said is taken back.

        Raises:
            StoreError: The state folder cannot be used.
            OSError: It cannot be said; then there must be no dashboard.
        """
        own_folder(state, create=True)
        folder = os.path.join(state, PORTS)
        own_folder(folder, create=True)
        for old in own_ports(state) - {port}:
            with suppress(OSError):
                path = os.path.join(folder, str(old))
                _let_go(path, os.open(path, _FLAGS))
        self._path = os.path.join(folder, str(port))
        self._held = _hold(self._path)

    def remove(self) -> None:
        """Take it back."""
        _let_go(self._path, self._held)


def _hold(path: str) -> int:
    """Make a mark, and hold it; gives the descriptor."""
    while True:
        held = os.open(path, _FLAGS | os.O_CREAT, 0o600)
        fcntl.flock(held, fcntl.LOCK_SH)  # waits only for one who is just taking away what nobody held
        if _is_there(path, held):
            return held
        os.close(held)


def _let_go(path: str, held: int) -> None:
    """Release a mark, and remove it unless another dashboard holds it."""
    try:
        with suppress(OSError):
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_there(path, held):
                os.unlink(path)
    finally:
        os.close(held)


def _is_there(path: str, held: int) -> bool:
    """Whether an open file still has its name: another may have been made since it was opened."""
    try:
        return os.path.samestat(os.fstat(held), os.lstat(path))
    except FileNotFoundError:
        return False
