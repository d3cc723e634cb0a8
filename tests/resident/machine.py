"""A person's folders, hooks in them that ask a resident gate, and the end of every gate that was started there."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from adapters.payloads import payload
from hook.process import Told, run
from lockgate.clients.hook.start_resident import PROGRAM, arguments
from lockgate.clients.wire import resident_control as control
from lockgate.clients.wire.resident import HookRequest, encode_request
from lockgate.clients.wire.resident_files import SOCKET, run_folder
from lockgate.store.audit.chain import Verification, verify_store
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.code_identity import code_of
from lockgate.system.folders import Folders
from support import steady
from support.gates import end_gates, gates_below
from support.prepared import give_state

PATIENCE = 30.0
"""Seconds after which a test gives up; nothing here takes more than one or two."""
PATIENT = ("--deadline", "20")
"""For hooks that decide by themselves, on a machine that is busy with other things."""


class Machine:
    """The folders of one test."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.project = root / "project"
        self.config = root / "config"
        for folder in (self.home, self.project, self.config):
            folder.mkdir(parents=True)
        self.state = str(root / "state")
        give_state(Path(self.state))
        self.where = Folders(str(self.home), self.state, str(self.config))
        self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home), "LANG": "C.UTF-8"}
        self._started: list[subprocess.Popen[bytes]] = []

    # ------------------------------------------------------------ the gate
    def start(self, *options: str, program: str = "", files: int = 0, wait: bool = True) -> subprocess.Popen[bytes]:
        """Start a gate as a child of this process, which may have so many files open, and wait until it answers."""
        words = arguments(self.where)
        words[words.index(PROGRAM)] = program or steady.gate()
        command = [sys.executable, *words, *options]
        if files:
            command = ["/bin/sh", "-c", f'ulimit -n {files} && exec "$0" "$@"', *command]
        gate = subprocess.Popen(command, env=self.environment, cwd="/")
        self._started.append(gate)
        if wait:
            self.comes_up()
        return gate

    def comes_up(self) -> dict[str, Any]:
        """Wait until a gate answers; what it says of itself."""
        found = control.wait_for(self.state, PATIENCE)
        assert found.answers, found
        return found.facts

    @property
    def facts(self) -> dict[str, Any]:
        """What the gate says of itself."""
        found = control.look(self.state)
        assert found.answers, found
        return found.facts

    def gates(self) -> list[int]:
        """The processes of all gates of this test."""
        return gates_below(self.root)

    def end(self) -> None:
        """End every gate of this test, whatever has become of it."""
        end_gates(self.root)
        for gate in self._started:
            gate.wait(PATIENCE)

    # ------------------------------------------------------------ hooks
    def hook(self, data: bytes | dict[str, Any], *options: str, client: str = "claude-code", **environ: str) -> Told:
        """Run a hook as a client does."""
        return run(self.command(client, *options), data, env={**self.environment, **environ}, cwd=self.project)

    def begin(self, data: dict[str, Any], **environ: str) -> subprocess.Popen[bytes]:
        """Start a hook, and give it its payload."""
        process = subprocess.Popen(
            self.command("claude-code"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**self.environment, **environ},
        )
        assert process.stdin
        process.stdin.write(json.dumps(data).encode())
        process.stdin.close()
        process.stdin = None
        return process

    @staticmethod
    def finished(process: subprocess.Popen[bytes]) -> Told:
        """What a hook answers that was begun."""
        stdout, stderr = process.communicate(timeout=PATIENCE)
        return Told(process.returncode, stdout.decode(), stderr.decode())

    def command(self, client: str, *options: str) -> list[str]:
        """The command line of a hook."""
        return [sys.executable, "-I", "-S", steady.hook(), *self.words(client), *options]

    def words(self, client: str = "claude-code") -> list[str]:
        """The arguments of a hook."""
        return [client, "--home", self.where.home, "--state", self.where.state, "--config", self.where.config]

    def event(self, name: str, **fields: Any) -> dict[str, Any]:
        """An event of this machine's project."""
        return payload(name, cwd=str(self.project), transcript_path=str(self.home / "s.jsonl"), **fields)

    # ------------------------------------------------------------ the socket
    @contextmanager
    def connected(self, seconds: float = PATIENCE) -> Iterator[socket.socket]:
        """A connection to the gate, from this process."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.settimeout(seconds)
            connection.connect(os.path.join(run_folder(self.state), SOCKET))
            yield connection

    def request(self, data: Mapping[str, Any] | bytes, client: str = "claude-code", **environ: str) -> bytes:
        """What a hook would send."""
        body = data if isinstance(data, bytes) else json.dumps(data).encode()
        environ = {**self.environment, **environ}
        return encode_request(
            HookRequest(os.getpid(), tuple(self.words(client)), environ, body, code=code_of(steady.hook()))
        )

    def said(self, sent: bytes) -> bytes:
        """All that the gate says to these bytes."""
        with self.connected() as connection:
            connection.sendall(sent)
            return heard_by(connection)

    # ------------------------------------------------------------ the store
    @contextmanager
    def store(self) -> Iterator[SqliteStore]:
        """The store."""
        store = SqliteStore.open(self.state, busy_seconds=20)
        try:
            yield store
        finally:
            store.close()

    def audit(self) -> list[dict[str, Any]]:
        """All records of the audit."""
        with self.store() as store, store.reading() as tx:
            return [json.loads(row.body) for row in tx.audit()]

    def verified(self) -> Verification:
        """Whether the audit's chain holds."""
        with self.store() as store, store.reading() as tx:
            return verify_store(tx, store.key)

    @staticmethod
    def until(condition: Callable[[], bool], what: str) -> None:
        """Wait for something."""
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited for {what}"
            time.sleep(0.02)


def heard_by(connection: socket.socket) -> bytes:
    """All that comes until the other end closes."""
    heard = b""
    try:
        while part := connection.recv(1 << 16):
            heard += part
    except ConnectionResetError:
        pass
    return heard
