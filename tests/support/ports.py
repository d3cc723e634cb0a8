"""Ports of this machine for servers that a test starts."""

from __future__ import annotations

import socket


def free_port() -> int:
    """A port of the loopback that nobody listens at now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])
