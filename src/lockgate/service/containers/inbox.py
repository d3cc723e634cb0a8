"""The folders of one group, as the host sees them. Strangers write everything in ``requests``.

Nothing is opened but by its name in an open folder, no link is followed, and nothing is waited for. What is no request
is removed, or left where that could take long; nothing that a container does in its folder costs the others more than
a bounded look.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterator
from contextlib import suppress

from lockgate.clients.wire.envelope import MAX_MESSAGE
from lockgate.clients.wire.mailbox import ALIVE, REPORT, SUFFIX, WAITING
from lockgate.clients.wire.messages import LONGEST_WAIT, is_id
from lockgate.core.errors import RemoteError
from lockgate.core.record import Record
from lockgate.service.containers.groups import ContainerGroup
from lockgate.system.files import open_regular, read_open, replace

LOOK_MOST = 512
"""Entries of a folder that one look goes through."""
_ANSWERS_MOST = 4096
"""Answers that may lie in a folder. A container that has so many does not read them."""
_KEEP = 20.0
"""Seconds that an answer is kept. Whoever waits for it looks many times a second."""
_DRAFT_SECONDS = 60.0
"""Seconds after which a draft counts as left behind."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class MailboxFile(Record):
    """A request as it lies in the folder, unread."""

    id: str
    report: bool
    """Whether it is one that nobody waits for an answer to."""
    at: float
    """When it was written, in seconds since the epoch, as far as the container's word goes."""
    size: int

    @property
    def file(self) -> str:
        """The file's name."""
        return self.id + (REPORT if self.report else SUFFIX)


class Inbox:
    """The two folders of a group. Holds them open; :meth:`close` lets go."""

    def __init__(self, group: ContainerGroup) -> None:
        """Open the folders. Raises ``OSError`` where they are not there, or are links."""
        self.group = group
        self._requests = os.open(group.requests, _FOLDER)
        try:
            self._responses = os.open(group.responses, _FOLDER)
        except OSError:
            os.close(self._requests)
            raise

    def close(self) -> None:
        """Close the folders."""
        with suppress(OSError):
            os.unlink(ALIVE, dir_fd=self._responses)
        os.close(self._requests)
        os.close(self._responses)

    # ---------------------------------------------------------------- requests
    def letters(self, most: int = LOOK_MOST) -> list[MailboxFile]:
        """Requests that lie here, oldest first; of so many entries at most. Removes what is none."""
        found: list[tuple[int, MailboxFile]] = []
        now = time.time()
        for name in self._entries(self._requests, most):
            stem, suffix = os.path.splitext(name)
            about = self._about(name)
            if about is None:
                continue
            if suffix in (SUFFIX, REPORT) and is_id(stem):
                letter = MailboxFile(stem, suffix == REPORT, about.st_mtime, about.st_size)
                found.append((about.st_mtime_ns, letter))
            elif not (is_id(name.removeprefix(".")) and abs(now - about.st_mtime) < _DRAFT_SECONDS):
                self._remove(name, about)
        return [letter for _, letter in sorted(found)]

    def read(self, letter: MailboxFile) -> bytes:
        """The message of a request, which stays until it is discarded.

        Raises:
            FileNotFoundError: It is gone.
            OSError: It is nothing that the container's own side has written, or too large.
        """
        descriptor = open_regular(letter.file, follow=False, folder=self._requests)
        try:
            about = os.fstat(descriptor)
            if about.st_uid != self.group.uid:
                raise OSError(errno.EPERM, f"it belongs to user {about.st_uid}, and the group is {self.group.uid}")
            if about.st_nlink != 1:
                raise OSError(errno.EMLINK, "it has other names")
            return read_open(descriptor, MAX_MESSAGE)
        finally:
            os.close(descriptor)

    def discard(self, letter: MailboxFile) -> None:
        """Remove a request."""
        about = self._about(letter.file)
        if about is not None:
            self._remove(letter.file, about)

    def _about(self, name: str) -> os.stat_result | None:
        try:
            return os.stat(name, dir_fd=self._requests, follow_symlinks=False)
        except (OSError, ValueError):
            return None

    def _remove(self, name: str, about: os.stat_result) -> None:
        with suppress(OSError, ValueError):
            # A folder that is not empty stays: who put it there looks at fewer of its own requests at a time.
            (os.rmdir if stat.S_ISDIR(about.st_mode) else os.unlink)(name, dir_fd=self._requests)

    # ---------------------------------------------------------------- answers
    def was_answered(self, name: str) -> bool:
        """Whether there is an answer with this name already."""
        try:
            os.stat(name + SUFFIX, dir_fd=self._responses, follow_symlinks=False)
        except OSError:
            return False
        return True

    def is_noted(self, letter: MailboxFile) -> bool:
        """Whether the container was told that the answer takes longer."""
        try:
            os.stat(letter.id + WAITING, dir_fd=self._responses, follow_symlinks=False)
        except OSError:
            return False
        return True

    def answer(self, letter: MailboxFile, message: bytes, *, waiting: bool = False) -> None:
        """Put an answer into its place at once.

        Args:
            letter: The request.
            message: The sealed answer.
            waiting: Whether it only says that somebody is being asked.

        Raises:
            RemoteError: It cannot be written; the request is not discarded then.
        """
        try:
            self._put(letter.id + (WAITING if waiting else SUFFIX), message)
        except OSError as error:
            raise RemoteError(f"an answer for {self.group.name} cannot be written: {error.strerror}") from error
        if not waiting:
            with suppress(OSError):
                os.unlink(letter.id + WAITING, dir_fd=self._responses)

    def _put(self, name: str, data: bytes) -> None:
        draft = f".{name}.{os.urandom(4).hex()}"
        replace(name, data, draft=draft, folder=self._responses, mode=0o600 if self._is_own() else 0o644)

    def _is_own(self) -> bool:
        return self.group.uid == os.geteuid()

    def touch(self) -> None:
        """Give a sign of life."""
        with suppress(OSError):
            try:
                os.utime(ALIVE, dir_fd=self._responses, follow_symlinks=False)
            except FileNotFoundError:
                self._put(ALIVE, b"")

    def clean(self, most: int = LOOK_MOST * 8) -> None:
        """Remove answers that nobody can be waiting for any more, and what a host that was killed left half-written."""
        now = time.time()
        alive = []
        for name in self._entries(self._responses, most):
            if name == ALIVE:
                continue
            with suppress(OSError):
                at = os.stat(name, dir_fd=self._responses, follow_symlinks=False).st_mtime
                keep = LONGEST_WAIT if name.endswith(WAITING) else _KEEP
                age = abs(now - at)  # a clock that was ahead made what lies here for as long
                if age > keep or (name.startswith(".") and age > _DRAFT_SECONDS):
                    os.unlink(name, dir_fd=self._responses)
                else:
                    alive.append(name)
        self._crowded = len(alive) > _ANSWERS_MOST

    _crowded = False

    @property
    def is_crowded(self) -> bool:
        """Whether there are so many answers that only time can help."""
        return self._crowded

    def _entries(self, folder: int, most: int) -> Iterator[str]:
        with os.scandir(folder) as entries:
            for _, entry in zip(range(most), entries, strict=False):
                yield entry.name
