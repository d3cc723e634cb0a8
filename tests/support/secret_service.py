"""A Secret Service of one's own: the real gnome-keyring-daemon on a bus that nobody else uses."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


class Desktop:
    """A user's runtime folder with a bus, and the programs on it."""

    def __init__(self, runtime: Path) -> None:
        self.runtime = runtime
        self._folder = runtime / str(os.geteuid())
        self._folder.mkdir(mode=0o700, parents=True)
        home = runtime / "home"
        home.mkdir()
        self.bus = self._folder / "bus"
        self._environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(home),
            "XDG_RUNTIME_DIR": str(self._folder),
            "DBUS_SESSION_BUS_ADDRESS": f"unix:path={self.bus}",
        }
        self._running: list[subprocess.Popen[str]] = []

    def begin(self) -> None:
        """Start the bus."""
        self._start("dbus-daemon", "--session", "--nofork", f"--address=unix:path={self.bus}")
        _until(lambda: bool(self._names()))

    def begin_keyring(self) -> None:
        """Start a keyring, unlocked as after a log-in."""
        self._start("gnome-keyring-daemon", "--foreground", "--unlock", "--components=secrets", given="a password")
        _until(self.has_keyring)

    def has_keyring(self) -> bool:
        """Whether one runs."""
        return "org.freedesktop.secrets" in self._names()

    def _names(self) -> str:
        return self.run("dbus-send", "--session", "--print-reply", *_BUS, "org.freedesktop.DBus.ListNames")

    def run(self, *words: str) -> str:
        """Run a program of this desktop; what it says."""
        return subprocess.run(words, env=self._environ, capture_output=True, text=True, timeout=20, check=False).stdout

    def end(self) -> None:
        """End all that was started."""
        for process in reversed(self._running):
            process.terminate()
            process.communicate()

    def _start(self, *words: str, given: str = "") -> None:
        process = subprocess.Popen(
            words,
            env=self._environ,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._running.append(process)
        assert process.stdin is not None
        process.stdin.write(given)
        process.stdin.close()


@contextmanager
def desktop(runtime: Path) -> Iterator[Desktop]:
    """A desktop with a bus and no keyring yet."""
    made = Desktop(runtime)
    try:
        made.begin()
        yield made
    finally:
        made.end()


_BUS = ("--dest=org.freedesktop.DBus", "/org/freedesktop/DBus")


def _until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)
