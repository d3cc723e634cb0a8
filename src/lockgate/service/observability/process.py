"""The exporter process: follows the audit, counts and sends. There is one for a state folder."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from lockgate.clients.wire.resident_files import make_run_folder
from lockgate.core.errors import StoreError
from lockgate.service.observability import gauges, tail
from lockgate.service.observability.otlp import SIGNALS, Sender
from lockgate.service.observability.prometheus import exposition
from lockgate.service.observability.settings import TelemetrySettings
from lockgate.service.observability.tail import ChainPosition, TailState
from lockgate.store.protocol import Store
from lockgate.store.rows import AuditRow
from lockgate.system.files import replace

LOCK = "telemetry.lock"
_CHECK_SECONDS = 3600.0
"""How often the whole chain is checked."""
_ENDING_SECONDS = 5.0
"""How long an exporter may take to end."""
_BATCH_SECONDS = 10.0
"""How long one round sends, at most: what is left is sent in the next."""
_PATIENT_ROUNDS = 10
"""How many rounds in sequence a record may be refused for good before it and others are sent one by one."""
_ONE_BY_ONE = 50
"""How many records are sent one by one before the rest is tried together again."""


class Exporter:
    """Counts, and where they go. All of it in one thread, but for :attr:`page`."""

    def __init__(self, state: str, settings: TelemetrySettings, tell: Callable[[str], None] = lambda _: None) -> None:
        """Go on where the last one was.

        Args:
            state: The state folder.
            settings: What goes where.
            tell: Told what is wrong, once for each time that it begins.

        Raises:
            ImportError: The extra is not installed.
        """
        self.page = b""
        """The last exposition."""
        self._state = state
        self._store = tail.Followed(state)
        self._settings = settings
        self._tell = tell
        self._kept = tail.load(state)
        self._sender = Sender(settings.otlp) if settings.otlp is not None else None
        self._chain: gauges.Chain | None = None
        self._problems: frozenset[str] = frozenset()
        self._refusals = 0
        """Rounds in sequence in which a record was refused for good."""
        self._at_once = tail.PAGE
        """How many records are sent together: a collector, or a proxy before it, limits the size of a request."""

    def look(self) -> None:
        """One round: count, send, write, and keep how far that went. Whatever fails is tried again in the next."""
        problems: set[str] = set()
        store = self._open(problems)
        found = gauges.look(self._follow(store, problems), self._state)
        self.page = exposition(self._kept.counts, found, self._chain)
        try:
            self._write()
            if store is not None:
                tail.save(self._state, self._kept)
        except OSError as error:
            problems.add(f"cannot write {error.filename}: {error.strerror}")
        for problem in sorted(problems - self._problems):
            self._tell(problem)
        self._problems = frozenset(problems)

    def run(self, stop: threading.Event, parent: int = 0, changed: Callable[[], bool] = lambda: False) -> bool:
        """Go on until there is a reason not to.

        Args:
            stop: Set when it has to end.
            parent: A process with which it ends too, where that is not 0.
            changed: Asked after each round whether there are other settings by now.

        Returns:
            Whether it ended for other settings.
        """
        try:
            while not stop.is_set() and parent in (0, os.getppid()):
                self.look()
                stop.wait(self._settings.interval_seconds)
                if changed():
                    return not stop.is_set()
            return False
        finally:
            self._store.close()
            if self._sender is not None:
                self._sender.close()

    def _open(self, problems: set[str]) -> Store | None:
        try:
            return self._store.open()
        except StoreError as error:
            problems.add(str(error))
            return None

    def _follow(self, store: Store | None, problems: set[str]) -> Store | None:
        """Count and send what is new; gives the store where it can be read."""
        if store is None:
            return None
        try:
            self._kept = tail.count_new(store, self._state, self._kept)
            if self._sender is not None:
                self._kept = self._send(store, self._sender, problems)
            if self._chain is None or not 0 <= time.time() - self._chain.at < _CHECK_SECONDS:
                self._chain = gauges.verify_chain(store)
        except StoreError as error:
            problems.add(str(error))
            return None
        return store

    def _send(self, store: Store, sender: Sender, problems: set[str]) -> TailState:
        """Send what is new. The first time that is nothing: what was before nobody asked for."""
        if self._kept.sent is None:
            return self._kept._replace(sent=self._kept.counted)
        place, _ = tail.settle_position(store, self._kept.sent)
        until = time.monotonic() + _BATCH_SECONDS
        while time.monotonic() <= until and (found := next(tail.pages(store, place), None)):
            page = found[: self._at_once]
            if failed := sender.send(page):
                self._at_once = max(len(page) // 2, 1)
                if sender.refused and len(page) > 1:
                    continue  # for its size, or for one of its records
                self._kept.counts.add("export_failures", failed)
                self._refusals = self._refusals + 1 if sender.refused else 0
                page = found[:_ONE_BY_ONE]
                if self._refusals < _PATIENT_ROUNDS or not self._send_singly(page, sender, problems):
                    problems.add(f"the collector does not take {failed}")
                    break
            else:
                self._at_once = min(2 * self._at_once, tail.PAGE)
                self._refusals = 0
            place = ChainPosition(page[-1].seq, page[-1].digest)
        return self._kept._replace(sent=place)

    def _send_singly(self, page: Sequence[AuditRow], sender: Sender, problems: set[str]) -> bool:
        """Send records one by one, and pass over those that the collector will never take; whether that is done.

        A collector that takes no record at all refuses more than the records: nothing is passed over then, and the
        first of them is tried for some rounds again.
        """
        taken: set[str] = set()
        refused: list[str] = []
        for row in page:
            for signal in SIGNALS:
                if sender.send_as(signal, [row]):
                    taken |= {signal} if sender.answered else set()
                elif sender.refused:
                    refused.append(signal)
                else:
                    self._refusals = 0
                    return False
        if not taken.issuperset(refused):
            self._refusals = 0
            return False
        for signal in refused:
            self._kept.counts.add("export_records_passed_over", signal)
            problems.add(f"the collector refuses some {signal} for good: they were passed over, and never sent")
        return True

    def _write(self) -> None:
        path = self._settings.metrics.file if self._settings.metrics is not None else ""
        if path:
            write_textfile(path, self.page)


def write_textfile(path: str, page: bytes) -> None:
    """Write a file for node_exporter's textfile collector, which another user reads; whole or not at all.

    Raises:
        OSError: It cannot be written.
    """
    replace(path, page, draft=f"{path}.{os.getpid()}.{os.urandom(4).hex()}", mode=0o644)


@contextmanager
def only_exporter(state: str) -> Iterator[bool]:
    """Be the only exporter of a state folder, if there is none already.

    Raises:
        StoreError: The folder cannot be used.
    """
    path = os.path.join(make_run_folder(state), LOCK)
    try:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StoreError(f"cannot open {path}: {error.strerror}") from error
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        yield False
    else:
        yield True
    finally:
        os.close(handle)


@contextmanager
def run_exporter(settings: TelemetrySettings, tell: Callable[[str], None]) -> Iterator[None]:
    """Run an exporter for as long as something else goes on: a process of its own, which takes none of its time.

    Where it cannot run, that is told, and stops nothing.

    Args:
        settings: What is configured; where that is nothing, nothing is started.
        tell: Told each line that the exporter says.
    """
    if settings == TelemetrySettings():
        yield
        return
    # -P: what lies in the current folder is nobody's library.
    command = [sys.executable, "-P", "-m", "lockgate", "telemetry", "run", "--parent", str(os.getpid())]
    child = subprocess.Popen(  # noqa: S603 - this program itself
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )

    def hear() -> None:
        assert child.stderr is not None
        with child.stderr as lines:
            for line in lines:
                tell(f"telemetry: {line.strip()}")

    thread = threading.Thread(target=hear, name="telemetry", daemon=True)
    thread.start()
    try:
        yield
    finally:
        child.terminate()
        try:
            child.wait(_ENDING_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        thread.join()
