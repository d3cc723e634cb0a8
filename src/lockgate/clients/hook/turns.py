"""Lets hooks without a gate decide in turns: if all loaded the code at once, all would be late.

When a gate ends under load, all its hooks have to decide by themselves in the same moment. Each of them takes a few
hundred times as long as the gate would. They share the processors with the next gate, which would answer all of them.
So only as many as there are processors decide at a time, and the others sleep until a gate listens or a turn is free.
Nobody waits for longer than the hook can spare: then it decides all the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from lockgate.clients.wire.resident_files import run_folder

SECONDS = 8.0
"""How long the hook of a call waits for its turn at most, from its begin. The client waits an hour."""
SHORT_SECONDS = 2.5
"""How long any other hook does. The client waits 20 seconds, and goes on after them."""
_PAUSE = 0.1
"""Seconds between two looks."""
HELD: list[int] = []
"""The turn of this process, which ends with it."""


def wait_for_turn(state: str, until: float, come: Callable[[], bool]) -> bool:
    """Wait for a turn to decide, or for a gate.

    Args:
        state: The state folder.
        until: When to decide without a turn, by the monotonic clock.
        come: Tells whether a gate listens by now.

    Returns:
        Whether a gate listens; else this process may decide.
    """
    while True:
        if come():
            return True
        if _take_turn(state) or time.monotonic() + _PAUSE > until:
            return False
        time.sleep(_PAUSE)


def _take_turn(state: str) -> bool:
    """Take a free turn, where there is one. Where there can be none, nobody waits."""
    import fcntl

    for number in range(os.cpu_count() or 1):
        try:
            file = os.open(
                os.path.join(run_folder(state), f"turn.{number}"),
                os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC,
                0o600,
            )
        except OSError:
            return True
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            continue
        except OSError:  # a file system without locks
            os.close(file)
            return True
        HELD.append(file)
        return True
    return False
