"""Shortens paths of Unix sockets, which a system bounds far below those of files."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST = 100
"""Most bytes of a socket's path: ``sun_path`` holds 108 on Linux and 104 on macOS, with a zero at the end."""


@contextmanager
def short_path(folder: str, file: str) -> Iterator[str]:
    """A path to a file of a folder that is short enough for a socket, as long as the context lasts.

    The working folder is left alone: other threads have it too.
    """
    path = os.path.join(folder, file)
    if len(os.fsencode(path)) <= LONGEST:
        yield path
        return
    if os.path.isdir("/proc/self/fd"):
        opened = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield f"/proc/self/fd/{opened}/{file}"
        finally:
            os.close(opened)
        return
    import tempfile

    with tempfile.TemporaryDirectory(prefix="lg") as short:
        link = os.path.join(short, "s")
        os.symlink(folder, link)
        try:
            yield os.path.join(link, file)
        finally:
            os.unlink(link)
