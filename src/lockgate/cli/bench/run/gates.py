"""Starts resident gates for a measurement in throw-away folders, and always stops them at its end."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from lockgate.cli.bench.run.stories import Client
from lockgate.clients.hook import start_resident
from lockgate.clients.wire.resident import answer_of
from lockgate.clients.wire.resident_files import SOCKET, run_folder
from lockgate.core.errors import LockgateError
from lockgate.system import caller
from lockgate.system.folders import Folders
from lockgate.system.ownership import make_folders

PATIENCE = 20.0
"""Seconds for a gate to come up, or to go. A busy machine is slow."""


class BenchGate(NamedTuple):
    """A gate that runs as a child of this process."""

    where: Folders
    process: subprocess.Popen[bytes]
    client: Client

    @property
    def path(self) -> str:
        """Its socket."""
        return os.path.join(run_folder(self.where.state), SOCKET)

    def status(self) -> dict[str, Any]:
        """What it says of itself."""
        found: dict[str, Any] = json.loads(ask(self.path, self._control("@status"), PATIENCE))
        return found

    def processor_seconds(self) -> float:
        """What it has used of a processor since it began, as the system tells; 0.0 where it does not."""
        found = caller.process(self.process.pid)
        return 0.0 if found is None else found.ticks / float(os.sysconf("SC_CLK_TCK"))

    def stop(self) -> None:
        """End it."""
        with contextlib.suppress(OSError, LockgateError):
            ask(self.path, self._control("@stop"), 2.0)
        try:
            self.process.wait(3.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _control(self, word: str) -> bytes:
        return Client((word,), "").request(b"")


def folders_in(folder: str) -> Folders:
    """Folders of a throw-away installation, with a project in it."""
    make_folders(os.path.join(folder, "project", "src"))
    return Folders(folder, os.path.join(folder, "state"), os.path.join(folder, "config"))


def client_of(where: Folders) -> Client:
    """What a hook of the project in throw-away folders says."""
    arguments = ("claude-code", "--home", where.home, "--state", where.state, "--config", where.config)
    return Client(arguments, os.path.join(where.home, "project"))


def prepare(where: Folders) -> None:
    """Make the state, and compile the pattern library into it: only the first start ever takes that long.

    Raises:
        LockgateError: It cannot be made.
    """
    from lockgate.configuration.pattern_library.readiness import make_ready
    from lockgate.store.opening import open_store

    store = open_store(where.state)
    try:
        make_ready(store, where, "")
    finally:
        store.close()


def prepare_like(where: Folders, other: Folders) -> None:
    """Make the state that another installation was prepared with, which nobody has used yet."""
    shutil.copytree(other.state, where.state)


@contextlib.contextmanager
def run_gate(where: Folders) -> Iterator[BenchGate]:
    """A gate that answers.

    Raises:
        LockgateError: It does not come up.
    """
    gate = launch_gate(where)
    try:
        answers(gate)
        yield gate
    finally:
        gate.stop()


def launch_gate(where: Folders) -> BenchGate:
    """Start a gate, and do not wait for it. To be stopped."""
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": where.home}
    words = [sys.executable, *start_resident.arguments(where)]
    process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)  # noqa: S603
    return BenchGate(where, process, client_of(where))


def answers(gate: BenchGate) -> None:
    """Wait until a gate answers.

    Raises:
        LockgateError: It does not.
    """
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until and gate.process.poll() is None:
        try:
            gate.status()
        except OSError:
            time.sleep(0.001)
        else:
            return
    raise LockgateError(f"the gate of {gate.where.state} does not answer")


def ask(path: str, data: bytes, seconds: float) -> bytes:
    """Ask a gate one thing, and wait: what goes to stdout.

    Raises:
        OSError: There is none, or it does not answer in time.
        LockgateError: It will not answer this.
    """
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(seconds)
        connection.connect(path)
        connection.sendall(data)
        heard = b""
        while part := connection.recv(1 << 16):
            heard += part
    return answer_of(heard)[1]
