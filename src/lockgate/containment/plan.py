"""Describes a sandbox: mounts in their order, the environment and the command. Values only; a *way* builds it."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.record import Record
from lockgate.resources.globs import Names

READ_ONLY = "read-only"
WRITABLE = "writable"
EMPTY = "empty"
"""An empty folder in memory."""
SHARED = "shared"
"""An empty folder in memory in which everybody may make files, as in ``/tmp``."""
QUEUES = "queues"
"""The sandbox's own POSIX message queues, by mq_overview(7)."""
DEVICES = "devices"
"""The devices that every program may use: null, zero, random, tty, shm."""
PROCESSES = "processes"
"""``/proc`` of the sandbox's own processes."""


class Mount(Record):
    """One mount."""

    kind: str
    target: str
    """Absolute, with links resolved."""
    source: str = ""
    """What is seen there; empty for the kinds that have none."""


class Plan(Record):
    """A sandbox, and what runs in it."""

    mounts: tuple[Mount, ...]
    """In order: a later one covers an earlier one."""
    cwd: str
    environment: Mapping[str, str]
    command: tuple[str, ...]
    places: tuple[Names, ...] = ()
    """Patterns of places, looked for in any folder, at which nothing may be made: mounts cannot say that, rules can."""

    @property
    def writable(self) -> tuple[str, ...]:
        """What the command may write to; read-only mounts below take away from it."""
        return tuple(dict.fromkeys(mount.target for mount in self.mounts if mount.kind != READ_ONLY))
