"""The relay, spoken to by somebody who wants to carry something out: nothing of it reaches the index."""

from __future__ import annotations

import contextlib
import os
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from installs.index import TARBALL, TOKEN, USER, WHEEL, WORD, LocalIndex
from lockgate.containment.registry_proxy import opening, relay
from lockgate.containment.registry_proxy.wanted import Wanted
from lockgate.core.errors import ContainmentError
from lockgate.store.files import read_key

SECRET = "secretpayload"
ROOM = "f" * 32


class Opened:
    """A relay that runs, and what speaks to it."""

    def __init__(self, folder: Path, index: LocalIndex) -> None:
        self.index, self.host = index, f"localhost:{index.port}"
        home, self.state = folder / "home", folder / "state"
        home.mkdir()
        self.state.mkdir(mode=0o700)
        place = f"//localhost:{index.port}/npm"
        (home / ".npmrc").write_text(f"registry=https:{place}/\n{place}/:_authToken=${{NPM_TOKEN}}\n")
        self.environ = {
            "PATH": os.defpath,
            "SSL_CERT_FILE": str(index.authority),
            "PIP_INDEX_URL": f"https://{USER}:{WORD}@localhost:{index.port}/simple/",
            "NPM_TOKEN": TOKEN,
        }
        self.home = str(home)
        files = {f"{index.base}/npm/odd/-/{TARBALL}", f"https://e.example/{SECRET}"}
        wanted = Wanted({"shoplib": frozenset(), "moved": frozenset()}, frozenset(("odd",)), frozenset(files))
        read_key(str(self.state))
        self.name = opening.note(str(self.state), ROOM, wanted)
        self.proxy = self.open()
        authority = Path(self.proxy.folder) / "authority.pem"
        until = time.monotonic() + 60
        while not authority.exists():
            assert time.monotonic() < until
            time.sleep(0.05)
        self.trust = ssl.create_default_context(cafile=str(authority))

    def open(self) -> opening.OpenedProxy:
        """Open the way to indexes, once more."""
        return opening.open_proxy(str(self.state), self.name, ROOM, self.home, self.environ)

    def end(self) -> None:
        """End the relay."""
        for process in opening._STARTED:
            process.kill()
            process.wait()

    def plain(self, data: bytes) -> bytes:
        """What comes back when something is said without TLS."""
        with self._connected() as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return _all(connection)

    def secured(self, data: bytes, host: str = "", alpn: tuple[str, ...] = ()) -> bytes:
        """What comes back when something is said to a host of the index, by TLS."""
        host = host or self.host
        with self._connected() as connection:
            connection.sendall(f"CONNECT {host} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            assert b" 200 " in connection.recv(4096)
            if alpn:
                self.trust.set_alpn_protocols(list(alpn))
            with self.trust.wrap_socket(connection, server_hostname="localhost") as secured:
                with contextlib.suppress(OSError):  # whoever is refused may not be heard to the end
                    secured.sendall(data)
                return _all(secured)

    def _connected(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(20)
        folder = os.open(self.proxy.folder, os.O_PATH)
        try:
            connection.connect(f"/proc/self/fd/{folder}/socket")
        finally:
            os.close(folder)
        return connection


def _all(connection: socket.socket) -> bytes:
    told = b""
    try:
        while data := connection.recv(1 << 16):
            told += data
    except OSError:
        pass
    return told


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    folder = tmp_path_factory.mktemp("relay")
    index = LocalIndex(folder)
    found = Opened(folder, index)
    yield found
    found.end()
    index.end()


def request(opened: Opened, line: str, *headers: str, body: str = "", close: bool = True) -> bytes:
    lines = [line, f"Host: {opened.host}", *headers, *(["Connection: close"] if close else [])]
    return ("\r\n".join(lines) + "\r\n\r\n" + body).encode()


KNOWN = "GET /simple/shoplib/ HTTP/1.1"
BODY = f"{len(SECRET)}"
PASSES = {
    # What passes, with something more: the index hears of the package and of nothing else.
    "a header": (KNOWN, (f"X-Data: {SECRET}",)),
    "a cookie": (KNOWN, (f"Cookie: a={SECRET}",)),
    "who asks": (KNOWN, (f"User-Agent: {SECRET}",)),
    "what is accepted": (KNOWN, (f"Accept: {SECRET}/x",)),
    "where it comes from": (KNOWN, (f"Referer: https://e.example/{SECRET}",)),
    "credentials": (KNOWN, (f"Authorization: Basic {SECRET}",)),
    "credentials for a proxy": (KNOWN, (f"Proxy-Authorization: Basic {SECRET}",)),
    "a tag": (KNOWN, (f'If-None-Match: "{SECRET}"',)),
    "a part": (KNOWN, (f"Range: {SECRET}=0-1",)),
    "a language": (KNOWN, (f"Accept-Language: {SECRET}",)),
    "a forwarded host": (KNOWN, (f"X-Forwarded-Host: {SECRET}.example",)),
    "another method by header": (KNOWN, ("X-HTTP-Method-Override: PUT", f"X-Data: {SECRET}")),
    "a WebSocket": (KNOWN, ("Upgrade: websocket", f"Sec-WebSocket-Key: {SECRET}", "Sec-WebSocket-Version: 13")),
    "HTTP/2 by upgrade": (KNOWN, ("Upgrade: h2c", f"HTTP2-Settings: {SECRET}")),
    "HEAD": ("HEAD /simple/shoplib/ HTTP/1.1", (f"X-Data: {SECRET}",)),
}


@pytest.mark.parametrize("name", PASSES)
def test_of_a_request_that_passes_only_the_package_arrives(opened: Opened, name: str) -> None:
    line, headers = PASSES[name]
    opened.index.seen.clear()
    answer = opened.secured(request(opened, line, *headers))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert len(opened.index.seen) == 1
    assert SECRET not in opened.index.seen[0]


REFUSED = {
    "an upload": ("POST /simple/shoplib/ HTTP/1.1", (f"Content-Length: {BODY}",), SECRET),
    "publishing": ("PUT /npm/odd HTTP/1.1", (f"Content-Length: {BODY}",), SECRET),
    "an audit": ("POST /npm/-/npm/v1/security/advisories/bulk HTTP/1.1", (f"Content-Length: {BODY}",), SECRET),
    "a body": (KNOWN, (f"Content-Length: {BODY}",), SECRET),
    "a body in parts": (KNOWN, ("Transfer-Encoding: chunked",), f"d\r\n{SECRET}\r\n0\r\n\r\n"),
    "two lengths": (KNOWN, ("Content-Length: 0", f"Content-Length: {BODY}"), SECRET),
    "a length and parts": (KNOWN, ("Content-Length: 0", "Transfer-Encoding: chunked"), f"d\r\n{SECRET}\r\n0\r\n\r\n"),
    "a name": (f"GET /simple/{SECRET}/ HTTP/1.1", (), ""),
    "a name of npm": (f"GET /npm/{SECRET} HTTP/1.1", (), ""),
    "a scope of npm": (f"GET /npm/@{SECRET}%2fodd HTTP/1.1", (), ""),
    "a version": (f"GET /npm/odd/{SECRET} HTTP/1.1", (), ""),
    "a file": (f"GET /files/{SECRET}.whl HTTP/1.1", (), ""),
    "metadata": (f"GET /files/{SECRET}.whl.metadata HTTP/1.1", (), ""),
    "a query": (f"GET /simple/shoplib/?{SECRET} HTTP/1.1", (), ""),
    "a longer path": (f"GET /simple/shoplib/{SECRET} HTTP/1.1", (), ""),
    "a path upwards": (f"GET /simple/{SECRET}/../shoplib/ HTTP/1.1", (), ""),
    "a search": (f"GET /npm/-/v1/search?text={SECRET} HTTP/1.1", (), ""),
    "a whole address": (f"GET https://e.example/{SECRET} HTTP/1.1", (), ""),
    "a method": (f"{SECRET.upper()} /simple/shoplib/ HTTP/1.1", (f"X-Data: {SECRET}",), ""),
    "CONNECT within TLS": (f"CONNECT {SECRET}.example:443 HTTP/1.1", (), ""),
    "another host": (KNOWN, (f"Host: {SECRET}.example",), ""),
    "a long header": (KNOWN, (f"X-Data: {SECRET * 4000}",), ""),
    "a header over two lines": (KNOWN, (f"X-Data: a\r\n {SECRET}\r\nContent-Length: 4",), "abcd"),
    "HTTP/2": (f"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{SECRET}", (), ""),
    "nonsense": (f"\x01\x02{SECRET}", (), ""),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_reaches_nobody(opened: Opened, name: str) -> None:
    line, headers, body = REFUSED[name]
    opened.index.seen.clear()
    answer = opened.secured(request(opened, line, *headers, body=body))
    assert answer == b"" or answer.startswith(b"HTTP/1.1 403 ")
    assert opened.index.seen == []


def test_what_comes_behind_a_request_is_a_request_of_its_own(opened: Opened) -> None:
    opened.index.seen.clear()
    first = request(opened, KNOWN, close=False)
    answer = opened.secured(first + request(opened, f"GET /simple/{SECRET}/ HTTP/1.1"))
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert answer.count(b"HTTP/1.1 ") == 2
    assert len(opened.index.seen) == 1


def test_http_2_is_not_offered(opened: Opened) -> None:
    answer = opened.secured(request(opened, KNOWN), alpn=("h2", "http/1.1"))
    assert answer.startswith(b"HTTP/1.1 200 ")


PLAIN = {
    "another host": f"CONNECT {SECRET}.example:443 HTTP/1.1\r\nHost: x\r\n\r\n",
    "another port": "CONNECT localhost:1 HTTP/1.1\r\nHost: localhost:1\r\n\r\n",
    "an address": "CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: x\r\n\r\n",
    "a host with a name": f"CONNECT {SECRET}@localhost:{{port}} HTTP/1.1\r\nHost: x\r\n\r\n",
    "a request without TLS": f"GET http://localhost:{{port}}/simple/{SECRET}/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "a known page without TLS": "GET http://localhost:{port}/simple/shoplib/ HTTP/1.1\r\nHost: x\r\n\r\n",
    "an upload without TLS": f"PUT http://localhost:{{port}}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n{SECRET}",
    "more behind CONNECT": f"CONNECT localhost:{{port}} HTTP/1.1\r\nHost: x\r\n\r\n{SECRET}",
    "HTTP/2": f"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n{SECRET}",
    "SOCKS": f"\x05\x01\x00\x05\x01\x00\x03\x0d{SECRET}\x01\xbb",
    "TLS at once": "\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00",
    "nothing": "",
}


@pytest.mark.parametrize("name", PLAIN)
def test_only_connect_to_an_index_is_answered(opened: Opened, name: str) -> None:
    opened.index.seen.clear()
    answer = opened.plain(PLAIN[name].replace("{port}", str(opened.index.port)).encode("latin-1"))
    assert answer == b"" or answer.startswith((b"HTTP/1.1 403 ", b"HTTP/1.1 200 Connection established\r\n\r\n"))
    assert b"200" not in answer or name == "more behind CONNECT"
    assert opened.index.seen == []


def test_a_redirect_is_not_followed(opened: Opened) -> None:
    opened.index.seen.clear()
    answer = opened.secured(request(opened, "GET /simple/moved/ HTTP/1.1"))
    assert answer.startswith(b"HTTP/1.1 403 ")
    assert [seen.split()[1] for seen in opened.index.seen] == ["/simple/moved/"]


def test_a_file_is_there_once_the_index_has_named_it(opened: Opened) -> None:
    opened.secured(request(opened, KNOWN))
    answer = opened.secured(request(opened, f"GET /files/{WHEEL} HTTP/1.1"))
    assert answer.partition(b"\r\n\r\n")[2] == opened.index.files[f"/files/{WHEEL}"]
    # What the wheel needs may be asked for then.
    assert opened.secured(request(opened, "GET /simple/needed/ HTTP/1.1")).startswith(b"HTTP/1.1 200 ")


def test_credentials_come_from_outside(opened: Opened) -> None:
    opened.index.seen.clear()
    opened.secured(request(opened, KNOWN))
    opened.secured(request(opened, "GET /npm/odd HTTP/1.1"))
    given = [line for seen in opened.index.seen for line in seen.split("\n") if line.startswith("authorization")]
    assert given == ["authorization: Basic YW5uOmluZGV4LXBhc3N3b3Jk", f"authorization: Bearer {TOKEN}"]
    told = [*opened.proxy.environment.values(), *map(str, opened.proxy.wrapper)]
    assert not [text for text in told if WORD in text or TOKEN in text]


def test_what_the_index_refuses_is_told(opened: Opened) -> None:
    opened.index.files.pop(f"/npm/odd/-/{TARBALL}")
    answer = opened.secured(request(opened, f"GET /npm/odd/-/{TARBALL} HTTP/1.1"))
    assert answer.startswith(b"HTTP/1.1 404 ")


def test_a_second_install_has_the_same_relay(opened: Opened) -> None:
    before = len(opening._STARTED)
    opened.open()
    assert len(opening._STARTED) == before


def test_what_nothing_was_noted_of_is_not_opened(opened: Opened) -> None:
    with pytest.raises(ContainmentError):
        opening.open_proxy(str(opened.state), "0" * 32, ROOM, opened.home, opened.environ)


OTHER = Wanted(packages=frozenset(("secret-of-the-person",)))
"""What somebody else would have an install ask for."""


def _write(opened: Opened, text: str) -> None:
    (opened.state / "registries" / f"{opened.name}.json").write_text(text)


def _note_of_another_installation(opened: Opened) -> None:
    other = opened.state.parent / "other"
    other.mkdir(mode=0o700)
    read_key(str(other))
    name = opening.note(str(other), ROOM, OTHER)
    _write(opened, (other / "registries" / f"{name}.json").read_text())


FORGED = {
    "as older versions wrote it": lambda opened: _write(opened, OTHER.to_json()),
    "without a seal": lambda opened: _write(opened, f"\n{ROOM}\n{OTHER.to_json()}"),
    "with a seal that nobody made": lambda opened: _write(opened, f"{'0' * 64}\n{ROOM}\n{OTHER.to_json()}"),
    "with the seal of what stood there": lambda opened: _write(
        opened,
        f"{(opened.state / 'registries' / f'{opened.name}.json').read_text().partition(chr(10))[0]}\n"
        f"{ROOM}\n{OTHER.to_json()}",
    ),
    "of another installation": _note_of_another_installation,
    "empty": lambda opened: _write(opened, ""),
    "no text": lambda opened: (opened.state / "registries" / f"{opened.name}.json").write_bytes(b"\xff\xfe"),
    "where the key is gone": lambda opened: (opened.state / "key").unlink(),
}


@pytest.mark.parametrize("how", FORGED)
def test_what_something_else_has_noted_is_not_opened(opened: Opened, how: str) -> None:
    """Else a contained install could carry out what the session has read, as the names that it asks for."""
    FORGED[how](opened)
    with pytest.raises(ContainmentError, match="not known any more"):
        opened.open()
    with pytest.raises(ContainmentError, match="not known any more"):
        relay.main(["0", opened.proxy.folder, str(opened.state), opened.name, ROOM, opened.home], opened.environ)


@pytest.mark.parametrize("room", ["", "0" * 32])
def test_what_was_noted_for_another_room_is_not_opened(opened: Opened, room: str) -> None:
    with pytest.raises(ContainmentError, match="not known any more"):
        opening.open_proxy(str(opened.state), opened.name, room, opened.home, opened.environ)


@pytest.mark.parametrize("address", ["http://localhost/simple", "localhost/simple", "https://h/simple?x", "ftp://h/x"])
def test_an_index_that_has_no_tls_is_none(opened: Opened, address: str) -> None:
    with pytest.raises(ContainmentError):
        opening.open_proxy(
            str(opened.state), opened.name, ROOM, opened.home, {**opened.environ, "PIP_INDEX_URL": address}
        )


def test_it_ends_when_nobody_is_connected_any_more(
    tmp_path: Path, index: LocalIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And whoever comes just then is answered all the same."""
    monkeypatch.setattr(relay, "IDLE_SECONDS", 0.4)
    monkeypatch.setenv("SSL_CERT_FILE", str(index.authority))
    folder = tmp_path / "relay"
    folder.mkdir()
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    read_key(str(state))
    name = opening.note(str(state), ROOM, Wanted())
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen()
    words = [str(listener.detach()), str(folder), str(state), name, ROOM, str(tmp_path)]
    runs = threading.Thread(target=relay.main, args=(words, {}))
    with opening.hold_turn(str(folder)):
        runs.start()
        time.sleep(1.5)  # it has waited long enough, and may not end now
        late = socket.socket(socket.AF_UNIX)
        late.connect(str(folder / "socket"))
    time.sleep(0.3)
    late.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    with late:
        late.settimeout(20)
        assert _all(late).startswith(b"HTTP/1.1 403 ")
    runs.join(30)
    assert not runs.is_alive()
    assert os.listdir(folder) == []
