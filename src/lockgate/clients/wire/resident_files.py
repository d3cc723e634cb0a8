"""The files of the resident gate below the state folder.

They are not in ``XDG_RUNTIME_DIR``: a hook must find them without asking the environment, which a project can set. What
protects the state folder from agents and sandboxes protects them too.
"""

from __future__ import annotations

import os
import stat

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from _socket import socket as Socket  # noqa: N812 - the name of the class that it is

RUN = "run"
SOCKET = "gate.sock"
LOCK = "gate.lock"
"""Locked (``flock``) by the gate that listens."""
_LONGEST_CODE = 8192
"""Bytes."""
_PAUSE = 0.02
"""Seconds between two looks at a gate that begins or ends."""
_NOT_YET = FileNotFoundError, ConnectionRefusedError, BlockingIOError
"""There is no socket; that of one that was killed; or one that has more hooks waiting than the system allows."""


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


def code_told(state: str) -> str:
    """Which code the gate is that has the lock; empty for one that did not say it."""
    try:
        handle = os.open(os.path.join(run_folder(state), LOCK), os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return ""
    try:
        return os.fsdecode(os.read(handle, _LONGEST_CODE))
    finally:
        os.close(handle)


def is_held(state: str) -> bool:
    """Whether a gate listens here, or is about to."""
    from lockgate.system.files import is_locked

    try:
        return is_locked(os.path.join(run_folder(state), LOCK))
    except OSError:
        return False


def wait_until_gone(state: str, until: float) -> bool:
    """Wait for the end of the gate of a state folder. Returns whether it came in time.

    Args:
        state: The folder.
        until: When to give up, by the monotonic clock.
    """
    import time

    while is_held(state):
        if time.monotonic() > until:
            return False
        time.sleep(_PAUSE)
    return True


def connect(state: str, until: float, locked_by: float = 0.0) -> tuple[Socket, bool]:
    """Connect to the gate. One that has just begun has its lock, and no socket yet: it is waited for.

    Args:
        state: The state folder.
        until: When to give up, by the monotonic clock.
        locked_by: Until when one that was just started need not even have its lock.

    Returns:
        The connection, which waits until then at most, and whether there was one at the first try.

    Raises:
        OSError: None listens.
    """
    import time
    from _socket import AF_UNIX, SOCK_STREAM, socket

    from lockgate.system.unix_sockets import short_path

    at_once = True
    while True:
        connection = socket(AF_UNIX, SOCK_STREAM)
        try:
            connection.settimeout(max(until - time.monotonic(), _PAUSE))
            with short_path(run_folder(state), SOCKET) as path:
                connection.connect(path)
        except BaseException as error:
            connection.close()
            now = time.monotonic()
            if not isinstance(error, _NOT_YET) or now >= until or (now >= locked_by and not is_held(state)):
                raise
        else:
            return connection, at_once
        at_once = False
        time.sleep(_PAUSE)
