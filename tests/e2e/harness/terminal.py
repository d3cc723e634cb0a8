"""A real terminal session: a pseudo-terminal and the screen that a person would see."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType

import pyte

SIZE = (60, 140)
"""Rows and columns."""
_PATIENCE = 30.0
"""Seconds to wait for something to appear. Only a failing test waits this long."""


class Terminal:
    """A program in a terminal of its own."""

    def __init__(
        self, argv: Sequence[str], environment: Mapping[str, str], cwd: Path, size: tuple[int, int] = SIZE
    ) -> None:
        rows, columns = size
        self._screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self._screen)
        self._pid, self._descriptor = pty.fork()
        if self._pid == 0:  # pragma: no cover - the child
            os.chdir(cwd)
            os.execve(argv[0], list(argv), dict(environment))
        fcntl.ioctl(self._descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGTERM)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline and os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            self._read(0.05)
        else:
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)
        os.close(self._descriptor)

    @property
    def text(self) -> str:
        """What is on the screen."""
        return "\n".join(line.rstrip() for line in self._screen.display).strip()

    def wait_for(self, *texts: str) -> str:
        """Wait until one of the texts is on the screen; returns which."""
        found: list[str] = []

        def seen() -> bool:
            found[:] = [text for text in texts if text in self.text]
            return bool(found)

        self.wait_until(seen, f"one of {texts}")
        return found[0]

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        """Wait until something holds, while the screen goes on."""
        deadline = time.monotonic() + _PATIENCE
        while not condition():
            assert time.monotonic() < deadline, f"waited for {what}; the screen shows:\n{self.text}"
            self._read(0.1)
        self._read(0.5)  # the client takes keys only after it has drawn

    def press(self, keys: str) -> None:
        """Press keys."""
        os.write(self._descriptor, keys.encode())
        self._read(0.4)

    def say(self, prompt: str) -> None:
        """Type a prompt and send it."""
        self.press(prompt)
        self.press("\r")

    def _read(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if not select.select([self._descriptor], [], [], left)[0]:
                return
            try:
                self._stream.feed(os.read(self._descriptor, 65536))
            except OSError:  # the program has ended
                time.sleep(min(left, 0.05))
                return
