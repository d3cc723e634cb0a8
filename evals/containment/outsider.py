"""Everybody outside a sandbox who could be told something, and what they were told.

Part of a throw-away world (``world.py``): it has a network of its own with nothing but loopback, to which every address
leads, so that a packet to anybody is seen and none leaves.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterable
from pathlib import Path

PORTS = (22, 25, 53, 80, 443, 9418)
SHARED_MEMORY_KEY, QUEUE_KEY = 4711, 4712
_REPLY = b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n"
_SERVED = {"stream": socket.SOCK_STREAM, "datagram": socket.SOCK_DGRAM, "sequenced": socket.SOCK_SEQPACKET}
_VICTIM = """
import ctypes, signal, sys
told = []
signal.signal(signal.SIGUSR1, lambda *_: told.append("a signal"))
memory = ctypes.create_string_buffer(64)
print(ctypes.addressof(memory), flush=True)
for _ in sys.stdin: break
print(*told, memory.value.hex())
"""


class Outsider:
    """Listens everywhere from the moment it is made."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._heard: dict[str, bool] = {}
        self._victim = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _VICTIM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._victim.stdout
        self.victim = (self._victim.pid, int(self._victim.stdout.readline()))
        """Another program of the person's: its process, and the address of a buffer of 64 bytes in it."""
        self._start(self._sniff)
        for family, address in ((socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::")):
            for port in PORTS:
                self._start(self._serve, self._server(family, address, port), f"tcp {port}")

    def serve(self, path: str, kind: str) -> None:
        """Listen at a Unix socket; ``@name`` is one without a file."""
        found = socket.socket(socket.AF_UNIX, _SERVED[kind])
        if not path.startswith("@"):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        found.bind(path.replace("@", "\0") if path.startswith("@") else path)
        if kind == "datagram":
            self._start(self._receive, found, path)
        else:
            found.listen()
            self._start(self._serve, found, path)

    def read(self, path: str) -> None:
        """Read a named pipe."""
        os.mkfifo(path)
        self._start(self._drain, os.open(path, os.O_RDWR), path)

    def hold_pipe(self) -> int:
        """A pipe whose end to write to the client forgot to close: its number."""
        reader, writer = os.pipe()
        self._start(self._drain, reader, "a descriptor")
        os.set_inheritable(writer, True)
        return writer

    def watch_terminal(self, descriptor: int) -> None:
        """The person's terminal: what is shown there without being the command's output."""
        self._start(self._drain, descriptor, "the terminal")

    # ------------------------------------------------------------ what came of it
    def heard(self, folders: Iterable[str], besides: Iterable[str]) -> dict[str, bool]:
        """Who heard something, and whether the token was in it.

        Args:
            folders: Where files are looked through, for the token.
            besides: Folders and files that are not.
        """
        self._ask_victim()
        self._look_into_memory()
        for folder in folders:
            self._look_through(folder, tuple(besides))
        if socket.gethostname().encode() == self._token:
            self._note("the name of the machine", self._token)
        if self._token in Path("/proc/keys").read_bytes():
            self._note("the keyring", self._token)
        return dict(self._heard)

    def _note(self, who: str, data: bytes) -> None:
        self._heard[who] = self._heard.get(who, False) or self._token in data

    def _start(self, run, *arguments) -> None:
        threading.Thread(target=run, args=arguments, daemon=True).start()

    # ------------------------------------------------------------ network
    @staticmethod
    def _server(family: int, address: str, port: int) -> socket.socket:
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            found.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        found.bind((address, port))
        found.listen()
        return found

    def _sniff(self) -> None:
        everything = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        everything.bind(("lo", 0))
        while True:
            self._note("a packet", everything.recv(1 << 16))

    def _serve(self, server: socket.socket, name: str) -> None:
        while True:
            connection, _ = server.accept()
            self._start(self._answer, connection, name)

    def _answer(self, connection: socket.socket, name: str) -> None:
        self._note(name, b"")
        with connection:
            connection.settimeout(5)
            try:
                self._note(name, connection.recv(1 << 16))
                connection.sendall(_REPLY)
            except OSError:
                return

    def _receive(self, letters: socket.socket, name: str) -> None:
        while True:
            self._note(name, letters.recv(1 << 16))

    def _drain(self, descriptor: int, name: str) -> None:
        try:
            while data := os.read(descriptor, 1 << 16):
                self._note(name, data)
        except OSError:  # a terminal that nobody holds open any more
            return

    # ------------------------------------------------------------ this machine
    def _ask_victim(self) -> None:
        try:
            said, _ = self._victim.communicate("\n", timeout=5)
        except (subprocess.TimeoutExpired, ValueError):
            self._victim.send_signal(signal.SIGKILL)
            said = "stopped"
        *signals, memory = said.rsplit(" ", 1) if " " in said else ("", said)
        if "signal" in signals[0] or self._victim.returncode not in (0, None) or said == "stopped":
            self._note("a process, by a signal", self._token)
        if memory.strip() and self._token.hex() in memory:
            self._note("a process's memory", self._token)

    def _look_into_memory(self) -> None:
        libc = ctypes.CDLL(None)
        libc.shmat.restype = ctypes.c_void_p
        found = libc.shmget(SHARED_MEMORY_KEY, 0, 0)
        if found >= 0:
            self._note("shared memory", ctypes.string_at(libc.shmat(found, None, 0o10000), 64))
        queue = libc.msgget(QUEUE_KEY, 0)
        if queue >= 0:
            letter = ctypes.create_string_buffer(256)
            libc.msgrcv(queue, letter, 200, 0, 0o4000)
            self._note("a queue of messages", letter.raw)

    def _look_through(self, folder: str, besides: tuple[str, ...]) -> None:
        for parent, names, files in os.walk(folder):
            names[:] = [name for name in names if f"{parent}/{name}" not in besides]
            for name in files:
                path = Path(parent, name)
                if str(path) not in besides and path.is_file() and self._token in path.read_bytes():
                    self._note(f"a file: {path}", self._token)

    def heard_in(self, paths: Iterable[str]) -> dict[str, bool]:
        """As :meth:`heard`, for files that another program acts on."""
        for path in paths:
            if os.path.isdir(path):
                self._look_through(path, ())
            elif os.path.exists(path) and self._token in Path(path).read_bytes():
                self._note(f"a file: {path}", self._token)
        return dict(self._heard)
