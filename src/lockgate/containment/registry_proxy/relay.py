"""Relays between a contained install and package indexes, as a process outside of the sandbox.

It listens at a Unix socket that only that sandbox sees. It speaks as an HTTP proxy: CONNECT to an index's host, then
TLS with a certificate of its own authority, which only that sandbox trusts. Then come requests, of which
:mod:`~lockgate.containment.registry_proxy.requests` says what passes. The relay asks the index itself, with the
person's credentials, and follows no redirect. It ends when nobody has been connected for a while.
"""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import h11
import httpx
import trustme

from lockgate.containment.registry_proxy.indexes import MOST_FILE, MOST_PAGE, TOLD_BACK, PackageIndex
from lockgate.containment.registry_proxy.opening import hold_turn, read_noted
from lockgate.containment.registry_proxy.requests import FILE, WHEEL, Filter, Passed, RefusedError, authority_of
from lockgate.containment.registry_proxy.settings import indexes_of
from lockgate.core.errors import LockgateError
from lockgate.core.version import __version__
from lockgate.system.files import replace

AUTHORITY_FILE = "authority.pem"
MOST_CONNECTIONS = 100
MOST_AT_ONCE = 16
"""Requests to indexes at a time, which bounds memory and temporary files."""
IDLE_SECONDS = 60.0
"""How long nobody may be connected. The sandbox holds a connection for as long as its command runs."""
QUIET_SECONDS = 3600.0
"""How long one connection may say nothing."""
_CHUNK = 1 << 16
_MOST_HEAD = 16 * 1024


class Relay:
    """Answers the connections of one sandbox."""

    def __init__(self, listener: socket.socket, filtered: Filter, folder: str) -> None:
        """Make an authority, and write its certificate to a folder.

        Args:
            listener: A Unix socket that listens.
            filtered: What may be asked for.
            folder: A folder that the sandbox sees.
        """
        self._listener, self._filter = listener, filtered
        authority = trustme.CA(organization_name="Lockgate", organization_unit_name="one contained install")
        self._contexts = {name: _context(authority, name) for name in filtered.authorities()}
        self._client = httpx.Client(verify=ssl.create_default_context(), timeout=httpx.Timeout(120, connect=30))
        self._asking = threading.BoundedSemaphore(MOST_AT_ONCE)
        self._turn, self._open, self._left_at = threading.Lock(), 0, time.monotonic()
        path = os.path.join(folder, AUTHORITY_FILE)
        replace(path, authority.cert_pem.bytes(), draft=f"{path}.{os.getpid()}")

    def serve(self) -> None:
        """Answer until nobody is connected any more."""
        self._listener.settimeout(IDLE_SECONDS / 4)
        while self._open or time.monotonic() - self._left_at < IDLE_SECONDS:
            with contextlib.suppress(TimeoutError):
                connection, _ = self._listener.accept()
                self._begin(connection)

    def accept_waiting(self) -> bool:
        """Begin to answer who waits to be answered. Returns whether there was anybody."""
        self._listener.settimeout(0)
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return False
        self._begin(connection)
        return True

    def _begin(self, connection: socket.socket) -> None:
        with self._turn:
            full = self._open >= MOST_CONNECTIONS
            self._open += not full
        if full:
            connection.close()
            return
        threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(QUIET_SECONDS)
        try:
            with connection, contextlib.suppress(OSError, h11.ProtocolError):
                authority = self._read_connect(connection)
                if authority:
                    with self._contexts[authority].wrap_socket(connection, server_side=True) as secured:
                        self._speak(secured, authority)
        finally:
            with self._turn:
                self._open -= 1
                self._left_at = time.monotonic()

    def _read_connect(self, connection: socket.socket) -> str:
        """The host that a client wants to be connected to; empty where that is none, which it is told."""
        speaker = _Speaker(connection)
        request = speaker.request()
        if request is None:
            return ""
        authority = request.target.decode("ascii", "replace").removesuffix(":443")
        if request.method != b"CONNECT" or authority not in self._contexts or speaker.has_more():
            speaker.refuse("only CONNECT to a package index of the person's passes")
            return ""
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return authority

    def _speak(self, secured: ssl.SSLSocket, authority: str) -> None:
        speaker = _Speaker(secured)
        while (request := speaker.request()) is not None:
            headers = [(name.decode("ascii"), value.decode("latin-1")) for name, value in request.headers]
            words = [part.decode("ascii", "replace") for part in (request.method, request.target)]
            try:
                passed = self._filter.check(authority, words[0], words[1], headers)
                with self._asking:
                    self._pass_on(passed, speaker)
            except RefusedError as error:
                speaker.refuse(str(error))
            except _AnsweredError as error:
                speaker.refuse(str(error), error.status)
            except httpx.HTTPError:
                if not speaker.begun:
                    speaker.refuse("the package index does not answer", 502)
            if not speaker.goes_on():
                return

    def _pass_on(self, passed: Passed, speaker: _Speaker) -> None:
        with self._client.stream(passed.method, passed.address, headers=_headers(passed)) as answer:
            if answer.is_redirect:
                raise RefusedError("the package index leads elsewhere, and that is not followed")
            if not answer.is_success:
                raise _AnsweredError(answer.status_code)
            if passed.kind == WHEEL and passed.method == "GET":
                self._pass_wheel(answer, speaker)
                return
            if passed.kind in (FILE, WHEEL) or passed.method == "HEAD":
                length = answer.headers.get("content-length") if passed.kind in (FILE, WHEEL) else None
                sized = ("content-length", length) if length else ("transfer-encoding", "chunked")
                body = _limit_bytes(answer.iter_raw(_CHUNK), MOST_FILE) if passed.method == "GET" else []
                speaker.answer(answer.status_code, [*_filter_headers(answer), sized], body)
                return
            page = b"".join(_limit_bytes(answer.iter_bytes(_CHUNK), MOST_PAGE))
            with self._turn:
                self._filter.learn(passed, answer.headers.get("content-type", ""), page)
            speaker.answer(answer.status_code, [*_filter_headers(answer), ("content-length", str(len(page)))], [page])

    def _pass_wheel(self, answer: httpx.Response, speaker: _Speaker) -> None:
        """Pass a wheel on, once it is known what its metadata names."""
        with tempfile.TemporaryFile() as kept:
            for part in _limit_bytes(answer.iter_raw(_CHUNK), MOST_FILE):
                kept.write(part)
            size = kept.tell()
            with self._turn:
                self._filter.learn_from_wheel(kept)
            kept.seek(0)
            sized = ("content-length", str(size))
            speaker.answer(answer.status_code, [*_filter_headers(answer), sized], iter(lambda: kept.read(_CHUNK), b""))


