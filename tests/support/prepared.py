"""State folders in which the shipped patterns are compiled already: it takes seconds, and one does for all tests."""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import shutil
import tempfile
import time
from functools import cache
from pathlib import Path

from lockgate.configuration.pattern_library.cache import COMPILERS
from lockgate.configuration.pattern_library.compiled import load
from lockgate.configuration.pattern_library.layers import SHIPPED
from lockgate.core.version import __version__
from lockgate.store.files import VERSION
from lockgate.store.sqlite.rollback import KEPT_AT, NEVER
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.folders import Folders

_UNUSED = 3600.0
"""Seconds after which a state is taken for one of a library that was changed since."""


def give_state(state: Path) -> None:
    """Put the prepared state there, unless there is a state."""
    if state.exists():
        return
    state.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=state.parent, prefix=f"{state.name}-"))
    _copy_prepared(draft)
    try:
        draft.rename(state)
    except OSError:
        shutil.rmtree(draft)  # another thread was faster


def give_empty(state: Path) -> None:
    """Put an empty store there, unless there is one, as a copy: to make one takes longer than most tests."""
    if not (state / "key").exists():
        shutil.copytree(_empty(), state, dirs_exist_ok=True)


def open_new(state: Path | str, busy_seconds: float = 5.0) -> SqliteStore:
    """Open a store that is of one installation with all others that are opened so."""
    give_empty(Path(state))
    return SqliteStore.open(str(state), busy_seconds=busy_seconds)


@cache
def _empty() -> Path:
    """The one that this process copies."""
    folder = Path(tempfile.mkdtemp(prefix="lockgate-tests-"))
    atexit.register(_remove, folder, os.getpid())
    store = SqliteStore.open(str(folder / "empty"))
    with store.transaction() as tx:
        tx.put_setting(KEPT_AT, NEVER)  # as above
    store.close()
    return folder / "empty"


def _remove(folder: Path, maker: int) -> None:
    """Remove it at the end of the process that made it: a child that a test forked ends earlier."""
    if os.getpid() == maker:
        shutil.rmtree(folder, ignore_errors=True)


def _copy_prepared(draft: Path) -> None:
    """Copy the state, which the first process that wants it makes, and none again before the library changes."""
    folder = Path(tempfile.gettempdir()) / f"lockgate-tests-patterns-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.getuid()
    made = folder / _name()
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # until it is copied: nobody removes it before
        if not (made / "done").exists():
            for old in folder.glob("*/"):
                if old == made or old.stat().st_mtime < time.time() - _UNUSED:
                    shutil.rmtree(old, ignore_errors=True)
            _make(made)
        shutil.copytree(made / "state", draft, dirs_exist_ok=True)


def _name() -> str:
    about = os.stat(SHIPPED)
    sources = [*Path(SHIPPED).parents[1].glob("*.py"), *map(Path, COMPILERS)]
    facts = [
        SHIPPED,
        about.st_mtime_ns,
        __version__,
        VERSION,
        *sorted((path.name, path.stat().st_mtime_ns) for path in sources),
    ]
    return hashlib.sha256(repr(facts).encode()).hexdigest()[:16]


def _make(folder: Path) -> None:
    where = Folders(str(folder), str(folder / "state"), str(folder / "config"))
    folder.mkdir(mode=0o700)
    store = SqliteStore.open(where.state)
    load(store, where, "")
    with store.transaction() as tx:
        tx.put_setting(KEPT_AT, NEVER)  # each copy is the first of its folder
    store.close()
    (folder / "done").write_text("")
