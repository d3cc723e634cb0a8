"""A project whose files are a table."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from lockgate.resources.host_view import HostView, ScriptFile

PROJECT = "/work/project"
CHANGED = 1_000.0
"""When all files were last changed, in seconds since the epoch."""


def host_view(files: Mapping[str, str], there: Iterable[str] = ()) -> HostView:
    """A machine on which the project holds these files, named from its root, and others that nobody reads."""
    held = {f"{PROJECT}/{name}": ScriptFile(text, CHANGED) for name, text in files.items()}
    paths = {*held, *(f"{PROJECT}/{name}" for name in there)}
    return HostView(home="/home/user", workspace=PROJECT, read_script=held.get, is_there=paths.__contains__)
