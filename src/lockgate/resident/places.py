"""The resident gate's files, below the state folder.

They are not in ``XDG_RUNTIME_DIR``: a hook must find them without asking the environment, which a project can set, and
what protects the state folder from agents and sandboxes protects them too.
"""

from __future__ import annotations

import os
import stat

from lockgate.errors import StoreError

RUN = "run"
SOCKET = "gate.sock"
LOCK = "gate.lock"
"""Locked (``flock``) by the gate that listens."""


def run_folder(state: str) -> str:
    """The folder of these files."""
    return os.path.join(state, RUN)


def make_run_folder(state: str) -> str:
    """Make sure that the folder is there, and this user's alone.

    Raises:
        StoreError: It is not, and cannot be made so.
    """
    from lockgate.store.files import own_folder

    own_folder(state, create=True)
    folder = run_folder(state)
    own_folder(folder, create=True)
    if stat.S_IMODE(os.lstat(folder).st_mode) & 0o077:
        raise StoreError(f"others can look into {folder}: chmod 700 it")
    return folder


def locked(state: str) -> bool:
    """Whether a gate listens here, or is about to."""
    import fcntl

    try:
        handle = os.open(os.path.join(run_folder(state), LOCK), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
