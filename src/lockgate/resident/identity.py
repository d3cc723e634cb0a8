"""Whether the code on the disk is still the code that runs: after an upgrade a gate makes room for the new one."""

from __future__ import annotations

import os
import sys

import lockgate

_PACKAGE = os.path.dirname(os.path.abspath(lockgate.__file__))


class Code:
    """The files that this process runs, as they were when it loaded them."""

    def __init__(self) -> None:
        """Look at what is loaded so far. What is loaded later is looked at when it is first seen."""
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._modules = 0
        self.changed()

    def changed(self) -> bool:
        """Whether a file was replaced, changed or removed since it was first looked at."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            for module in list(sys.modules.values()):
                path = getattr(module, "__file__", None)
                if path and path.startswith(_PACKAGE) and path not in self._seen:
                    self._seen[path] = _facts(path)
        return any(_facts(path) != facts for path, facts in self._seen.items())


def _facts(path: str) -> tuple[int, int, int]:
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns
