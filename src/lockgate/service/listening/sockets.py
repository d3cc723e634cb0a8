"""Parses addresses to listen on, and opens their sockets."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lockgate.core.errors import RemoteError
from lockgate.resources.loopback import is_loopback


def address(listen: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``. Raises ``RemoteError`` where it is none."""
    host, _, port = listen.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isascii() or not port.isdigit() or int(port) > 65535:
        raise RemoteError(f"{listen!r} is no HOST:PORT")
    return host, int(port)


def check_address(listen: str, certificate: str, key: str) -> str:
    """Make sure that nothing is served to other machines in clear; gives the host, or nothing without an address.

    Raises:
        RemoteError: It would be, or half of what TLS needs is missing.
    """
    if bool(certificate) != bool(key):
        raise RemoteError("TLS needs both a certificate and its key")
    host = address(listen)[0] if listen else ""
    if host and not certificate and not is_loopback(host):
        raise RemoteError(f"{host} can be reached by other machines: give --tls-cert and --tls-key")
    return host


@contextmanager
def unix_socket(path: str) -> Iterator[socket.socket]:
    """A socket that this machine's users can connect to; who they are is asked of the kernel.

    It is removed afterwards, and nothing else is that has its name by then.

    Raises:
        RemoteError: Another process listens there, something else lies there, or it cannot be made.
    """
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        try:
            _make_way(path)
            listening.bind(path)
            own = os.lstat(path)
            os.chmod(path, 0o666)  # noqa: S103 - each request has a token, and its peer is checked
            listening.listen(512)
        except OSError as error:
            raise RemoteError(f"{path} cannot be listened on: {error.strerror or error}") from error
        try:
            yield listening
        finally:
            with suppress(OSError):
                if os.path.samestat(os.lstat(path), own):
                    os.unlink(path)


def _make_way(path: str) -> None:
    """Remove the socket of a process that was killed."""
    with suppress(FileNotFoundError):
        if not stat.S_ISSOCK(os.lstat(path).st_mode):
            raise RemoteError(f"{path} is there already, and is no socket")
        if not _is_dead(path):
            raise RemoteError(f"another process listens at {path} already")
        os.unlink(path)


def _is_dead(path: str) -> bool:
    """Whether nobody listens at a socket. One that cannot be asked is left to whoever made it."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            asking.connect(path)
        except ConnectionRefusedError:
            return True
        except BlockingIOError:  # it has more waiting than the system allows
            return False
    return False


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
