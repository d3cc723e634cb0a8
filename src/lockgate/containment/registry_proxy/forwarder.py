"""Forwards a TCP port in the sandbox of an install to the relay's socket, and becomes the command.

Package managers know proxies by a host and a port, and the sandbox has no network. It is run by its path, in an
isolated interpreter without site packages::

    /abs/python -I -S /abs/forwarder.py FOLDER PROGRAM ARGUMENT...

A child passes bytes on, and ends with the command. This process becomes the command. Nothing here is trusted: who
listens at the socket, outside, decides what passes.
"""

import contextlib
import ctypes
import os
import signal
import socket
import sys
import threading
import time

_DEATH_SIGNAL = 1
"""``PR_SET_PDEATHSIG`` of prctl(2)."""
_SECONDS = 20.0
"""For the relay to make its authority."""
_CHUNK = 1 << 16
_CERTIFICATES = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "NODE_EXTRA_CA_CERTS",
                 "npm_config_cafile", "pnpm_config_cafile", "YARN_HTTPS_CA_FILE_PATH")  # fmt: skip
_PROXIES = ("HTTPS_PROXY", "https_proxy", "npm_config_https_proxy", "HTTP_PROXY", "http_proxy", "npm_config_proxy",
            "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY", "pnpm_config_https_proxy", "pnpm_config_proxy")  # fmt: skip


def main(folder: str, command: list[str]) -> None:
    """Pass on from a port of the sandbox, and become the command."""
    authority, address = os.path.join(folder, "authority.pem"), os.path.join(folder, "socket")
    until = time.monotonic() + _SECONDS
    while not os.path.exists(authority) and time.monotonic() < until:
        time.sleep(0.02)
    listener = socket.create_server(("127.0.0.1", 0), backlog=100)
    port = listener.getsockname()[1]
    parent = os.getpid()
    if os.fork() == 0:
        _pass_on(listener, address, parent)
    listener.close()
    os.environ.update(dict.fromkeys(_CERTIFICATES, authority))
    os.environ.pop("SSL_CERT_DIR", None)
    os.environ.update(dict.fromkeys(_PROXIES, f"http://127.0.0.1:{port}"))
    try:
        os.execvp(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.exit(f"lockgate: {command[0]} cannot be run: {error.strerror}")


def _pass_on(listener: socket.socket, address: str, parent: int) -> None:
    try:
        os.setsid()
        ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            return
        nothing = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(nothing, stream)
        os.dup2(listener.detach(), 3)
        os.closerange(4, 1 << 16)
        listener = socket.socket(fileno=3)
        with _connect(address):  # tells the relay that it is still needed
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=_join, args=(connection, address), daemon=True).start()
    finally:
        os._exit(0)


def _connect(address: str) -> socket.socket:
    found = socket.socket(socket.AF_UNIX)
    found.connect(address)
    return found


def _join(connection: socket.socket, address: str) -> None:
    with contextlib.suppress(OSError), connection, _connect(address) as relay:
        back = threading.Thread(target=_copy, args=(relay, connection), daemon=True)
        back.start()
        _copy(connection, relay)
        back.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(_CHUNK):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
