"""Reading a file that a command runs: bounded, and never anything but a regular file of the project."""

from __future__ import annotations

import os
import stat

from lockgate.analysis.surroundings import ScriptFile

MOST_BYTES = 64 * 1024
"""Longest script that is read. What a program has generated (``configure``) is longer."""


def read_script(path: str, workspace: str) -> ScriptFile | None:
    """The file as it is now, or ``None`` where it is none that may be looked into.

    Args:
        path: Absolute. Symbolic links are followed as far as they stay in the workspace.
        workspace: The project's root folder, absolute; empty where it is not known.
    """
    if not workspace:
        return None
    try:
        real, root = os.path.realpath(path), os.path.realpath(workspace)
        if not real.startswith(root.rstrip("/") + "/"):
            return None
        # Neither waits for a writer of a pipe nor follows a link that was put there meanwhile.
        flags = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
        descriptor = os.open(real, flags)
    except (OSError, ValueError):
        return None
    try:
        return _read(descriptor)
    except OSError:
        return None
    finally:
        os.close(descriptor)


def is_there(path: str, workspace: str) -> bool:
    """Whether something lies at an absolute path of the workspace."""
    return bool(workspace) and path.startswith(workspace.rstrip("/") + "/") and os.path.exists(path)


def _read(descriptor: int) -> ScriptFile | None:
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_size > MOST_BYTES:
        return None
    data = b""
    while len(data) <= MOST_BYTES and (chunk := os.read(descriptor, MOST_BYTES + 1 - len(data))):
        data += chunk
    if len(data) > MOST_BYTES:
        return None
    try:
        return ScriptFile(data.decode("utf-8"), found.st_ctime)
    except UnicodeDecodeError:
        return None
