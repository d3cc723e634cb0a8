"""Shared parts of all routes: the store, the caller, and the work of rooms that a route does not know."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from fastapi import Request

from lockgate.configuration.load import load_for_cli
from lockgate.core.model import ToolCall
from lockgate.core.record import Record
from lockgate.service.http.auth.sessions import Access, ApiCaller
from lockgate.service.http.auth.tokens import Scope, find
from lockgate.service.http.middleware import HostNames
from lockgate.service.http.problems import RequestRefused
from lockgate.service.http.schemas import ApprovalState
from lockgate.store.opening import open_existing
from lockgate.store.protocol import Store, Transaction
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.folders import Folders


class DoctorFinding(Protocol):
    """A finding of the doctor."""

    @property
    def name(self) -> str:
        """What was looked at."""

    @property
    def state(self) -> str:
        """``ok``, ``warn`` or ``fail``."""

    @property
    def says(self) -> str:
        """What was found."""

    @property
    def mend(self) -> str:
        """What to do."""


class Tools(Record):
    """Functions that the command line hands in, because it stands above this room."""

    explain: Callable[[ToolCall], Mapping[str, Any]]
    """What ``lockgate explain --json`` says. Raises ``LockgateError``."""
    doctor: Callable[[str], Sequence[DoctorFinding]]
    """What ``lockgate doctor`` finds for a project's folder."""
    report: Callable[[Mapping[str, Any]], str]
    """Writes what ``lockgate needless`` does of a recorded decision, and gives the file. Raises ``LockgateError``, and
    ``OSError`` where it cannot be written."""


class DashboardContext:
    """The objects that all routes of one dashboard share."""

    def __init__(self, where: Folders, names: HostNames, access: Access, tools: Tools) -> None:
        """Use a state folder; nothing is opened yet."""
        self.where = where
        self.names = names
        self.access = access
        self.tools = tools
        self.at_end: list[Callable[[], None]] = []
        """What ends what would go on for ever, called in the event loop when the process is to end."""
        self._lock = threading.Lock()
        self._last: Store | None = None
        """The shared store of the last request: while it is open, its connections are there for the next one."""

    @contextmanager
    def store(self) -> Iterator[Store | None]:
        """The store, for this thread and request; ``None`` where nothing was recorded yet. Raises ``StoreError``."""
        store = open_existing(self.where.state)
        try:
            yield store
        finally:
            # That of SQLite belongs to its thread, and opens in no time.
            if isinstance(store, SqliteStore):
                store.close()
                self._keep(None)
            else:
                self._keep(store)

    def close(self) -> None:
        """Close connections to a shared store."""
        self._keep(None)

    def _keep(self, store: Store | None) -> None:
        with self._lock:
            before, self._last = self._last, store
        if before is not None:
            before.close()

    @contextmanager
    def look(self) -> Iterator[Transaction | None]:
        """A consistent look at the store; ``None`` where nothing was recorded yet. Raises ``StoreError``."""
        with self.store() as store:
            if store is None:
                yield None
                return
            with store.reading() as tx:
                yield tx

    @contextmanager
    def look_with_time(self) -> Iterator[tuple[Transaction | None, float]]:
        """The same, with the store's time, by which it is told what is over. Raises ``StoreError``."""
        with self.store() as store:
            if store is None:
                yield None, time.time()
                return
            now = store.clock()
            with store.reading() as tx:
                yield tx, now

    def demand_unsigned(self, command: str, state: ApprovalState | None = None) -> None:
        """Refuse what an approver has to sign: their private key is not here, and must not be.

        Args:
            command: What they run instead, at a terminal of their own.
            state: What has become of the question by now.

        Raises:
            RequestRefused: The configuration names approvers.
            StoreError: The state cannot be read.
        """
        if load_for_cli(self.where.home).options.approvers is not None:
            says = f"an approver has to sign this, with the key on their own machine: run `{command}` there"
            raise RequestRefused(409, says, code="signature", state=state)

    def token(self, given: str) -> ApiCaller | None:
        """The program that has a token; ``None`` for nobody. Raises ``StoreError``."""
        with self.look() as tx:
            found = find(tx, given) if tx is not None else None
        if found is None:
            return None
        scopes: tuple[Scope, ...] = ("read", "approve") if found.scope == "approve" else ("read",)
        return ApiCaller(found.name, False, frozenset(scopes))


def caller(request: Request) -> ApiCaller:
    """The caller. ``shield`` has checked them before any route runs."""
    found = request.scope.get("state", {}).get("caller")
    if not isinstance(found, ApiCaller):
        raise RequestRefused(401, "log in with the link of `lockgate dashboard`", code="login")
    return found


def approver(request: Request) -> ApiCaller:
    """The caller, who may answer for a person."""
    found = caller(request)
    if "approve" not in found.scopes:
        raise RequestRefused(403, "this token may only read", code="scope")
    return found


def person(request: Request) -> ApiCaller:
    """The caller, who must be a person: they say that they have read something, and a program cannot."""
    found = approver(request)
    if not found.person:
        raise RequestRefused(403, "only a person may say this, who has logged in", code="person")
    return found


def not_found(what: str) -> RequestRefused:
    """There is no such thing."""
    return RequestRefused(404, f"there is no such {what}")
