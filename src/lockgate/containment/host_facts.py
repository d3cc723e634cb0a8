"""Holds what a host can do to contain a command."""

from __future__ import annotations

from lockgate.core.record import Record

SYSTEM_LAUNCHER = "/usr/local/libexec/lockgate/lockgate-contain"
"""A copy of the native launcher that the system's administrator made. AppArmor's profile names it."""


class Host(Record):
    """What a host can do."""

    way: str = ""
    """``bubblewrap``, ``namespaces`` or ``sandbox-exec``; empty where nothing works."""
    program: str = ""
    """The program that builds the sandbox, absolute; empty where none is needed."""
    problem: str = ""
    """Why nothing works, for a person; empty where something does."""
    launcher: str = ""
    """The way in which the native launcher builds a sandbox here; empty where there is no launcher that runs."""
    launched_by: str = ""
    """That launcher, absolute: the one of this package, or the administrator's copy where only that one may."""
