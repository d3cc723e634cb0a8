"""The copies of the database that upgrades keep, and which of them this version can use."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress

from lockgate.core.errors import StoreError
from lockgate.core.record import Record
from lockgate.store.files import DATABASE, VERSION


class DatabaseCopy(Record):
    """A copy of the database."""

    path: str
    schema: int
    """The version of its tables; 0 where it is no database that can be read."""
    made_at: float

    @property
    def fits(self) -> bool:
        """Whether this version can use it."""
        return 0 < self.schema <= VERSION

    @property
    def is_of_before(self) -> bool:
        """Whether an upgrade made it, which names it after its tables. A restore names by the time."""
        return self.path.endswith(f"{DATABASE}.{self.schema}")


def copies(folder: str) -> list[DatabaseCopy]:
    """The copies in a state folder, the newest first."""
    names: list[str] = []
    with suppress(OSError):
        names = os.listdir(folder)
    found = []
    for name in names:
        if name.startswith(f"{DATABASE}.") and name.rpartition(".")[2].isdigit():
            with suppress(StoreError):  # what cannot be read is no copy
                found.append(look(os.path.join(folder, name)))
    return sorted(found, key=lambda copy: copy.made_at, reverse=True)


def look(path: str) -> DatabaseCopy:
    """What a file that may be a copy is."""
    try:
        with open(path, "rb") as file:
            head = file.read(100)
            made_at = os.fstat(file.fileno()).st_mtime
    except OSError as error:
        raise StoreError(f"cannot read {path}: {error.strerror}") from error
    # https://www.sqlite.org/fileformat.html#the_database_header: the text, and PRAGMA user_version at 60.
    is_one = len(head) == 100 and head.startswith(b"SQLite format 3\0")
    return DatabaseCopy(path, int.from_bytes(head[60:64], "big") if is_one else 0, made_at)


def of_this_version(path: str, folder: str) -> DatabaseCopy:
    """What a copy is that a person wants to go back to.

    Args:
        path: The copy.
        folder: The state folder, whose own copies are named where this is none.

    Raises:
        StoreError: It cannot be read, or this version cannot use it.
    """
    others = ", ".join(copy.path for copy in copies(folder) if copy.fits)
    has = f"; this version can use: {others}" if others else f"; {folder} has none that this version can use"
    try:
        found = look(path)
    except StoreError as error:
        raise StoreError(f"{error}{has}") from error
    if not found.fits:
        said = f"schema {found.schema}; this one has {VERSION}"
        raise StoreError(f"{path} is no copy that this version can use ({said}){has}")
    return found


def way_back(path: str) -> str:
    """What a person can do where a database is newer than this program."""
    command = make_restoring_command(os.path.dirname(path))
    if not command:
        return "upgrade this one, and run lockgate install again"
    return f"upgrade this one; or go back to the state of before the upgrade: {command}"


def make_restoring_command(folder: str) -> str:
    """The command that puts back the newest copy of before an upgrade; empty where this version can use none."""
    fitting = next((copy for copy in copies(folder) if copy.fits and copy.is_of_before), None)
    return f"lockgate store restore {shlex.quote(fitting.path)}" if fitting else ""
