"""Opens the scanner of a workspace for a process that decides, in a few milliseconds."""

from __future__ import annotations

import time
from _thread import _local  # what threading.local is, without the rest of that module
from time import perf_counter, thread_time

from lockgate.configuration.pattern_library.cache import current
from lockgate.configuration.pattern_library.compiled import load
from lockgate.core.errors import PatternError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.patterns.engine.matcher import Matcher
from lockgate.patterns.engine.scanner import Scanner
from lockgate.system import caller
from lockgate.system.folders import Folders
from lockgate.system.libraries import extension, library

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from lockgate.configuration.known_secrets.index_file import OpenedIndex
    from lockgate.core.errors import ConfigError
    from lockgate.store.protocol import Store


_FRESH = 0.005
"""Seconds for which a thread's processor time is reckoned before it is asked for again."""


class _CachedCpuTime(_local):
    """Of each thread: until when what the system said last is reckoned with, and how far that is from any clock."""

    until = float("-inf")
    ahead = 0.0


class ProcessorTime:
    """A clock of the processor time of whichever thread asks: a busy machine must not make a guardrail say no.

    The system's own answer costs as much as looking at a short text. It is asked for every few milliseconds; between
    them all time counts as the thread's.
    """

    def __init__(self, exact: Callable[[], float] = thread_time, passing: Callable[[], float] = perf_counter) -> None:
        """Begin.

        Args:
            exact: Seconds of processor time of the thread that asks.
            passing: Seconds of any clock that only goes forward.
        """
        self._exact = exact
        self._passing = passing
        self._mine = _CachedCpuTime()

    def __call__(self) -> float:
        """Seconds since some moment."""
        now, mine = self._passing(), self._mine
        if now > mine.until:
            mine.until, mine.ahead = now + _FRESH, self._exact() - now
        return now + mine.ahead


class OpenedLibrary(Record):
    """The library, loaded."""

    scanner: Scanner
    matcher: Matcher
    digest: str
    """The hash of what was loaded."""
    problems: tuple[ConfigError, ...]
    """Pattern files, or parts of them, that are not valid."""
    notes: tuple[str, ...]
    """What layers have said in vain, and what a person should know of the index of known secrets."""
    news: tuple[str, ...]
    """Those notes that are about this very loading: an index that was damaged, or cannot be written."""
    known: OpenedIndex | None
    """The secrets of this machine, where they are looked for."""


def open_scanner(store: Store, where: Folders, workspace: str, seconds: float, *, known: bool = True) -> Scanner:
    """What :func:`open_library` gives, for whoever has no use for problems and notes."""
    return open_library(store, where, workspace, seconds, known=known).scanner


def open_library(store: Store, where: Folders, workspace: str, seconds: float, *, known: bool = True) -> OpenedLibrary:
    """Load the compiled library that holds for a workspace, and the index of this machine's secrets.

    Args:
        store: The state.
        where: The folders.
        workspace: The project's root folder, absolute; empty where there is none.
        seconds: How long it may take, where the library must be compiled first.
        known: Whether the secrets of this machine and canaries are looked for.

    Raises:
        PatternError: It cannot be loaded; the message says what to do.
        StoreError: The state cannot be read.
    """
    try:
        return _open(store, where, workspace, seconds, known=known)
    except ImportError as error:
        raise PatternError(f"the library {error.name} is not installed; run: lockgate doctor") from None


def refresh(
    opened: OpenedLibrary, store: Store, where: Folders, workspace: str, seconds: float, *, known: bool = True
) -> OpenedLibrary:
    """What :func:`open_library` would give now; what has not changed since is not loaded again.

    Args:
        opened: What it gave before.
        store: As for :func:`open_library`, like the rest.
        where: The folders.
        workspace: The project's root folder.
        seconds: How long it may take.
        known: Whether the secrets of this machine and canaries are looked for.

    Raises:
        PatternError: It cannot be loaded.
        StoreError: The state cannot be read.
    """
    if current(store, where, workspace) != opened.digest:
        return open_library(store, where, workspace, seconds, known=known)
    if not known:
        return opened
    found = _open_known_index(store, where, workspace, extension("hyperscan", "_hs_ext"), opened.known)
    if opened.known is not None and found.known is opened.known.known:
        return opened._replace(news=found.notes)
    scanner = Scanner(opened.matcher, ProcessorTime(), store.key, found.known.scan)
    return opened._replace(scanner=scanner, news=found.notes, known=found)


def _open(store: Store, where: Folders, workspace: str, seconds: float, *, known: bool) -> OpenedLibrary:
    hyperscan = extension("hyperscan", "_hs_ext")
    artefact = load(store, where, workspace, seconds=seconds)
    try:
        matcher = Matcher(artefact.head, hyperscan, _re2, artefact.database)
    except PatternError:
        # Compiled by another version of Hyperscan, or for a processor that this one is not.
        artefact = load(store, where, workspace, seconds=seconds, unlike=artefact.digest)
        matcher = Matcher(artefact.head, hyperscan, _re2, artefact.database)
    found = _open_known_index(store, where, workspace, hyperscan) if known else None
    finds, news = (found.known.scan, found.notes) if found is not None else (None, ())
    scanner = Scanner(matcher, ProcessorTime(), store.key, finds)
    return OpenedLibrary(scanner, matcher, artefact.digest, artefact.problems, (*artefact.notes, *news), news, found)


def _re2() -> Any:
    return library("re2")


def _open_known_index(
    store: Store, where: Folders, workspace: str, hyperscan: Any, before: OpenedIndex | None = None
) -> OpenedIndex:
    from lockgate.configuration.known_secrets.collect import SearchScope
    from lockgate.configuration.known_secrets.index_file import open_index
    from lockgate.store.files import Sets

    with store.reading() as tx:
        canaries = tx.settings(Sets.CANARIES)
    places = SearchScope(where.home, workspace, caller.environ())
    return open_index(places, where.state, store.key, hyperscan, time.time, canaries, before)
