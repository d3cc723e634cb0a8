"""Lists the parts of ``/proc`` that set something for the whole machine.

They are no part of any namespace, and the kernel lets the machine's root write to many of them without any capability:
an agent that runs as root, as in a container, would name the program that the kernel starts when another one crashes.
"""

from __future__ import annotations

import os

_FOLDER = "/proc"
_OF_PROCESSES = frozenset({"self", "thread-self", "net", "mounts"})


def settings() -> tuple[str, ...]:
    """Paths in ``/proc`` that belong to no process and could be written to, or have such below them."""
    with os.scandir(_FOLDER) as entries:
        found = [entry for entry in entries if not entry.name.isdigit() and entry.name not in _OF_PROCESSES]
    return tuple(sorted(entry.path for entry in found if entry.is_dir() or entry.stat().st_mode & 0o222))
