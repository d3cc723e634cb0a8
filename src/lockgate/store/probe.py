"""Whether a state can be kept in a folder: its file system needs locks, links and room."""

from __future__ import annotations

import errno
import os
from contextlib import suppress

_NO_LOCKS = (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL)
_ELSEWHERE = "set XDG_STATE_HOME to a folder on a disk of this machine, and run lockgate install again"


def problem_of(folder: str) -> str:
    """Why the store cannot be kept in a folder, and what to do; empty where nothing is known.

    Args:
        folder: One that is there.
    """
    import fcntl

    name = os.path.join(folder, f".probe.{os.urandom(6).hex()}")
    try:
        file = os.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError as error:
        return describe_unwritable(folder, error)
    try:
        for lock in (fcntl.lockf, fcntl.flock):
            lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.link(name, f"{name}.link")
        os.unlink(f"{name}.link")
    except OSError as error:
        if error.errno in _NO_LOCKS or isinstance(error, BlockingIOError):
            return f"the file system of {folder} has no locks ({error.strerror}): {_ELSEWHERE}"
        return f"the file system of {folder} has no links ({error.strerror}): {_ELSEWHERE}"
    finally:
        os.close(file)
        with suppress(OSError):
            os.unlink(name)
    return ""


def describe_unwritable(folder: str, error: OSError) -> str:
    """Why nothing can be written in a folder, and what to do."""
    if error.errno == errno.EROFS:
        return f"the file system of {folder} is mounted read-only: mount it for writing, or {_ELSEWHERE}"
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"there is no room in {folder}: free some space on that disk"
    return f"nothing can be written in {folder} ({error.strerror}): give yourself the right to write there"
