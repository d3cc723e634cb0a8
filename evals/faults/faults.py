"""What is done to a host while agents work on it. Each fault is a context: it is there, then it is mended."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from book import Book
from world import Host

from lockgate.clients.hook.answer import PROGRAM
from lockgate.clients.wire import resident as wire
from lockgate.clients.wire.resident_files import SOCKET, run_folder
from lockgate.system.code_identity import code_of

Inject = Callable[[Host, random.Random, Book], AbstractContextManager[None]]


class Injected(NamedTuple):
    """One fault."""

    name: str
    inject: Inject
    lasts: float
    """Seconds from the one to the other."""
    times: int = 4
    """How often in a turn."""


@contextmanager
def nothing(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    yield


def signalled(number: int) -> Inject:
    @contextmanager
    def inject(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
        for pid in host.gates():
            with suppress(ProcessLookupError):
                os.kill(pid, number)
        yield

    return inject


@contextmanager
def hangs(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    """Stopped dead, with everything open, and woken later."""
    stopped = host.gates()
    try:
        _to_all(stopped, signal.SIGSTOP)
        yield
    finally:
        _to_all(stopped, signal.SIGCONT)


def _to_all(pids: list[int], number: int) -> None:
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


@contextmanager
def no_socket(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    Path(run_folder(str(host.state)), SOCKET).unlink(missing_ok=True)
    yield


@contextmanager
def no_run_folder(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    shutil.rmtree(run_folder(str(host.state)), ignore_errors=True)
    yield


@contextmanager
def several_gates(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    """More that start at once, while the one that there was is killed."""
    more = [host.start_gate() for _ in range(3)]
    try:
        _to_all(host.gates()[:1], signal.SIGKILL)
        yield
    finally:
        for one in more:
            one.terminate()
        for one in more:
            one.wait()


# ---------------------------------------------------------------- clients that are none
@contextmanager
def _connected(host: Host) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(5)
        with suppress(OSError):
            connection.connect(os.path.join(run_folder(str(host.state)), SOCKET))
            yield connection
            return
        yield connection


@contextmanager
def slow(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    """Fifty that say a byte at a time, and fifty that say nothing."""
    over = threading.Event()
    whole = _request(host, b'{"hook_event_name": "PreToolUse"}')

    def drip() -> None:
        with ExitStack() as stack:
            many = [stack.enter_context(_connected(host)) for _ in range(100)]
            for byte in whole:
                for one in many[:50]:
                    with suppress(OSError):
                        one.send(bytes([byte]))
                if over.wait(0.05):
                    return

    dripping = threading.Thread(target=drip)
    dripping.start()
    try:
        yield
    finally:
        over.set()
        dripping.join()


@contextmanager
def halves(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    whole = _request(host, b'{"hook_event_name": "PreToolUse", "tool_name": "Bash"}')
    for _ in range(50):
        with _connected(host) as connection, suppress(OSError):
            connection.sendall(whole[: chance.randrange(len(whole))])
    yield


@contextmanager
def garbage_on_the_socket(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    whole = _request(host, b'{"hook_event_name": "PreToolUse", "tool_name": "Bash"}')
    for number in range(40):
        sent = chance.randbytes(chance.randrange(400)) if number % 2 else _spoilt(whole, chance)
        with _connected(host) as connection, suppress(OSError):
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(100)
    yield


@contextmanager
def garbage_to_hooks(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    """What is no event may not be let pass: each such hook must refuse."""
    whole = b'{"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "git push"}}'
    for ask in (host.hooks(), host.python_hooks()):
        for sent in (
            b"",
            chance.randbytes(300),
            whole[: chance.randrange(1, len(whole))],
            b"[" * 5000,
            b"\xff" + whole,
        ):
            began = time.monotonic()
            code, stdout, stderr = ask(sent)
            what = f"{sent[:80]!r} -> {code} {stdout[:200]!r} {stderr[:200]!r}"
            book.answer("refused" if code == 2 else "wrong", what, time.monotonic() - began)
    yield


def _request(host: Host, payload: bytes) -> bytes:
    asked = wire.HookRequest(os.getpid(), host.client.arguments, host.environment, payload, code=code_of(PROGRAM))
    return wire.encode_request(asked)


def _spoilt(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.randrange(1, 6)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)
