"""Telling the gate at which port a person is answered, so that it lets no agent talk to it."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

from lockgate.machine import PORTS, own_ports
from lockgate.store.files import own_folder


class OwnPort:
    """A port, from when it is listened at until it is let go of."""

    def __init__(self, state: str, port: int) -> None:
        """Say it. What dashboards that were killed have said, and where nobody listens now, is taken back.

        Raises:
            StoreError: The state folder cannot be used.
            OSError: It cannot be said; then there must be no dashboard.
        """
        own_folder(state, create=True)
        folder = os.path.join(state, PORTS)
        own_folder(folder, create=True)
        self._path = os.path.join(folder, str(port))
        for old in own_ports(state) - {port}:
            if not _is_listened_at(old):
                with suppress(OSError):
                    os.unlink(os.path.join(folder, str(old)))
        os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))

    def remove(self) -> None:
        """Take it back."""
        with suppress(OSError):
            os.unlink(self._path)


def _is_listened_at(port: int) -> bool:
    """Whether anybody listens at a port of loopback."""
    for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        with suppress(OSError), socket.socket(family, socket.SOCK_STREAM) as trial:
            trial.settimeout(0.2)
            trial.connect((host, port))
            return True
    return False
