"""A Unix socket that says what a test wants, in the place of a gate."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lockgate.system.unix_sockets import short_path


@contextmanager
def answering(path: Path, answer: Callable[[bytes], bytes]) -> Iterator[None]:
    """Answer each connection to a path, once, until the end of the block."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX)
    with short_path(str(path.parent), path.name) as address:
        listening.bind(address)
    listening.listen(8)

    def serve() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection, suppress(OSError):
                connection.sendall(answer(connection.recv(1 << 20)))

    serving = threading.Thread(target=serve, daemon=True)
    serving.start()
    try:
        yield
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        serving.join(5)
