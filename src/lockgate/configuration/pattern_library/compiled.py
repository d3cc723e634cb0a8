"""Gets the compiled pattern library of a workspace: from the cache, else by compiling it."""

from __future__ import annotations

import os
import time

from lockgate.configuration.pattern_library.cache import FOLDER, name_build, ready
from lockgate.configuration.pattern_library.layers import looks_at
from lockgate.core.errors import NotCompiledError
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from lockgate.configuration.pattern_library.cache import Artefact
    from lockgate.store.protocol import Store
    from lockgate.system.folders import Folders

_WAIT = 0.02


def load(store: Store, where: Folders, workspace: str, *, seconds: float = 60.0, unlike: str = "") -> Artefact:
    """The compiled library that holds for a workspace now; compiled where it is missing, stale or damaged.

    Args:
        store: Knows which artefact belongs to which files, and its hash.
        where: The folders.
        workspace: The project's root folder, absolute; empty where there is none.
        seconds: How long it may take. Where compiling takes longer, another process goes on with it.
        unlike: The hash of an artefact that could not be loaded, because it was compiled by another version of
            Hyperscan or for another processor: it is compiled anew.

    Raises:
        PatternError: It is not compiled yet, or cannot be; the message says what to do.
        StoreError: The state cannot be read or written.
    """
    looks = looks_at(where, workspace)
    found = ready(store, where, workspace, looks)
    if found is not None and found.digest != unlike:
        return found
    from lockgate.configuration.pattern_library.attempts import is_going_on, read_failure
    from lockgate.configuration.pattern_library.compile import make

    folder, until = os.path.join(where.state, FOLDER), time.monotonic() + seconds
    try:
        return make(store, where, workspace, until=until, seconds=seconds, unlike=unlike)
    except NotCompiledError as error:
        while time.monotonic() < until - _WAIT:
            time.sleep(_WAIT)
            is_at_it = is_going_on(folder)
            found = ready(store, where, workspace, looks)
            if found is not None and found.digest != unlike:
                return found
            failed = None if is_at_it else read_failure(folder, name_build())
            if failed is not None:
                raise failed.error from None
        raise error from None
