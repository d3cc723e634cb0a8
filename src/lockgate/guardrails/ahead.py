"""The process that compiles the pattern library for a hook that has no time for it.

/abs/python -I -S /abs/lockgate/guardrails/ahead.py HOME STATE CONFIG WORKSPACE [anew]
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Compile the library of a workspace; what fails is seen, and said, by the next hook."""
    from lockgate.errors import LockgateError
    from lockgate.folders import Folders
    from lockgate.guardrails.making import make
    from lockgate.store.sqlite import SqliteStore

    home, state, config, workspace, how = arguments
    try:
        store = SqliteStore.open(state)
        try:
            # Never ``load``: where compiling takes long, that would start another of these processes, and so on.
            # And where another process is at it, there is nothing to wait for.
            make(store, Folders(home, state, config), workspace, until=time.monotonic(), anew=how == "anew")
        finally:
            store.close()
    except LockgateError:
        return 1
    return 0


if __name__ == "__main__":
    os.setsid()  # the client may end all that a hook has started
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    sys.exit(main(sys.argv[1:]))
