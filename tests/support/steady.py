"""The package as it was when a process of the tests first asked for it.

A resident gate ends when its code changes, and a server imports some of its code only when it is asked for it. The
package under test is a folder that somebody may be working in, so gates and servers that must go on run from a copy of
it, and so do the hooks that ask them.
"""

from __future__ import annotations

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

import lockgate


@functools.cache
def package() -> Path:
    """The copy. It is gone with this process."""
    root = Path(tempfile.mkdtemp(prefix="lockgate-tests-package-"))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    copied = root / "lockgate"
    # With its times, by which compiled modules and compiled patterns are known to be its own.
    shutil.copytree(Path(lockgate.__file__).parent, copied)
    return copied


def path(*more: Path) -> str:
    """A ``PYTHONPATH`` with which ``python -m lockgate`` is the copy."""
    return os.pathsep.join(map(str, (package().parent, *more)))


def hook() -> str:
    """The hook's file."""
    return os.fspath(package() / "hook.py")


def gate() -> str:
    """The file of the resident gate's process."""
    return os.fspath(package() / "service" / "resident" / "process.py")