class _AnsweredError(LockgateError):
    """An index answers something else than what was asked for."""

    def __init__(self, status: int) -> None:
        super().__init__(f"the package index answers with status {status}")
        self.status = status


class _Speaker:
    """HTTP/1.1 with one client, as its server."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._state = h11.Connection(h11.SERVER, max_incomplete_event_size=_MOST_HEAD)
        self.begun = False

    def request(self) -> h11.Request | None:
        """The head of the next request; ``None`` where there is none."""
        self.begun = False
        while True:
            event = self._state.next_event()
            if isinstance(event, h11.Request):
                return event
            if event is h11.NEED_DATA:
                self._state.receive_data(self._connection.recv(_CHUNK))
            else:
                return None

    def has_more(self) -> bool:
        """Whether something came behind the head of a request."""
        return bool(self._state.trailing_data[0])

    def goes_on(self) -> bool:
        """Whether another request may follow. What still comes of the last one is not read."""
        if self._state.our_state is not h11.DONE or type(self._state.next_event()) is not h11.EndOfMessage:
            return False
        self._state.start_next_cycle()
        return True

    def refuse(self, why: str, status: int = 403) -> None:
        """Say why a request does not pass, and end the connection after that."""
        body = f"lockgate: {why}\n".encode()
        headers = [("content-type", "text/plain"), ("content-length", str(len(body))), ("connection", "close")]
        self.answer(status, headers, [body])

    def answer(self, status: int, headers: Sequence[tuple[str, str]], body: Iterable[bytes]) -> None:
        """Answer the request."""
        self.begun = True
        self._send(h11.Response(status_code=status, headers=list(headers)))
        for part in body:
            self._send(h11.Data(data=part))
        self._send(h11.EndOfMessage())

    def _send(self, event: Any) -> None:
        data = self._state.send(event)
        if data:
            self._connection.sendall(data)


def _context(authority: trustme.CA, name: str) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    authority.issue_cert(name.partition(":")[0]).configure_cert(context)
    return context


def _headers(passed: Passed) -> dict[str, str]:
    """All headers that an index gets: none of them is the client's own."""
    let_in = passed.asked.authorization if authority_of(passed.address) == authority_of(passed.asked.base) else ""
    encoding = "identity" if passed.kind in (FILE, WHEEL) else "gzip"
    said = {"accept": passed.accept, "accept-encoding": encoding, "user-agent": f"lockgate/{__version__}"}
    return {**said, "authorization": let_in} if let_in else said


def _filter_headers(answer: httpx.Response) -> list[tuple[str, str]]:
    return [(name, answer.headers[name]) for name in TOLD_BACK if name in answer.headers]


def _limit_bytes(parts: Iterator[bytes], most: int) -> Iterator[bytes]:
    for part in parts:
        most -= len(part)
        if most < 0:
            raise httpx.DecodingError("too long an answer")
        yield part


def main(words: Sequence[str], environ: Mapping[str, str]) -> None:
    """Serve one sandbox: ``DESCRIPTOR FOLDER STATE NAME ROOM HOME``."""
    descriptor, folder, state, name, room, home = words
    indexes: tuple[PackageIndex, ...] = indexes_of(home, environ)
    filtered = Filter(read_noted(state, name, room), indexes)
    with socket.socket(fileno=int(descriptor)) as listener:
        relay = Relay(listener, filtered, folder)
        while True:
            relay.serve()
            # Whoever has just found that it listens must not find it gone.
            with hold_turn(folder):
                if not relay.accept_waiting():
                    for name in (AUTHORITY_FILE, "socket"):
                        os.unlink(os.path.join(folder, name))
                    return


if __name__ == "__main__":
    try:
        main(sys.argv[1:], os.environ)
    except (LockgateError, OSError, ValueError) as error:
        sys.exit(f"lockgate: {error}")
