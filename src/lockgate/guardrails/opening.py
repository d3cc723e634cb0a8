"""The scanner of a workspace, for a process that decides: loaded where there is text, in a few milliseconds."""

from __future__ import annotations

import os
import time

from lockgate.analysis.patterns.engine import Matcher
from lockgate.analysis.patterns.scanning import Scanner
from lockgate.errors import PatternError
from lockgate.folders import Folders
from lockgate.guardrails.cache import load
from lockgate.libraries import extension, library
from lockgate.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Store


def open_scanner(store: Store, where: Folders, workspace: str, seconds: float, *, known: bool = True) -> Scanner:
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
        return _opened(store, where, workspace, seconds, known=known)
    except ImportError as error:
        raise PatternError(f"the library {error.name} is not installed; run: lockgate doctor") from None


def _opened(store: Store, where: Folders, workspace: str, seconds: float, *, known: bool) -> Scanner:
    hyperscan = extension("hyperscan", "_hs_ext")
    artefact = load(store, where, workspace, seconds=seconds)
    try:
        matcher = Matcher(artefact.head, hyperscan, _re2, artefact.database)
    except PatternError:
        # Compiled by another version of Hyperscan, or for a processor that this one is not.
        artefact = load(store, where, workspace, seconds=seconds, anew=True)
        matcher = Matcher(artefact.head, hyperscan, _re2, artefact.database)
    finds = _known(store, where, workspace, hyperscan) if known else None
    return Scanner(matcher, time.thread_time, store.key, finds)


def _re2() -> Any:
    return library("re2")


def _known(store: Store, where: Folders, workspace: str, hyperscan: Any) -> Any:
    from lockgate.known_secrets.canaries import settings
    from lockgate.known_secrets.gathering import Where
    from lockgate.known_secrets.keeping import open_index

    with store.reading() as tx:
        canaries = settings(tx)
    places = Where(where.home, workspace, os.environ)
    return open_index(places, where.state, store.key, hyperscan, time.time, canaries).known.scan
