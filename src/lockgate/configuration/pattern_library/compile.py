"""Compiles the pattern library and keeps the result. One process compiles at a time."""

from __future__ import annotations

import fcntl
import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from lockgate.configuration.layers.files import digest_of, good_digest, put_good, text_digest
from lockgate.configuration.pattern_library.attempts import AGAIN, LOCK, begin_attempt, note_end, read_failure
from lockgate.configuration.pattern_library.cache import (
    COMPILERS,
    FOLDER,
    KEPT,
    PINNED,
    Artefact,
    Pin,
    Stored,
    beside_path,
    freshness,
    name_build,
    name_setting,
    pin_of,
    read_artefact,
    read_pinned,
    ready,
    state_path,
)
from lockgate.configuration.pattern_library.layers import Gathered, gather, looks_at
from lockgate.core.errors import NotCompiledError, PatternError, StoreError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.files import own_folder
from lockgate.store.probe import describe_unwritable
from lockgate.system.folders import Folders
from lockgate.system.libraries import library

if TYPE_CHECKING:
    from lockgate.patterns.model import Library
    from lockgate.store.protocol import Store, Transaction

AHEAD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "compile_process.py")
"""The program that compiles for a process that has no time for it."""
_WORKSPACES = 200
"""Workspaces of which it is kept what their files come to."""
_ARTEFACTS = 20
_OF_OTHERS = 4
"""Artefacts that are kept for other builds that use this state, and for those of before."""
_ENOUGH = 30.0
"""Seconds in which a library is compiled, also on a busy machine."""
_WAIT = 0.02
_AT_IT = "the pattern library is being compiled: try again in a few seconds"


def make(
    store: Store,
    where: Folders,
    workspace: str,
    *,
    until: float,
    seconds: float = float("inf"),
    unlike: str = "",
    lock: int = -1,
) -> Artefact:
    """Compile the library of a workspace, unless that was done: by another process, for another workspace, by set-up.

    Args:
        store: Learns what the artefact belongs to.
        where: The folders.
        workspace: The project's root folder.
        until: When to stop waiting for another process, by :func:`time.monotonic`.
        seconds: How long it may take. Who has little time has it done by another process: compiling lets nothing else
            go on in this one, and so not its deadline.
        unlike: The hash of an artefact that is good for nothing.
        lock: The descriptor of the lock, where the process that started this one has taken it.

    Raises:
        NotCompiledError: It would take longer: another process, which has the lock now, compiles.
        PatternError: Another process is still at it, or the patterns cannot be compiled.
        StoreError: The state cannot be read or written.
    """
    folder = os.path.join(where.state, FOLDER)
    own_folder(folder, create=True)
    with hold_lock(folder, until) if lock < 0 else nullcontext(lock) as held:
        done = ready(store, where, workspace)
        if done is not None and done.digest != unlike:
            return done
        sources = _read_sources(store, where, workspace)
        found = _find_compiled(where, sources)
        if found is None or found.pin.digest == unlike:
            if seconds < _ENOUGH:
                raise _make_elsewhere(where, workspace, unlike, held)
            with note_end(held, name_build()):
                found = _compile(where, sources)
        with store.transaction() as tx:
            _keep(tx, sources.gathered, name_setting(workspace), sources.freshness, sources.name)
            tx.put_setting(PINNED + sources.name, found.pin.text)
            _prune(tx, folder, sources.name)
        gathered = sources.gathered
        layers, problems, notes = gathered.layers, gathered.problems, gathered.notes
        return Artefact(found.head, found.database, found.pin.digest, layers, problems, notes)


class _Sources(Record):
    """The files that the library of a workspace is compiled from, as they are now."""

    gathered: Gathered
    freshness: str
    """Digest of all files that were looked at; another one means that they are to be read anew."""
    name: str
    """The artefact's name."""
    pin: Pin | None
    """What the store says that the artefact must be; ``None`` where nobody has compiled it."""


def _read_sources(store: Store, where: Folders, workspace: str) -> _Sources:
    looks = looks_at(where, workspace)
    with store.reading() as tx:
        key = freshness(tx, looks)
        gathered = gather(tx, looks)
        name = artefact_name(gathered.linked.library)
        return _Sources(gathered, key, name, Pin.of(tx.setting(PINNED + name)))


def _find_compiled(where: Folders, sources: _Sources) -> Stored | None:
    """The artefact that was compiled before, by this machine or by set-up."""
    pin = sources.pin
    if pin is None and (beside := read_artefact(beside_path(sources.name))) is not None:
        pin = pin_of(beside)
    return read_pinned(where, sources.name, pin)


def _compile(where: Folders, sources: _Sources) -> Stored:
    """Compile the artefact, write it to the state folder, and read it back.

    Raises:
        StoreError: It cannot be written, or what is read is something else.
    """
    data = compile_artefact(sources.gathered.linked.library)
    path = state_path(where, sources.name)
    write_artefact(path, data)
    found = read_pinned(where, sources.name, pin_of(data))
    if found is None:
        raise StoreError(f"{path} was changed while it was written")
    return found


def _make_elsewhere(where: Folders, workspace: str, unlike: str, lock: int) -> PatternError:
    """Have another process compile the library, unless that has just failed; gives what is to be said of it."""
    folder, build = os.path.join(where.state, FOLDER), name_build()
    failed = read_failure(folder, build)
    if failed is not None and abs(time.time() - failed.at) < AGAIN:
        return failed.error
    begin_attempt(folder, lock, build)
    _start_compiling(where, workspace, unlike, lock)
    return NotCompiledError(f"{failed.error}; it is being compiled again" if failed is not None else _AT_IT)


