"""The state folder, its rights, and the installation's key."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable

from lockgate.core.errors import StoreError
from lockgate.system.files import to_disk

DATABASE = "lockgate.db"
VERSION = 10
"""The version of the database's tables that this release reads and writes."""
KEY = "key"
ELSEWHERE = "store.json"
"""The file of a state folder that names a shared database. Without it the store is SQLite."""
KEY_BYTES = 32
PUT_BACK = "rollback:open"
"""The setting that says why the state is not taken for the one that was there before, until a person has looked."""
PUT_BACK_SINCE = "rollback:since"
"""The setting that says when that last was so. A session that is not known may then have had any label."""
PUT_BACK_SEEN = "rollback:seen"
"""The setting that says since which record seals of labels hold, where a person has looked at why."""
COPIED = "upgrade:copy"
"""The setting that names the copy of a database that was made before it was brought to this version."""
CHANGED = "the state, which something else than Lockgate has changed or put back: see `lockgate audit verify`"
"""What stands as the source of a label that is sealed, and has no taint."""


class Sets:
    """How settings begin that hold somebody back, so that none may be missing."""

    FILE_LABELS = "file-label:"
    KEPT_FILES = "kept-file:"
    CANARIES = "canary:"
    PACKAGES = "packages:"
    ACTS = "acts-of-labelled"
    IN_HEAD = (FILE_LABELS, KEPT_FILES, CANARIES, PACKAGES, ACTS)
    """Those that the head of the audit binds, in that order."""
    PASSAGES = "stranger-passages:"
    """What a session has read of strangers. It is long, and bound with its session."""
    LOST = CHANGED
    """What stands as the source of what a file holds, where something else has changed which files hold anything."""


def own_folder(folder: str, *, create: bool) -> bool:
    """Make sure that the folder is ours alone; whether it is there.

    Raises:
        StoreError: It is a symbolic link, no folder, another user's, or writable by others.
    """
    try:
        found = os.lstat(folder)
    except FileNotFoundError:
        if not create:
            return False
        _make_folder(folder)
        found = os.lstat(folder)
    except OSError as error:
        says = f"cannot look at the state folder {folder} ({error.strerror})"
        raise StoreError(f"{says}: run this as the user whose it is") from error
    if stat.S_ISLNK(found.st_mode):
        raise StoreError(f"the state folder {folder} is a symbolic link: replace it with a folder of your own")
    if not stat.S_ISDIR(found.st_mode):
        raise StoreError(f"the state folder {folder} is not a folder: move it away")
    if found.st_uid != os.geteuid():
        raise StoreError(f"the state folder {folder} {_another(found.st_uid)}")
    if found.st_mode & 0o022:
        says = f"others can write to the state folder {folder}: look at what is in it"
        raise StoreError(f"{says}, then run: chmod 700 {_quote(folder)}")
    if found.st_mode & 0o055:
        _tighten(folder, 0o700)
    return True


def begin_anew(folder: str) -> str:
    """What a person does where nothing is left of a state. It is kept: somebody may find out what happened to it."""
    aside, number = f"{folder}.aside", 1
    while os.path.lexists(aside):  # `mv` would put it inside of that
        aside, number = f"{folder}.aside{number}", number + 1
    return f"begin anew: mv {_quote(folder)} {_quote(aside)}"


def _quote(path: str) -> str:
    from shlex import quote

    return quote(path)


def own_file(path: str) -> bool:
    """Make sure that a file is ours alone, mode 0600; whether it is there."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise StoreError(f"cannot look at {path}: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{path} is not a regular file: move it away")
    if found.st_uid != os.geteuid():
        raise StoreError(f"{path} {_another(found.st_uid)}")
    if found.st_mode & 0o077:
        _tighten(path, 0o600)
    return True


def read_key(folder: str) -> bytes:
    """The installation's key; made where there is none.

    Two first processes agree: each writes its own file and links it to the name, which only one can.
    """
    path = os.path.join(folder, KEY)
    if not own_file(path):
        if own_file(os.path.join(folder, DATABASE)):
            raise StoreError(f"{path} is missing: put it back, or {begin_anew(folder)}")
        publish(path, lambda draft: _write(draft, os.urandom(KEY_BYTES)))
    try:
        with open(path, "rb") as file:
            key = file.read(KEY_BYTES + 1)
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    if len(key) != KEY_BYTES:
        raise StoreError(f"{path} is damaged: put it back, or {begin_anew(folder)}")
    return key


def publish(path: str, make: Callable[[str], None]) -> None:
    """Make a file whole under another name and give it its own name at once; one already there stays.

    Args:
        path: The file's name.
        make: Writes the file with the name it is given; that file is there already, empty, mode 0600.
    """
    from contextlib import suppress

    draft = f"{path}.{os.getpid()}.{os.urandom(6).hex()}"
    try:
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        try:
            os.fchmod(handle, 0o600)  # the umask may have taken rights away
        finally:
            os.close(handle)
        make(draft)
        _sync(draft)
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        _sync(os.path.dirname(path))
    except OSError as error:
        raise StoreError(f"cannot create {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            os.unlink(draft)


def _make_folder(folder: str) -> None:
    from lockgate.system.ownership import make_folders

    try:
        make_folders(folder)
    except FileExistsError:
        pass  # it is something else; that is looked at next
    except OSError as error:
        raise StoreError(f"cannot create the state folder {folder}: {error.strerror}") from error


def _another(user: int) -> str:
    """What to say of a place that is another user's: nothing in it is to be removed."""
    from lockgate.system.ownership import user_name

    owner = user_name(user)
    return f"belongs to user {owner}, and you are {user_name(os.geteuid())}: run this as {owner}, without sudo"


def _tighten(path: str, mode: int) -> None:
    try:
        os.chmod(path, mode)
    except OSError as error:
        raise StoreError(f"cannot take others' rights to {path} away: {error.strerror}") from error


def _write(path: str, content: bytes) -> None:
    with open(path, "wb") as file:
        file.write(content)


def _sync(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        to_disk(handle)
    finally:
        os.close(handle)
