"""Checks whether the pattern library is ready, and compiles it: for ``install`` and ``doctor``."""

from __future__ import annotations

import os
import stat
import time
from contextlib import suppress

from lockgate.configuration.pattern_library import cache
from lockgate.configuration.pattern_library.compile import artefact_name, compile_artefact, write_artefact
from lockgate.configuration.pattern_library.layers import gather
from lockgate.configuration.pattern_library.opening import open_library
from lockgate.core.errors import ConfigError, PatternError
from lockgate.core.record import Record
from lockgate.store.protocol import Store
from lockgate.system.folders import Folders
from lockgate.system.ownership import make_folders

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
    is_there = is_compiled(store, where, workspace)
    opened = open_library(store, where, workspace, _SECONDS)
    seconds = 0.0 if is_there else time.monotonic() - began
    try:
        opened.scanner.matcher.pattern(0)
    except ImportError as error:
        raise PatternError(f"the library {error.name} is not installed; install Lockgate again") from None
    return Readiness(seconds, len(opened.scanner.matcher.header["rules"]), opened.problems, opened.notes)


def make_beside() -> None:
    """Compile the shipped library beside the code where it is missing, and remove what is of no version any more.

    Raises:
        LockgateError: It cannot be compiled or written.
        OSError: The folder of the code cannot be written.
    """
    library = gather(None, ()).linked.library
    path = cache.beside_path(artefact_name(library))
    if not os.path.exists(path):
        make_folders(cache.BESIDE, 0o755)
        old = [os.path.join(cache.BESIDE, name) for name in os.listdir(cache.BESIDE)]
        write_artefact(path, compile_artefact(library))
        for each in old:
            with suppress(OSError):
                os.unlink(each)
    # As the code: whoever runs it reads this.
    for place, mode in ((cache.BESIDE, 0o755), (path, 0o644)):
        if stat.S_IMODE(os.stat(place).st_mode) != mode:
            os.chmod(place, mode)
