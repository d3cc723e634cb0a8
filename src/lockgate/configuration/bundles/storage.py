"""Stores what this machine has accepted. One process writes at a time.

Bundles are written first, under the hash of their payload; ``accepted.json`` is put in its place at once and last. So a
process that is killed leaves the old one or the new one in force, and nothing between.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress

from lockgate.configuration.bundles.accepted import BUNDLE, FILE, FORMAT, Accepted, bundle_folder
from lockgate.store.files import own_folder
from lockgate.system.files import replace

_LOCK, _DRAFT = "lock", ".draft"
_WAIT = 0.01


def write(state: str, accepted: Accepted, envelopes: Mapping[str, bytes]) -> None:
    """Keep it, and bundles by the hash of their payload first. Called under the lock.

    Raises:
        OSError: It cannot be written; what was kept before still is.
    """
    folder = bundle_folder(state)
    _sweep(folder)
    before = set(_bundles(folder))
    for digest, data in envelopes.items():
        put(os.path.join(folder, digest + BUNDLE), data)
    value = {
        "format": FORMAT,
        "current": accepted.current._asdict() if accepted.current else None,
        "highest": accepted.highest,
        "looked": accepted.looked,
        "clock": accepted.clock,
    }
    put(os.path.join(folder, FILE), json.dumps(value, indent=1).encode())
    if envelopes and accepted.current is not None:
        # Who has just read the old record may still read its bundle; the one before it nobody needs.
        keep = {accepted.current.digest, *list(envelopes)}
        for digest in sorted(before - keep, key=lambda digest: _age(folder, digest))[:-1]:
            with suppress(OSError):
                os.unlink(os.path.join(folder, digest + BUNDLE))


@contextmanager
def hold_lock(state: str, seconds: float) -> Iterator[bool]:
    """Keep other writers out while in here; gives whether that could be done within so many seconds.

    Raises:
        OSError: The lock cannot be opened.
        StoreError: The folder is not this user's own.
    """
    own_folder(state, create=True)
    folder = bundle_folder(state)
    own_folder(folder, create=True)
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(os.path.join(folder, _LOCK), flags, 0o600)
    try:
        yield _lock(descriptor, time.monotonic() + seconds)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, until: float) -> bool:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(_WAIT)
        else:
            return True


def put(path: str, data: bytes) -> None:
    """Put a file in its place so that it is whole even after the power fails. Called under the lock.

    Raises:
        OSError: It cannot be written; what was there before still is.
    """
    replace(path, data, draft=f"{path}.{os.getpid()}{_DRAFT}", sync=True)


def _sweep(folder: str) -> None:
    """Remove what processes left behind that were killed. Under the lock nobody else is writing."""
    for name in os.listdir(folder):
        if name.endswith(_DRAFT):
            with suppress(OSError):
                os.unlink(os.path.join(folder, name))


def _bundles(folder: str) -> list[str]:
    return [name.removesuffix(BUNDLE) for name in os.listdir(folder) if name.endswith(BUNDLE)]


def _age(folder: str, digest: str) -> float:
    try:
        return os.stat(os.path.join(folder, digest + BUNDLE)).st_mtime
    except OSError:
        return 0.0
