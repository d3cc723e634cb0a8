"""What the agents work on: state folders that can be broken, gates that are kept up, and what the stores say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from lockgate.cli.bench.run import gates
from lockgate.cli.bench.run.stories import ENVIRONMENT, Client
from lockgate.clients.hook import start_resident as starting
from lockgate.clients.wire import resident_control as control
from lockgate.core.model import Label, Subject
from lockgate.store.audit.chain import verify_store
from lockgate.store.opening import open_store
from lockgate.system.folders import Folders

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support import steady
from support.gates import end_gates, gates_below

_PAUSE = 0.3
_TIMEOUT = 30.0
"""Seconds after which an agent client would no longer wait for a hook, and run the call."""
Ask = Callable[[bytes], "tuple[int, bytes, bytes]"]
"""Runs a hook with a payload: its exit code and streams."""


def hook(command: Sequence[str], environ: dict[str, str]) -> Ask:
    """Hooks of one command line."""

    def ask(payload: bytes) -> tuple[int, bytes, bytes]:
        try:
            done = subprocess.run(command, input=payload, capture_output=True, env=environ, timeout=_TIMEOUT)
        except subprocess.TimeoutExpired:
            return -1, b"", b"it does not end"
        return done.returncode, done.stdout, done.stderr

    return ask


class Host:
    """A machine: its folders, its hooks, and its gate, which a service manager starts again whenever it ends."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.where: Folders = gates.folders_in(str(root))
        self.state = Path(self.where.state)
        self._kept = threading.Event()
        self._over = threading.Event()
        self._keeper = threading.Thread(target=self._keep)
        # Code that changes under a gate is another fault, and not meant here; and both have the clock of this host.
        self._jumping = shutil.copy(Path(__file__).with_name("jumping.py"), steady.package().parent)
        self.environment = {**ENVIRONMENT, "HOME": self.where.home, "PATH": os.defpath}

    @property
    def client(self) -> Client:
        """Who asks on this host."""
        return gates.client_of(self.where)

    def hooks(self, *options: str) -> Ask:
        """Hooks as an installer writes them: the native client where there is one, which falls back to Python."""
        native = steady.package() / "lockgate-hook"
        if native.exists():
            command = [str(native), "--python", sys.executable, "--script", self._jumping]
        else:
            command = [sys.executable, "-I", "-S", self._jumping]
        return hook([*command, *self.client.arguments, *options], self.environment)

    def python_hooks(self, *options: str) -> Ask:
        """Hooks of Python."""
        return hook([sys.executable, "-I", "-S", self._jumping, *self.client.arguments, *options], self.environment)

    def start_gate(self) -> subprocess.Popen[bytes]:
        """One gate more; where another listens, it ends by itself."""
        words = starting.arguments(self.where)
        options = words[words.index(starting.PROGRAM) + 1 :]
        command = [sys.executable, *starting.FLAGS, self._jumping, steady.gate(), *options]
        log = open(self.root / "gate.log", "ab")  # noqa: SIM115 - the child's
        with log:
            return subprocess.Popen(command, env={"PATH": os.defpath, "HOME": self.where.home}, stderr=log, cwd="/")

    def gates(self) -> list[int]:
        """The processes of all gates of this host, whoever has started them."""
        return gates_below(self.root)

    def jump(self, seconds: float) -> None:
        """Set the clock of this host wrong by so much."""
        (self.root / "clock.new").write_text(str(seconds))
        (self.root / "clock.new").replace(self.root / "clock")

    # ------------------------------------------------------------ the service manager
    def __enter__(self) -> Host:
        self._kept.set()
        self._keeper.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._kept.set()
        self._keeper.join()
        end_gates(self.root)

    def keep(self, kept: bool) -> None:
        """Whether a gate that ends is started again."""
        self._kept.set() if kept else self._kept.clear()

    def _keep(self) -> None:
        children: list[subprocess.Popen[bytes]] = []
        while not self._over.is_set():
            self._kept.wait()
            children = [child for child in children if child.poll() is None]
            if not children and not self._over.is_set():
                children.append(self.start_gate())
            self._over.wait(_PAUSE)
        end_gates(self.root)
        for child in children:
            child.wait()

    # ------------------------------------------------------------ what is promised
    def answers(self) -> bool:
        """Whether a gate answers."""
        return control.look(self.where.state, 1.0).answers

    def looked_at(self, readers: set[str]) -> tuple[bool, set[str], set[str]]:
        """Whether the chain holds, which sessions have lost their label, and which calls are in the records."""
        store = open_store(self.where.state, busy_seconds=20)
        try:
            with store.reading() as tx:
                holds = verify_store(tx, store.key).ok
                lost = {name for name in readers if Label.UNTRUSTED not in tx.labels(Subject(name))}
                recorded = {str(json.loads(row.body).get("call")) for row in tx.audit()}
        finally:
            store.close()
        return holds, lost, recorded
