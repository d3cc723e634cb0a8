"""State folders in which the shipped patterns are compiled already: it takes seconds, and one does for all tests."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from pathlib import Path

from lockgate.folders import Folders
from lockgate.guardrails.cache import SECONDS, load
from lockgate.guardrails.layers import SHIPPED
from lockgate.store.sqlite import SqliteStore


def give_state(state: Path) -> None:
    """Put the prepared state there, unless there is a state."""
    if state.exists():
        return
    state.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(dir=state.parent, prefix=f"{state.name}-"))
    shutil.copytree(_prepared(), draft, dirs_exist_ok=True)
    try:
        draft.rename(state)
    except OSError:
        shutil.rmtree(draft)  # another thread was faster


def _prepared() -> Path:
    """The state, made by the first process that wants it, and by none again before the library changes."""
    about = os.stat(SHIPPED)
    sources = Path(SHIPPED).parents[1].glob("*.py")
    facts = [about.st_mtime_ns, about.st_size, *sorted((path.name, path.stat().st_mtime_ns) for path in sources)]
    name = hashlib.sha256(repr(facts).encode()).hexdigest()[:16]
    folder = Path(tempfile.gettempdir()) / f"lockgate-tests-patterns-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    assert folder.stat().st_uid == os.getuid()
    made = folder / name
    with open(folder / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made / "done").exists():
            for old in folder.glob("*/"):
                shutil.rmtree(old, ignore_errors=True)
            _make(made)
    return made / "state"


def _make(folder: Path) -> None:
    where = Folders(str(folder), str(folder / "state"), str(folder / "config"))
    folder.mkdir(mode=0o700)
    store = SqliteStore.open(where.state)
    load(store, where, "")
    with store.transaction() as tx:
        # Of another workspace only the name is new, so that nothing is to be compiled and it can be done at once.
        tx.put_setting(SECONDS, "0.1")
    store.close()
    (folder / "done").write_text("")
