"""Addresses to listen on, and the sockets that do."""

from __future__ import annotations

import os
import socket
import stat
from contextlib import suppress

from lockgate.errors import RemoteError


def address(listen: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``. Raises ``RemoteError`` where it is none."""
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise RemoteError(f"{listen!r} is no HOST:PORT")
    return host, int(port)


def unix_socket(path: str) -> socket.socket:
    """A socket that this machine's users can connect to; who they are is asked of the kernel."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise RemoteError(f"{path} is there already, and is no socket")
        os.unlink(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listening.bind(path)
        os.chmod(path, 0o666)  # noqa: S103 - each request has a token, and its peer is checked
        listening.listen(512)
    except OSError as error:
        listening.close()
        raise RemoteError(f"{path} cannot be listened on: {error.strerror}") from error
    return listening


def tcp_socket(host: str, port: int) -> socket.socket:
    """A socket that listens on TCP; port 0 is any that is free. Raises ``RemoteError``."""
    try:
        family, kind, number, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, number)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(place)
            listening.listen(512)
        except OSError:
            listening.close()
            raise
    except OSError as error:
        raise RemoteError(f"{host}:{port} cannot be listened on: {error.strerror}") from error
    return listening
