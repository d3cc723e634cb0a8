"""Logs failures to the state folder: one line each, without anything of what was being decided."""

from __future__ import annotations

import errno
import os
import sys
import time

from lockgate.core.display_text import visible

NAME = "hook.log"
_MOST_BYTES = 256 * 1024


def place_of(error: BaseException) -> str:
    """Where an error was raised: the name of the file and the line, and nothing of what was being done there."""
    trace, place = error.__traceback__, "?"
    while trace is not None:
        place = f"{os.path.basename(trace.tb_frame.f_code.co_filename)}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def describe(error: BaseException) -> str:
    """What failed, for a person, where the error says it; else where to look."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return "there is too little memory: raise the limit (ulimit -v, the container's), or end other programs"
    if isinstance(error, ImportError):
        missing = visible(error.name or str(error), 80)
        return f"the library {missing} cannot be loaded: install Lockgate again with this Python ({sys.executable})"
    return "an internal error; run: lockgate doctor"


def note(state: str, what: str, kind: str, place: str) -> None:
    """Keep that something failed. A log that cannot be written stops nothing, and no state is made for it.

    Args:
        state: The state folder.
        what: What was being done: an event's name, a plugin's.
        kind: The error's class.
        place: Where in the code, as the name of a file and a line.
    """
    from lockgate.system.timestamps import utc

    line = f"{utc(time.time())} {visible(what, 60)} {visible(kind, 60)} {visible(place, 200)}\n"
    path = os.path.join(state, NAME)
    try:
        if os.stat(state).st_uid != os.geteuid():
            return  # what this user leaves there would keep its owner out
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, line.encode())
            full = os.fstat(descriptor).st_size > _MOST_BYTES
        finally:
            os.close(descriptor)
        if full:
            os.replace(path, f"{path}.1")
    except OSError:
        return
