"""The size of another process's terminal is told, where it has one, and nothing else is opened for that."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

from lockgate.system.process_arguments import terminal_size

_WAITS = "import sys; print(flush=True); sys.stdin.read()"


class Terminal:
    """A process that draws on a terminal."""

    def __init__(self) -> None:
        self._ours, theirs = pty.openpty()
        self.resize(24, 80)
        start = [sys.executable, "-c", _WAITS]
        # A session whose terminal this is: where there is no /proc, the system tells the controlling one.
        self._process = subprocess.Popen(
            start, stdin=subprocess.PIPE, stdout=theirs, start_new_session=True, preexec_fn=lambda: _control(theirs)
        )
        os.close(theirs)
        os.read(self._ours, 10)
        self.name = f"{self._process.pid}:1"

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()
        os.close(self._ours)


def _control(terminal: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.end()


def test_the_size_as_it_is_now(terminal: Terminal) -> None:
    assert terminal_size(terminal.name) == (24, 80)
    terminal.resize(50, 132)
    assert terminal_size(terminal.name) == (50, 132)


def test_more_than_anybody_sees_is_not_believed(terminal: Terminal) -> None:
    terminal.resize(60_000, 60_000)
    assert terminal_size(terminal.name) == (100, 240)


@pytest.mark.parametrize("size", [(0, 0), (0, 80), (24, 0)])
def test_a_size_that_was_never_set(terminal: Terminal, size: tuple[int, int]) -> None:
    terminal.resize(*size)
    assert terminal_size(terminal.name) is None


@pytest.mark.parametrize("process", ["", ":", "0:1", "x:1", "-1:1", "\u0663:1", "99999999:1", "../self:1"])
def test_no_such_process(process: str) -> None:
    assert terminal_size(process) is None


@pytest.mark.parametrize("kind", ["pipe", "file", "null", "fifo"])
def test_what_is_no_terminal(tmp_path: Path, kind: str) -> None:
    if kind == "pipe":
        stdout: int = subprocess.PIPE
    elif kind == "null":
        stdout = subprocess.DEVNULL
    else:
        path = tmp_path / "out"
        if kind == "fifo":
            os.mkfifo(path)
        stdout = os.open(path, os.O_RDWR | os.O_CREAT)
    process = subprocess.Popen(
        [sys.executable, "-c", _WAITS], stdin=subprocess.PIPE, stdout=stdout, start_new_session=True
    )
    try:
        assert terminal_size(f"{process.pid}:1") is None
    finally:
        process.kill()
        process.communicate()
