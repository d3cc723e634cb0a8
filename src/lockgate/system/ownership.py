"""Checks who owns a path: files written with another user's rights are lost to them, or lock them out.

``sudo -E`` runs a program as root in somebody else's home folder. What it makes there is root's; their hooks can then
not write, and block every call.
"""

from __future__ import annotations

import os


def user_name(user: int) -> str:
    """A user's name, for a person; the number where the system knows none."""
    import pwd

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return str(user)


def problem_of(path: str) -> str:
    """Why this process must make nothing at a path; empty where it may.

    Args:
        path: Absolute. Where nothing is there, it is the nearest folder above it that counts.
    """
    place, owner = _nearest_existing(path)
    if owner in (os.geteuid(), 0):
        return ""
    whose = user_name(owner)
    return f"{place} belongs to user {whose}, and you are {user_name(os.geteuid())}: run this as {whose}, without sudo"


def make_folders(path: str, mode: int = 0o700) -> None:
    """Make a folder and those above it that are missing, with these rights whatever the umask is.

    Args:
        path: Absolute.
        mode: The rights.

    Raises:
        OSError: It cannot be made, or the place is another user's.
    """
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path)
    if missing and (problem := problem_of(path)):
        raise PermissionError(1, problem)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, mode)
            os.chmod(folder, mode)
        except FileExistsError:
            if not os.path.isdir(folder):  # another process was faster
                raise


def _nearest_existing(path: str) -> tuple[str, int]:
    """The nearest place of a path that is there, and its owner."""
    path = os.path.realpath(path)
    while True:
        try:
            return path, os.stat(path).st_uid
        except OSError:
            above = os.path.dirname(path)
            if above == path:
                return path, 0
            path = above
