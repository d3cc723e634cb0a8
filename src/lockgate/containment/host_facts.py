"""What a host can do to contain a command."""

from __future__ import annotations

from lockgate.core.record import Record


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
    """The launcher that may do so, absolute, where only that one may; empty for the one of this package."""
