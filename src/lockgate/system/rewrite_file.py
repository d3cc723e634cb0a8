"""The files in which a client keeps results that are too long for the context: rewriting one before it is read."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from lockgate.system.files import open_regular, read_open, replace

_MOST = 32 * 1024 * 1024
"""Bytes of a file that is looked at."""


def rewrite(path: str, folders: Sequence[str], change: Callable[[str], str]) -> None:
    """Read a file, and put what a function makes of it in its place at once, where that differs.

    What is not UTF-8 in it stays byte for byte. No link is followed, and nothing outside the folders is touched.

    Args:
        path: The file, as the client names it.
        folders: The folders of the client's own results; one of them must be the file's.
        change: Makes the new text of the old one.

    Raises:
        OSError: It cannot be, or is no file that the client keeps a result in.
    """
    folder, name = os.path.split(path)
    if not name or not os.path.isabs(path) or os.path.realpath(folder) not in map(_real, folders):
        raise OSError("not a file of this session's results")
    where = os.open(os.path.realpath(folder), os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        old = _read(name, where)
        new = change(old.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if new != old:
            replace(name, new, draft=f".{name}.{os.getpid()}", folder=where)
    finally:
        os.close(where)


def _real(folder: str) -> str:
    """The folder itself may not be a link: only what is above it."""
    parent, name = os.path.split(folder)
    return os.path.join(os.path.realpath(parent), name)


def _read(name: str, where: int) -> bytes:
    file = open_regular(name, follow=False, folder=where)
    try:
        # It may have other names (Claude Code 2.1.197 gives it a second): it is replaced, and they stay what they are.
        if os.fstat(file).st_uid != os.getuid():
            raise OSError("not a file of this user")
        return read_open(file, _MOST)
    finally:
        os.close(file)
