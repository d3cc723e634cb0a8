"""Checks whether code and state on the disk are still those of the running gate. If not, the gate makes room."""

from __future__ import annotations

import os
import sys

from lockgate.core.version import PACKAGE_FOLDER
from lockgate.store.files import DATABASE, ELSEWHERE, KEY

_PACKAGE = PACKAGE_FOLDER
_COARSE_NS = 20_000_000
"""How far the clock of file times may be from the other one."""


class LoadedCode:
    """The files that this process runs, as they were when it loaded them."""

    def __init__(self, began_ns: int | None = None) -> None:
        """Look at what is loaded so far. What is loaded later is looked at when it is first seen.

        Args:
            began_ns: When this process began, in nanoseconds since the epoch. A file that was put there after that may
                be newer than what was loaded before it.
        """
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._modules = 0
        self._latest = None if began_ns is None else began_ns + _COARSE_NS
        self._is_mixed = False
        self.has_changed()

    def has_changed(self) -> bool:
        """Whether a file was replaced, changed or removed since it was first looked at."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            for module in list(sys.modules.values()):
                path = getattr(module, "__file__", None)
                if path and path.startswith(_PACKAGE) and path not in self._seen:
                    self._seen[path] = _facts(path)
                    self._is_mixed = self._is_mixed or self._is_late(path)
        return self._is_mixed or any(_facts(path) != facts for path, facts in self._seen.items())

    def _is_late(self, path: str) -> bool:
        try:
            return self._latest is not None and os.stat(path).st_ctime_ns > self._latest
        except OSError:
            return True


class StoreIdentity:
    """Identifies the store of a state folder.

    A process that has it open goes on writing into a database that was removed, or put elsewhere, and nobody would ever
    read that.
    """

    def __init__(self, state: str) -> None:
        """Look at it; the store must be open already."""
        self._database = os.path.join(state, DATABASE)
        self._others = os.path.join(state, KEY), os.path.join(state, ELSEWHERE)
        self._seen = self._look()

    def has_changed(self) -> bool:
        """Whether a hook that opens the store now would get another one."""
        return self._look() != self._seen

    def _look(self) -> tuple[object, ...]:
        # A database that is written to changes its size and times, and stays the same.
        return (_facts(self._database)[0], *map(_facts, self._others))


def _facts(path: str) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns
