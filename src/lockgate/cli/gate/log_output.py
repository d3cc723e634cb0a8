"""Reads the log of the state folder, also while it is written and rotated."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Generator
from typing import BinaryIO

from lockgate.system.error_log import NAME
from lockgate.system.files import open_regular

_PAUSE = 0.25


def last_lines(state: str, number: int) -> list[str]:
    """The last lines, oldest first, of the log and of the one before it.

    Args:
        state: The state folder.
        number: How many.

    Raises:
        OSError: A file cannot be read.
    """
    kept: deque[str] = deque(maxlen=number)
    for name in (f"{NAME}.1", NAME):
        file = _open(os.path.join(state, name))
        if file is not None:
            with file:
                kept.extend(_text(line) for line in file)
    return list(kept)


def follow_lines(state: str) -> Generator[str, None, None]:
    """The lines that are written from now on. Never ends.

    Args:
        state: The state folder.

    Raises:
        OSError: The log cannot be read.
    """
    path = os.path.join(state, NAME)
    file = _open(path)
    if file is not None:
        file.seek(0, os.SEEK_END)
    rest = b""
    try:
        while True:
            # Looked at before the rest is read: what is written between the two would be lost with the old file.
            replaced = file is not None and not is_at(path, file)
            for line in file or ():
                rest += line
                if rest.endswith(b"\n"):
                    yield _text(rest)
                    rest = b""
            if file is not None and replaced:
                file.close()
                file = None
            file = file or _open(path)
            time.sleep(_PAUSE)
    finally:
        if file is not None:
            file.close()


def _open(path: str) -> BinaryIO | None:
    try:
        return os.fdopen(open_regular(path, follow=False), "rb")
    except FileNotFoundError:
        return None


def is_at(path: str, file: BinaryIO) -> bool:
    """Whether the file still has its name: a full log is renamed."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    return found.st_ino == os.fstat(file.fileno()).st_ino


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip("\n")
