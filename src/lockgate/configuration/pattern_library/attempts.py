"""Notes in the lock's file what the last attempt to compile the pattern library came to.

A hook has another process compile it, and hears nothing of that one. Each hook would begin it anew, and say that the
library is being compiled, for ever. A note has one length: it is written in its own place where a disk is full.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from lockgate.core.errors import LockgateError, PatternError
from lockgate.core.record import Record
from lockgate.store.probe import describe_unwritable
from lockgate.system.digests import json_object
from lockgate.system.error_log import describe
from lockgate.system.files import is_locked, read_regular

LOCK = "lock"
"""The file of the lock, in the folder of the artefacts."""
AGAIN = 10.0
"""Seconds after which what has failed is tried again: somebody may have mended it."""
_BYTES = 4096
_TEXT = 300
_ENDED = "the process that compiles it was ended before it was done: there may be too little memory"


class Attempt(Record):
    """An attempt, by whichever process."""

    build: str
    """The build that it was for: what one lacks, another one need not."""
    at: float
    """When it failed; when it began, where its process was ended."""
    why: str
    """Why it failed; empty where it did not."""

    @property
    def error(self) -> PatternError:
        """What a person is told."""
        return PatternError(f"the pattern library cannot be compiled: {self.why}")


def begin_attempt(folder: str, lock: int, build: str) -> None:
    """Note that an attempt begins. What ends in another way than it notes was ended.

    Args:
        folder: The folder of the artefacts.
        lock: The descriptor of the lock, which is held.
        build: The build that it is for.

    Raises:
        PatternError: There is no room even for that.
    """
    try:
        _write(lock, Attempt(build, time.time(), _ENDED))
    except OSError as error:
        raise Attempt(build, 0.0, describe_unwritable(folder, error)).error from error


@contextmanager
def note_end(lock: int, build: str) -> Iterator[None]:
    """Note how an attempt ends. Where that cannot be written, the note of its beginning says that it did not.

    Args:
        lock: The descriptor of the lock, which is held.
        build: The build that it is for.
    """
    why = ""
    try:
        yield
    except Exception as error:
        why = str(error) if isinstance(error, LockgateError) else describe(error)
        raise
    finally:
        with suppress(OSError):
            _write(lock, Attempt(build, time.time(), why[:_TEXT]))


def read_failure(folder: str, build: str) -> Attempt | None:
    """The last attempt, where it was for this build and has failed."""
    try:
        said = json_object(read_regular(os.path.join(folder, LOCK), _BYTES, follow=False)) or {}
    except OSError:
        return None
    at, why = said.get("at"), said.get("why")
    if said.get("build") != build or not isinstance(at, float) or not isinstance(why, str) or not why:
        return None
    return Attempt(build, at, why)


def is_going_on(folder: str) -> bool:
    """Whether a process compiles now, for any build."""
    try:
        return is_locked(os.path.join(folder, LOCK))
    except OSError:
        return False


def _write(lock: int, attempt: Attempt) -> None:
    os.pwrite(lock, json.dumps(attempt._asdict()).encode().ljust(_BYTES), 0)
