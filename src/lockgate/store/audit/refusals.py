"""Refusals that nobody could record at once: kept in files, until a process that can write the store records them.

A hook that runs out of time, or whose store cannot be written, refuses all the same. It leaves one small file in a
folder of its own below the state folder. The next process that has written the store takes it up. What is kept names
the call, and holds nothing of what the call would do. It can be recorded twice, where a process dies between the two
steps, and has the same ``refusal`` then; it is lost where the folder is full or cannot be written, which is logged.
"""

from __future__ import annotations

import os
import time

from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    from lockgate.store.protocol import Store

FOLDER = "refusals"
"""Below the state folder, mode 0700."""
EVENT = "undecided"
"""The event of the record."""
MOST_FILES = 1000
"""Refusals that wait at a time. More are not kept: a store that stays broken must not fill the disk."""
_MOST_BYTES = 65536
"""Of one file: no refusal of ours is longer, also where each of its characters is written as two escapes."""
_AT_ONCE = 100
"""Refusals that are recorded in one step: others wait for it."""
_TEXT = 300
ENDED_SECONDS = 10.0
"""After so long a file that nobody holds is one of a process that was ended."""
_FIELDS = ("event", "session", "agent", "tool", "call", "because", "by", "client")
_CALL = ("session", "agent", "tool", "call")


class Refusal:
    """A refusal that may become due, in a file of its own. The file is locked as long as this process lives.

    So a process that is ended in the middle leaves word of it too. Nothing here raises: the refusal itself matters more
    than its record.
    """

    def __init__(self, state: str, by: str) -> None:
        """Make the file.

        Args:
            state: The state folder, which must be there.
            by: Who would refuse: ``hook`` or ``gate``.
        """
        self._state = state
        self._folder = os.path.join(state, FOLDER)
        self._name = f"{time.time_ns():020d}-{os.getpid()}-{os.urandom(4).hex()}"
        self._file = -1
        self._said: dict[str, Any] = {"because": "its process was ended before it could decide", "by": by}
        try:
            self._file = _make(self._folder, self._draft)
        except OSError as error:
            self._fail(error)

    @property
    def _draft(self) -> str:
        return os.path.join(self._folder, f".{self._name}")

    def about(self, client: str, event: str, names: Mapping[str, object]) -> None:
        """Name the call.

        Args:
            client: Which client asks.
            event: The client's event, empty where only the payload may say it.
            names: What the client says, as far as it was read: of the ``event``, ``session``, ``agent``, ``tool`` and
                ``call``.
        """
        self._said |= {"client": client, "event": event or names.get("event", "")}
        self._said |= {name: names.get(name, "") for name in _CALL}
        self._write()

    def drop(self) -> None:
        """It did not become due: an answer is about to be given."""
        if self._file >= 0:
            _remove(self._draft)

    def keep(self, because: str) -> None:
        """It became due: the refusal was given.

        Args:
            because: Why nothing was decided.
        """
        self._said["because"] = because
        self._write()
        try:
            if self._file >= 0:
                os.rename(self._draft, os.path.join(self._folder, self._name))
        except OSError as error:
            self._fail(error)
        self.close()

    @staticmethod
    def calls_waiting(state: str) -> set[str]:
        """The calls of refusals that are not recorded yet."""
        folder = os.path.join(state, FOLDER)
        try:
            names = _files(folder)
        except OSError:
            return set()
        return {call for name in names if isinstance(call := _read(os.path.join(folder, name)).get("call"), str)}

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _write(self) -> None:
        if self._file < 0:
            return
        import json

        told = {name: value[:_TEXT] if isinstance(value, str) else "" for name, value in self._said.items()}
        data = json.dumps({**told, "at": time.time()}).encode()
        try:
            os.pwrite(self._file, data, 0)
            os.ftruncate(self._file, len(data))
        except OSError as error:
            self._fail(error)

    def _fail(self, error: OSError) -> None:
        from lockgate.system.error_log import note

        note(self._state, "refusal", type(error).__name__, "not kept")


def _make(folder: str, path: str) -> int:
    import fcntl

    if os.stat(os.path.dirname(folder)).st_uid != os.geteuid():
        raise OSError("the state folder is another user's")
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        if len(os.listdir(folder)) >= MOST_FILES:
            raise OSError("too many refusals wait to be recorded") from None
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        # A file system without locks. The file would seem to be held for good.
        os.close(file)
        _remove(path)
        raise
    return file


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        return


def _find_waiting(folder: str) -> list[str]:
    """The files of refusals that are due, oldest first; of a process that is ended, after a while."""
    before = time.time_ns() - int(ENDED_SECONDS * 1e9)
    found = []
    for name in _files(folder):
        began = name.lstrip(".").partition("-")[0]
        is_due = not name.startswith(".") or (
            began.isascii() and began.isdigit() and int(began) < before and not is_held(os.path.join(folder, name))
        )
        if is_due:
            found.append(name)
    return found[:_AT_ONCE]


def _files(folder: str) -> list[str]:
    """Names of what can be removed once it is recorded: all but folders."""
    with os.scandir(folder) as entries:
        return sorted(entry.name for entry in entries if not entry.is_dir(follow_symlinks=False))


def is_held(path: str) -> bool:
    """Whether the process that made the file lives. It may have dropped or kept its refusal just now."""
    from lockgate.system.files import is_locked

    try:
        return is_locked(path)
    except FileNotFoundError:
        return True
    except OSError:
        return False


def sweep(state: str, store: Store) -> int:
    """Record refusals that were kept; gives how many. One process at a time does it, and others go on.

    Args:
        state: The state folder.
        store: Its store.

    Raises:
        LockgateError: The store cannot be written; then they are kept.
    """
    folder = os.path.join(state, FOLDER)
    try:
        is_empty = not os.listdir(folder)
    except OSError:
        return 0
    return 0 if is_empty else _record(folder, store)


def _record(folder: str, store: Store) -> int:
    import fcntl

    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        names = _find_waiting(folder)
        if not names:
            return 0
        with store.transaction() as tx:
            for body in _bodies(folder, names):
                tx.append_audit(store.clock(), body)
        for name in names:
            _remove(os.path.join(folder, name))
        return len(names)
    except OSError:
        return 0
    finally:
        os.close(handle)


def _bodies(folder: str, names: list[str]) -> Iterator[dict[str, Any]]:
    """The records of what was kept. What is no refusal of ours is recorded as one of which nothing is known."""
    from lockgate.core.events import Context
    from lockgate.core.model import Subject
    from lockgate.store.audit.record import event_record

    for name in names:
        said = _read(os.path.join(folder, name))
        text = {field: found[:_TEXT] if isinstance(found := said.get(field), str) else "" for field in _FIELDS}
        at = said.get("at")
        facts = {
            "refusal": name.lstrip(".")[:80],
            "hook_event": text["event"],
            "tool": text["tool"],
            "call": text["call"],
            "verdict": "deny",
            "because": text["because"],
            "by": text["by"],
            "refused_at": at if isinstance(at, float) and 0 <= at < 1e11 else 0.0,
        }
        yield event_record(Context(text["client"], Subject(text["session"], text["agent"])), EVENT, facts)


def _read(path: str) -> dict[str, Any]:
    from lockgate.system.digests import json_object
    from lockgate.system.files import read_regular

    try:
        return json_object(read_regular(path, _MOST_BYTES, follow=False)) or {}
    except OSError:
        return {}
