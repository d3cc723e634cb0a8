"""Finds, reads and replaces files where somebody else may have put something in their place.

A path that an agent can write may be a named pipe, a device, a link or an endless file when it is opened. Nothing here
waits for a writer, reads anything but a regular file, or reads more than it is told.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Callable, Sequence

# Without O_NONBLOCK, opening a named pipe would wait for a writer that never comes.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_ONLY_PATH = getattr(os, "O_PATH", 0)
_LONGEST_RESULT = 32 * 1024 * 1024
"""Bytes of a result's file that is looked at."""
_GONE = " (deleted)"
"""How a name in ``/proc/self/fd`` ends where the file has been removed since (proc(5))."""


def open_regular(path: str, *, follow: bool = True, folder: int | None = None) -> int:
    """Open a regular file to read it; gives a descriptor, which the caller closes.

    Args:
        path: The file.
        follow: Whether the last part of the path may be a link.
        folder: A descriptor of the folder that a relative path is in.

    Raises:
        OSError: There is none, it is something else, or it cannot be read; ``strerror`` says why.
        ValueError: The path cannot be one.
    """
    descriptor = os.open(path, _READ if follow else _READ | os.O_NOFOLLOW, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file")
    return descriptor


def read_open(descriptor: int, most: int) -> bytes:
    """Everything in an open file, from where it is.

    Raises:
        OSError: It has more than ``most`` bytes, or cannot be read.
    """
    parts = []
    left = most + 1
    while left > 0 and (part := os.read(descriptor, left)):
        parts.append(part)
        left -= len(part)
    if left <= 0:
        raise OSError(errno.EFBIG, f"the file is larger than {most} bytes")
    return b"".join(parts)


def read_regular(path: str, most: int, *, follow: bool = True) -> bytes:
    """The content of a regular file of at most ``most`` bytes.

    Raises:
        OSError: As for :func:`open_regular` and :func:`read_open`.
        ValueError: The path cannot be one.
    """
    descriptor = open_regular(path, follow=follow)
    try:
        return read_open(descriptor, most)
    finally:
        os.close(descriptor)


def replace(
    path: str,
    data: bytes,
    *,
    draft: str,
    folder: int | None = None,
    at: float | None = None,
    mode: int = 0o600,
    sync: bool = False,
    in_place: bool = False,
) -> None:
    """Put a file in its place at once: others see the old one or the new one, and never a part.

    Args:
        path: The file. What is there is replaced; a link is, and not where it leads.
        data: Its content.
        draft: The name under which it is written first, in the same folder; no file may have it.
        folder: A descriptor of the folder that relative paths are in.
        at: When it shall have been written last, in seconds since the epoch; now where it is not said.
        mode: Its rights.
        sync: Whether it is on the disk before it has its name, so that it is whole even after the power fails.
        in_place: Whether a file that is as long is written over, which takes far less time. Who reads it at that very
            moment may see a part. Who is killed leaves none, if it is one page at most: the kernel takes that whole.

    Raises:
        OSError: It cannot be; the draft is gone then.
    """
    if in_place and _overwrite(path, data, folder, mode):
        return
    descriptor = os.open(draft, _DRAFT, 0o600, dir_fd=folder)
    try:
        with open(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)  # the umask may have taken rights away
            file.write(data)
            if sync:
                file.flush()
                to_disk(descriptor)
        if at is not None:
            os.utime(draft, (at, at), dir_fd=folder)
        os.replace(draft, path, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(draft, dir_fd=folder)
        raise


def _overwrite(path: str, data: bytes, folder: int | None, mode: int) -> bool:
    """Write over a file, where it is this user's own alone and as long."""
    try:
        flags = os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(path, flags, dir_fd=folder)
    except OSError:
        return False
    try:
        found = os.fstat(descriptor)
        here = (found.st_mode, found.st_uid, found.st_nlink, found.st_size)
        if here != (stat.S_IFREG | mode, os.geteuid(), 1, len(data)):
            return False
        return os.pwrite(descriptor, data, 0) == len(data)
    finally:
        os.close(descriptor)


def is_locked(path: str) -> bool:
    """Whether a process holds a file's lock (flock(2)); one that ends leaves it.

    Raises:
        OSError: The file cannot be opened.
    """
    import fcntl

    descriptor = os.open(path, _READ | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False


def to_disk(descriptor: int) -> None:
    """Flush what was written to a file, so that it outlasts a power failure.

    macOS leaves it in the disk's own cache, unless it is told otherwise (fsync(2) there); some file systems cannot.

    Raises:
        OSError: The disk cannot take it.
    """
    if sys.platform == "darwin":
        import fcntl
        from contextlib import suppress

        with suppress(OSError):
            fcntl.fcntl(descriptor, fcntl.F_FULLFSYNC)
            return
    os.fsync(descriptor)


def real_path(path: str) -> str:
    """Where an absolute path leads, as :func:`os.path.realpath` tells: quickly, where there is something.

    The kernel resolves it as a whole: a file that is opened for its path only (``O_PATH``, Linux: open(2)) is not read,
    and its name in ``/proc/self/fd`` is where it is.

    Raises:
        ValueError: It holds a character that no path can hold.
    """
    return (_resolve_by_kernel(path) if _ONLY_PATH else "") or os.path.realpath(path)


def _resolve_by_kernel(path: str) -> str:
    try:
        return _open_at(path)
    except FileNotFoundError:
        return _resolve_missing(path)
    except OSError:
        return ""


def _open_at(path: str, flags: int = 0) -> str:
    file = os.open(path, _ONLY_PATH | os.O_CLOEXEC | flags)
    try:
        found = os.readlink(f"/proc/self/fd/{file}")
    finally:
        os.close(file)
    # What is no path is no file of a folder: a pipe, or a file out of reach of this process's root.
    return found if found.startswith("/") and not found.endswith(_GONE) else ""


def _resolve_missing(path: str) -> str:
    """What may be made: it will be below the nearest folder that there is. A link to nothing leads elsewhere."""
    folder, missing = path, ""
    while folder.startswith("/") and not os.path.lexists(folder):
        above, _, name = folder.rpartition("/")
        if not name or name in {".", ".."}:
            return ""
        folder, missing = above or "/", f"/{name}{missing}"
    try:
        found = missing and _open_at(folder, os.O_DIRECTORY)
    except OSError:
        return ""
    return found and f"{found.rstrip('/')}{missing}"


# ---------------------------------------------------------------- results that a client keeps in files
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
        old = _own_file(name, where)
        new = change(old.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if new != old:
            replace(name, new, draft=f".{name}.{os.getpid()}", folder=where)
    finally:
        os.close(where)


def _real(folder: str) -> str:
    """The folder itself may not be a link: only what is above it."""
    parent, name = os.path.split(folder)
    return os.path.join(os.path.realpath(parent), name)


def _own_file(name: str, where: int) -> bytes:
    file = open_regular(name, follow=False, folder=where)
    try:
        # It may have other names (Claude Code 2.1.197 gives it a second): it is replaced, and they stay what they are.
        if os.fstat(file).st_uid != os.getuid():
            raise OSError("not a file of this user")
        return read_open(file, _LONGEST_RESULT)
    finally:
        os.close(file)
