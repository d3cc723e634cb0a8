"""The process that compiles the pattern library for a hook, which has no time for it.

/abs/python -I -S /abs/lockgate/guardrails/ahead.py HOME STATE CONFIG WORKSPACE UNLIKE LOCK
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress

_LONGEST = 120
"""Seconds after which this process ends whatever it does: while it has the lock, nobody else can compile."""


def main(arguments: Sequence[str]) -> int:
    """Compile the library of a workspace; what fails is seen, and said, by the next hook."""
    from lockgate.configuration.pattern_library.attempts import note_end
    from lockgate.configuration.pattern_library.cache import name_build
    from lockgate.configuration.pattern_library.compile import make
    from lockgate.store.opening import open_store
    from lockgate.system.folders import Folders

    home, state, config, workspace, unlike, lock = arguments
    where = Folders(home, state, config)
    with suppress(Exception), note_end(int(lock), name_build()), closing(open_store(state)) as store:
        # Never ``load``: where compiling takes long, that would start another of these processes, and so on.
        make(store, where, workspace, until=time.monotonic(), unlike=unlike, lock=int(lock))
        return 0
    return 1


if __name__ == "__main__":
    os.setsid()  # the client may end all that a hook has started
    signal.alarm(_LONGEST)
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
    sys.exit(main(sys.argv[1:]))
