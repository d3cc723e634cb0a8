"""``lockgate`` in a process that is forked from one that has imported it: most of a short command is its imports.

Environment, folder, streams and exit status are those of a process of its own. What is about the interpreter's start
(its options, ``PYTHONPATH``, the encoding that the environment asks for) needs ``python -m lockgate``.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import IO, Any

_MOST = 1 << 16
"""Bytes that are read at once."""


def run(
    words: Sequence[str], *, cwd: str | Path, env: Mapping[str, str], given: bytes | None = None, timeout: float = 120.0
) -> subprocess.CompletedProcess[bytes]:
    """Run a command, with its input or none, and wait for its end."""
    with tempfile.TemporaryFile() as stdin, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        stdin.write(given or b"")
        stdin.seek(0)
        status = _server().run(_Request(words, cwd, env), [stdin, out, err], timeout)
        read = []
        for stream in (out, err):
            stream.seek(0)
            read.append(stream.read())
    return subprocess.CompletedProcess(list(words), status, *read)


def run_text(words: Sequence[str], **options: Any) -> subprocess.CompletedProcess[str]:
    """The same, with what was written as text."""
    done = run(words, **options)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


class _Request:
    """One command."""

    def __init__(self, words: Sequence[str], cwd: str | Path, env: Mapping[str, str]) -> None:
        self.words, self.cwd, self.env = list(words), os.fspath(cwd), dict(env)

    def encoded(self) -> bytes:
        return json.dumps(vars(self)).encode() + b"\n"


@functools.cache
def _server() -> _Server:
    return _Server()


class _Server:
    """The process that forks, as this one sees it. It ends with this one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._socket, other = socket.socketpair()
        with other:
            command = [sys.executable, __file__, str(other.fileno())]
            self._process = subprocess.Popen(command, pass_fds=[other.fileno()], stdin=subprocess.DEVNULL)
        atexit.register(self._end, os.getpid())

    def _end(self, maker: int) -> None:
        if os.getpid() == maker:
            self._socket.close()
            self._process.wait(10)

    def run(self, request: _Request, streams: Sequence[IO[bytes]], timeout: float) -> int:
        """Its exit status."""
        reading, writing = os.pipe()
        with open(reading, "rb", buffering=0) as told:
            with self._lock:
                with open(writing, "wb", buffering=0) as tells:
                    numbers = [*(stream.fileno() for stream in streams), tells.fileno()]
                    data = request.encoded()
                    sent = socket.send_fds(self._socket, [data], numbers)
                    self._socket.sendall(data[sent:])
                pid = int(_line(told, timeout))
            try:
                return os.waitstatus_to_exitcode(int(_line(told, timeout)))
            except TimeoutError:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(request.words, timeout) from None


def _line(told: IO[bytes], timeout: float) -> bytes:
    line = b""
    while not line.endswith(b"\n"):
        if not select.select([told], [], [], timeout)[0]:
            raise TimeoutError
        byte = told.read(1)
        assert byte, "the process that forks is gone"
        line += byte
    return line


# ---------------------------------------------------------------- in the process that forks
class _Forking:
    """Forks for each request. What a command imports, this process imports before the next one."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._waiting: dict[int, int] = {}
        self._imported, self._tells = os.pipe()
        os.set_blocking(self._imported, False)
        os.set_blocking(self._tells, False)
        signal.signal(signal.SIGCHLD, self._reap)

    def next_request(self) -> bool:
        """Answer requests: in a child's process ``True``, and in this one ``False`` at the end."""
        while True:
            data, numbers, _, _ = socket.recv_fds(self._control, _MOST, 4)
            if not data:
                return False
            while not data.endswith(b"\n"):
                data += self._control.recv(_MOST)
            self._import()
            gc.freeze()  # what it has so far is not looked at by a child, and stays shared with it
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGCHLD])
            pid = os.fork()
            if pid == 0:
                self._become(json.loads(data), numbers)
                return True
            self._waiting[pid] = numbers[3]
            os.write(numbers[3], b"%d\n" % pid)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
            for number in numbers[:3]:
                os.close(number)

    def _reap(self, _: int, __: FrameType | None) -> None:
        with contextlib.suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                number = self._waiting.pop(ended[0])
                with contextlib.suppress(BrokenPipeError):
                    os.write(number, b"%d\n" % ended[1])
                os.close(number)

    def _import(self) -> None:
        with contextlib.suppress(BlockingIOError):
            for name in os.read(self._imported, _MOST).decode().split():
                with contextlib.suppress(ImportError):
                    __import__(name)

    def _become(self, request: Mapping[str, Any], numbers: Sequence[int]) -> None:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGCHLD])
        for stream, number in enumerate(numbers[:3]):
            os.dup2(number, stream)
        for number in {*numbers, *self._waiting.values(), self._control.fileno(), self._imported}:
            os.close(number)
        atexit.register(self._tell, os.getpid(), set(sys.modules))
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        sys.path[0] = request["cwd"]
        sys.argv = ["lockgate", *request["words"]]
        for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
            before = getattr(sys, name)
            opened = os.fdopen(before.fileno(), mode, encoding="utf-8", errors=before.errors, closefd=False)
            setattr(sys, name, opened)

    def _tell(self, child: int, before: set[str]) -> None:
        names = " ".join(sorted(name for name in set(sys.modules) - before if name.startswith("lockgate.")))
        if os.getpid() == child:
            with contextlib.suppress(OSError):
                os.write(self._tells, f"{names} ".encode())


def _main() -> None:
    import lockgate.cli.main  # noqa: F401 - what each command needs

    if _Forking(socket.socket(fileno=int(sys.argv[1]))).next_request():
        runpy.run_module("lockgate", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    _main()
