"""The variables that this process was started with, as the system keeps telling of them."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection

_BEGIN, _AFTER_NAME = 50, 3
"""Numbers of two fields of proc_pid_stat(5): ``env_start``, and the first one after the program's name."""


def forget_start(names: Collection[str]) -> None:
    """Rename variables where the system keeps them: a hook looks there, and its client is the test's own process.

    They must have been deleted from ``os.environ``, so that nobody else reads that place. Elsewhere than on Linux there
    is nothing to forget.
    """
    assert not set(names) & set(os.environ)
    try:
        with open("/proc/self/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        with open("/proc/self/environ", "rb") as file:
            entries = file.read().split(b"\0")
    except OSError:
        return
    at = int(fields[_BEGIN - _AFTER_NAME])
    for entry in entries:
        name = entry.partition(b"=")[0]
        if os.fsdecode(name) in names:
            ctypes.memset(at, ord("_"), len(name))
        at += len(entry) + 1
