"""Whether the pattern library is ready, and making it so: for ``lockgate install`` and ``lockgate doctor``."""

from __future__ import annotations

import time

from lockgate.configuration.pattern_library import cache
from lockgate.configuration.pattern_library.opening import open_library
from lockgate.core.errors import ConfigError, PatternError
from lockgate.core.record import Record
from lockgate.store.protocol import Store
from lockgate.system.folders import Folders

_SECONDS = 120.0
"""Enough on a slow and busy machine, and for another process that is at it."""


class Readiness(Record):
    """The library as it was found, or made."""

    seconds: float
    """How long compiling it took just now; 0 where that was done before."""
    rules: int
    problems: tuple[ConfigError, ...]
    notes: tuple[str, ...]
    """What layers have said in vain, and what is to be said of known secrets."""


def is_compiled(store: Store, where: Folders, workspace: str) -> bool:
    """Whether a hook in a workspace would find the library compiled."""
    return cache.ready(store, where, workspace) is not None


def expect_seconds(store: Store, seconds: float) -> None:
    """Have every process expect that compiling takes so long, as if it had the last time."""
    with store.transaction() as tx:
        tx.put_setting(cache.SECONDS, str(seconds))


def make_ready(store: Store, where: Folders, workspace: str) -> Readiness:
    """Compile the library of a workspace where that was not done, load both engines, and open all that a hook opens.

    Args:
        store: The state.
        where: The folders.
        workspace: The project's root folder, absolute; empty where there is none.

    Raises:
        PatternError: It cannot be compiled or loaded; the message says what to do.
        StoreError: The state cannot be read or written.
    """
    began = time.monotonic()
    compiled = is_compiled(store, where, workspace)
    opened = open_library(store, where, workspace, _SECONDS)
    seconds = 0.0 if compiled else time.monotonic() - began
    try:
        opened.scanner.matcher.pattern(0)
    except ImportError as error:
        raise PatternError(f"the library {error.name} is not installed; install Lockgate again") from None
    return Readiness(seconds, len(opened.scanner.matcher.header["rules"]), opened.problems, opened.notes)