def _start_compiling(where: Folders, workspace: str, unlike: str, lock: int) -> None:
    """Start a process that outlives this one and compiles the library. It takes over the lock, so there is only one."""
    nothing = [(os.POSIX_SPAWN_OPEN, descriptor, os.devnull, os.O_RDWR, 0) for descriptor in (0, 1, 2)]
    command = [sys.executable, "-I", "-S", AHEAD, *where, workspace, unlike, str(lock)]
    os.set_inheritable(lock, True)
    try:
        child = os.posix_spawn(sys.executable, command, {}, file_actions=nothing)
    except OSError as error:
        raise PatternError(f"the pattern library cannot be compiled: {error.strerror}") from error
    _reap(child)


def _reap(child: int) -> None:
    """Reap a child in a thread once it ends: a process that goes on would else keep a zombie of each."""
    import threading

    def wait() -> None:
        with suppress(ChildProcessError):  # a program that this one is part of may have heard of it before
            os.waitpid(child, 0)

    with suppress(RuntimeError):  # there can be no more threads
        threading.Thread(target=wait, name="lockgate-compiling", daemon=True).start()


@contextmanager
def hold_lock(folder: str, until: float) -> Iterator[int]:
    """Hold the lock of a folder of compiled patterns. It ends with the last process that has its descriptor.

    Args:
        folder: The folder.
        until: How long to wait for another process that compiles, by ``time.monotonic``.

    Raises:
        NotCompiledError: Another process compiles all the time.
        StoreError: The folder cannot be locked.
    """
    try:
        descriptor = os.open(os.path.join(folder, LOCK), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StoreError(f"cannot lock {folder}: {error.strerror}") from error
    try:
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() >= until:
                    _refuse_without_locks(folder)
                    raise NotCompiledError(_AT_IT) from None
                time.sleep(_WAIT)
            except OSError as error:
                _refuse_without_locks(folder)
                raise StoreError(f"cannot lock {folder}: {error.strerror}") from error
        yield descriptor
    finally:
        os.close(descriptor)


def _refuse_without_locks(folder: str) -> None:
    """Say what is wrong with a file system on which nobody ever gets a lock.

    Raises:
        StoreError: It is one.
    """
    from lockgate.store.probe import problem_of

    if problem := problem_of(folder):
        raise StoreError(problem)


def artefact_name(patterns: Library) -> str:
    """An artefact's name: what has the same content, for the same engine, is one file, whichever workspace it is of."""
    from lockgate.patterns.engine.matcher import FORMAT

    code = []
    for path in COMPILERS:
        with open(path, encoding="utf-8") as file:
            code.append(text_digest(file.read()))
    facts = [FORMAT, patterns.version, library("hyperscan").__version__, os.uname().machine, code]
    return text_digest(json.dumps(facts))[:40]


def compile_artefact(patterns: Library) -> bytes:
    """The artefact of a library. Takes about two seconds."""
    from lockgate.patterns.engine.compiling import compile_library

    return compile_library(patterns, library("hyperscan"))


def write_artefact(path: str, data: bytes) -> None:
    """Put a file in its place, whole. Called under the lock, so every draft but this is of a process that ended."""
    folder = os.path.dirname(path)
    draft = f"{path}.{os.getpid()}.draft"
    try:
        for name in os.listdir(folder):
            if name.endswith(".draft"):
                os.unlink(os.path.join(folder, name))
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        with open(descriptor, "wb") as file:
            file.write(data)
        os.replace(draft, path)
    except OSError as error:
        with suppress(OSError):
            os.unlink(draft)
        raise StoreError(describe_unwritable(folder, error)) from error


# ---------------------------------------------------------------- what the store knows


def _keep(tx: Transaction, gathered: Gathered, setting: str, key: str, name: str) -> None:
    for path, data in gathered.good:
        if good_digest(tx, path) != (None if data is None else digest_of(data)):
            put_good(tx, path, data)
    others = tx.settings(KEPT)
    if len(others) >= _WORKSPACES and setting not in others:
        for other in others:
            tx.put_setting(other, None)
    value = {
        "key": key,
        "artefact": name,
        "good": {path: good_digest(tx, path) for path in gathered.broken},
        "layers": gathered.layers,
        "problems": [[error.file, error.line, error.key, error.problem] for error in gathered.problems],
        "notes": gathered.notes,
    }
    tx.put_setting(setting, json.dumps(value))


def _prune(tx: Transaction, folder: str, newest: str) -> None:
    """Remove artefacts that belong to no workspace any more, and the oldest where there are many."""
    own = f"{KEPT}{name_build()}:"
    used = [(name.startswith(own), json.loads(text)["artefact"]) for name, text in tx.settings(KEPT).items()]
    there = {name.removesuffix(".artefact") for name in os.listdir(folder) if name.endswith(".artefact")}
    by_age = sorted(there, key=lambda name: _age(os.path.join(folder, f"{name}.artefact")))
    keep = {newest}
    for is_own, most in ((True, _ARTEFACTS), (False, _OF_OTHERS)):
        keep.update([name for name in by_age if (is_own, name) in used][-most:])
    for name in there - keep:
        with suppress(OSError):
            os.unlink(os.path.join(folder, f"{name}.artefact"))
    for setting in tx.settings(PINNED):
        if setting.removeprefix(PINNED) not in keep:
            tx.put_setting(setting, None)


def _age(path: str) -> float:
    try:
        return os.stat(path).st_mtime
    except OSError:
        return 0.0
