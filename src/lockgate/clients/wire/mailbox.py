"""Asks the host through two folders: one for requests, and one for answers.

Waiting is sleeping: the kernel's notification costs a hook 15 ms to load (``ctypes``), which is more than the whole
round trip. A wait grows with what was waited already, so that it adds an eighth to it at most.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable

from lockgate.clients.wire.envelope import MAX_MESSAGE
from lockgate.core.errors import RemoteError
from lockgate.system.files import open_regular, read_open

REQUESTS, RESPONSES = "requests", "responses"
SUFFIX = ".json"
REPORT = ".report"
"""Ends the name of a request that nobody waits for an answer to."""
WAITING = ".wait"
"""Ends the name of the note that somebody is being asked."""
ALIVE = "alive"
"""A file that the host touches every two seconds, and removes when it ends."""
_SHORTEST, _LONGEST, _SHARE = 0.0005, 0.05, 1 / 8
_SILENCE = 15.0
"""Seconds without a sign of life from the host after which nobody is waited for any longer."""
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_DRAFT = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Mailbox:
    """The two folders, as the container sees them."""

    def __init__(self, folder: str) -> None:
        """Open them.

        Raises:
            RemoteError: They cannot be.
        """
        try:
            self._requests = os.open(os.path.join(folder, REQUESTS), _FOLDER)
            self._responses = os.open(os.path.join(folder, RESPONSES), _FOLDER)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise RemoteError(f"the folders of the IPC cannot be opened: {reason}; is {folder} mounted?") from None

    def is_served(self) -> bool:
        """Whether the host gave a sign of life lately. Where its clock is another one, it did not."""
        sign = self._sign_of_life()
        return sign is not None and abs(time.time() - sign / 1e9) <= _SILENCE

    def send(self, name: str, message: bytes, *, report: bool = False) -> None:
        """Put a request into its place at once.

        Args:
            name: Its id.
            message: The sealed request.
            report: Whether nobody waits for an answer. Then it may lie there until there is a gate.

        Raises:
            RemoteError: There is no gate, or it cannot be written.
        """
        if not report and self._sign_of_life() is None:
            raise RemoteError("the gate outside of this container is not running; on the host: lockgate serve")
        draft = f".{name}"
        try:
            # Where the folder is the host's, only who knows the name can open what is in it.
            ours = os.fstat(self._requests).st_uid == os.geteuid()
            descriptor = os.open(draft, _DRAFT, 0o600 if ours else 0o644, dir_fd=self._requests)
            try:
                with open(descriptor, "wb", buffering=0) as file:
                    if not ours:
                        os.fchmod(file.fileno(), 0o644)
                    _write(file.write, message)
                os.rename(
                    draft, name + (REPORT if report else SUFFIX), src_dir_fd=self._requests, dst_dir_fd=self._requests
                )
            except BaseException:
                os.unlink(draft, dir_fd=self._requests)
                raise
        except OSError as error:
            raise RemoteError(f"the request cannot be written: {error.strerror}") from None

    def receive(self, name: str, until: float, *, waiting: bool = False) -> bytes:
        """Wait for the answer, or for the note that somebody is being asked.

        Args:
            name: The request's id.
            until: A time of the monotonic clock.
            waiting: Whether the note was read already.

        Raises:
            RemoteError: There is none in time, or the host is dead.
        """
        began = heard = time.monotonic()
        sign = self._sign_of_life()
        while True:
            found = self._read(name + SUFFIX)
            if found is None and not waiting:
                found = self._read(name + WAITING)
            if found is not None:
                return found
            now = time.monotonic()
            if now >= until:
                raise RemoteError("the gate outside of this container does not answer")
            if now - heard > 1:
                life = self._sign_of_life()
                if life != sign:
                    heard, sign = now, life
                elif now - heard > _SILENCE:
                    raise RemoteError("the gate outside of this container has died")
            time.sleep(min(max((now - began) * _SHARE, _SHORTEST), _LONGEST, until - now))

    def _sign_of_life(self) -> int | None:
        try:
            return os.stat(ALIVE, dir_fd=self._responses, follow_symlinks=False).st_mtime_ns
        except OSError:
            return None

    def _read(self, name: str) -> bytes | None:
        try:
            descriptor = open_regular(name, follow=False, folder=self._responses)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise RemoteError(f"the answer cannot be opened: {error.strerror}") from None
        try:
            about = os.fstat(descriptor)
            if about.st_nlink > 1 or stat.S_IMODE(about.st_mode) & 0o022:
                raise RemoteError("the answer is not a file that the host has written")
            return read_open(descriptor, MAX_MESSAGE)
        except OSError as error:
            raise RemoteError(f"the answer cannot be read: {error.strerror}") from None
        finally:
            os.close(descriptor)


def _write(write: Callable[[memoryview], int | None], data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[write(rest) or 0 :]
