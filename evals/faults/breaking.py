"""What is done to the disk and the clock of a host, and to a database that several have: see ``faults.py``."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import faults
from book import Book
from faults import Inject, Injected
from world import Host

from support.postgres import Server

_HOUR = 3600.0
_PATIENCE = 20.0


@contextmanager
def _full(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    """Not a byte is left on the file system of the state folder."""
    filler = host.state / "filler"
    try:
        with open(filler, "wb", buffering=0) as file:
            for size in (1 << 22, 1 << 16, 1):
                with suppress(OSError):
                    while True:
                        file.write(bytes(size))
        yield
    finally:
        filler.unlink(missing_ok=True)


@contextmanager
def _read_only(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    """Nothing can be written any more. It cannot become so under a process that has a file open to write."""
    try:
        host.keep(kept=False)
        until = time.monotonic() + _PATIENCE
        while _mounted(host, "ro"):
            for pid in host.gates():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            if time.monotonic() > until:
                raise TimeoutError("the file system cannot be made read-only")
        yield
    finally:
        if _mounted(host, "rw"):
            raise OSError("the file system cannot be made writable again")
        host.keep(kept=True)


def _mounted(host: Host, how: str) -> int:
    command = ["mount", "-o", f"remount,{how}", str(host.state)]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode


@contextmanager
def _jumps(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
    """Forward and back, by up to a day; a gate that a hook starts has the right time, so that two of them disagree."""
    try:
        for _ in range(5):
            host.jump(chance.choice((-24.0, -1.0, 1.0, 24.0)) * _HOUR * chance.random())
            time.sleep(0.2)
        yield
    finally:
        host.jump(0)


OWN_STORE = (
    Injected("nothing", faults.nothing, 2.0, 1),
    Injected("gate killed (SIGKILL)", faults.signalled(signal.SIGKILL), 0.3, 10),
    Injected("gate ended (SIGTERM)", faults.signalled(signal.SIGTERM), 0.3, 10),
    Injected("gate hangs (SIGSTOP)", faults.hangs, 2.0, 2),
    Injected("socket removed", faults.no_socket, 0.5, 6),
    Injected("run folder removed", faults.no_run_folder, 0.5, 6),
    Injected("four gates at once", faults.several_gates, 1.0),
    Injected("100 slow clients", faults.slow, 3.0, 2),
    Injected("half a request", faults.halves, 0.5, 6),
    Injected("garbage on the socket", faults.garbage_on_the_socket, 0.5, 6),
    Injected("garbage to hooks", faults.garbage_to_hooks, 0.2),
    Injected("disk full", _full, 2.0, 2),
    Injected("disk read-only", _read_only, 2.0, 2),
    Injected("clock jumps", _jumps, 1.0, 3),
)


def of_database(server: Server) -> tuple[Injected, ...]:
    """What is done to a database that gates of several hosts have."""

    def away(how: signal.Signals) -> Inject:
        @contextmanager
        def inject(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
            server.stop(how)
            try:
                time.sleep(chance.random())
            finally:
                server.start()
            yield

        return inject

    @contextmanager
    def stands_still(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
        try:
            server.signal(signal.SIGSTOP)
            yield
        finally:
            server.signal(signal.SIGCONT)

    @contextmanager
    def cut(host: Host, chance: random.Random, book: Book) -> Iterator[None]:
        server.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")
        yield

    return (
        Injected("shared store: nothing", faults.nothing, 2.0, 1),
        Injected("PostgreSQL killed (SIGKILL)", away(signal.SIGKILL), 1.0),
        Injected("PostgreSQL shut down", away(signal.SIGINT), 1.0),
        Injected("PostgreSQL hangs (SIGSTOP)", stands_still, 2.0, 2),
        Injected("connections cut", cut, 0.3, 8),
        Injected("shared store: a gate killed", faults.signalled(signal.SIGKILL), 0.5, 6),
    )
