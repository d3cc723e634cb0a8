"""Asks a service's API with the person's log-in: GET alone, one address, one deadline.

No redirect is followed, so that the token reaches no other place. It is kept nowhere.
Nothing but JSON of some length is read.
Source: https://docs.github.com/en/rest/using-the-rest-api/getting-started-with-the-rest-api and
https://docs.gitlab.com/api/rest/
"""

from __future__ import annotations

import json
import os
import re
import ssl
import threading
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from urllib.parse import urlsplit

from lockgate.core.errors import LockgateError
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.loopback import is_loopback
from lockgate.system.programs import run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from lockgate.gate.authors.service_object import Service

SECONDS = 1.0
"""For everything about one call. A hook has three."""
_LARGEST = 4 * 1024 * 1024
_CHUNK = 64 * 1024
_SAID = {
    401: "it does not accept the log-in",
    403: "it refuses the log-in, or limits how much is asked",
    404: "it knows nothing of it",
    429: "it limits how much is asked",
}
FOLDERS = (
    "/usr/bin",
    "/usr/local/bin",
    "/opt/homebrew/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/opt/local/bin",
    "/snap/bin",
)
"""Where the client is looked for: ``PATH`` is the agent's, too, and may lead to a program of the project."""
_KEPT = ("HOME", "USER", "LOGNAME", "LANG", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Variables that the client gets: those that a keyring needs. A token in a variable may be the agent's own."""
_ACCEPTS: Mapping[Service, Mapping[str, str]] = {
    "github": {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": "2022-11-28"},
    "gitlab": {"Accept": "application/json"},
}
_TOKEN = re.compile(r"[A-Za-z0-9_.-]{10,2000}")


class UnansweredError(LockgateError):
    """The service did not answer as it must. The message says why, without anything of what it said."""


def api_of(host: str, configured: str = "", kind: Service = "github") -> str:
    """The address of a host's API.

    Args:
        host: The host, in lower case.
        configured: What a person's layer says that it is; empty where none does.
        kind: Which service it is.

    Raises:
        UnansweredError: What is configured is no address to which a token may go.
    """
    if not configured and kind == "gitlab":
        return f"https://{host}/api/v4"
    if not configured:
        return "https://api.github.com" if host == "github.com" else f"https://{host}/api/v3"
    url = urlsplit(configured)
    is_plain = url.scheme == "http" and is_loopback(url.hostname or "")
    if not url.hostname or not (is_plain or url.scheme == "https") or "@" in url.netloc or url.query or url.fragment:
        raise UnansweredError(f"trust.apis: {host} has no address of an API: https://HOST/PATH")
    return configured


def token_for(host: str, environ: Mapping[str, str], seconds: float, folders: Sequence[str] = ()) -> str:
    """The token with which ``gh`` is logged in to a host.

    Args:
        host: The host.
        environ: The variables of whoever asks.
        seconds: How long it may take.
        folders: Where ``gh`` is looked for, if not in those of the system.

    Raises:
        UnansweredError: There is none.
    """
    return _token_of("gh", ("auth", "token", "--hostname", host), host, environ, seconds, folders)


def gitlab_token_for(host: str, environ: Mapping[str, str], seconds: float, folders: Sequence[str] = ()) -> str:
    """The token with which ``glab`` is logged in to a host, as :func:`token_for` tells that of ``gh``.

    Raises:
        UnansweredError: There is none.
    """
    return _token_of("glab", ("config", "get", "token", "--host", host), host, environ, seconds, folders)


def _token_of(
    name: str, words: Sequence[str], host: str, environ: Mapping[str, str], seconds: float, folders: Sequence[str]
) -> str:
    program = next(
        (path for folder in folders or FOLDERS if os.access(path := os.path.join(folder, name), os.X_OK)), ""
    )
    if not program:
        raise UnansweredError(f"{name} is not installed in a folder of the system")
    kept = {name: environ[name] for name in _KEPT if name in environ}
    said = run([program, *words], seconds, cwd="/", environ={**kept, "PATH": os.defpath})
    token = said.out.strip()
    if said.problem or said.code != 0 or not _TOKEN.fullmatch(token):
        raise UnansweredError(f"nobody is logged in to {host} with {name}")
    return token


class ReadingApi:
    """The API of one service."""

    def __init__(self, address: str, token: str, until: float, kind: Service = "github") -> None:
        """Connect to nothing yet.

        Args:
            address: As :func:`api_of` gives it.
            token: The person's own.
            until: When all answers must be there, by the clock that only goes forward.
            kind: Which service it is.
        """
        self._url = urlsplit(address)
        self._until = until
        self.asked = 0
        """How many requests were sent."""
        self._headers = {
            **_ACCEPTS[kind],
            "Accept-Encoding": "identity",
            "Authorization": f"Bearer {token}",
            "User-Agent": "lockgate",
        }

    def get_all(self, paths: Sequence[str]) -> list[Any]:
        """The answers to several requests at once.

        Raises:
            UnansweredError: One of them is missing.
        """
        found: list[Any] = [UnansweredError("it does not answer in time")] * len(paths)
        connections = [self._connection() for _ in paths]

        def ask(place: int) -> None:
            try:
                found[place] = self._get(connections[place], paths[place])
            except UnansweredError as error:
                found[place] = error
            except (OSError, HTTPException, ValueError) as error:
                found[place] = UnansweredError(f"it cannot be reached ({type(error).__name__})")

        self.asked += len(paths)
        threads = [threading.Thread(target=ask, args=(place,), daemon=True) for place in range(len(paths))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(max(self._until - time.monotonic(), 0.0))
        answers = list(found)  # whoever comes late changes nothing any more
        for connection in connections:
            _end(connection)
        problem = next((each for each in answers if isinstance(each, UnansweredError)), None)
        if problem is not None:
            raise problem
        return answers

    def _connection(self) -> HTTPConnection:
        host, port = self._url.hostname or "", self._url.port
        if self._url.scheme == "http":
            return HTTPConnection(host, port, timeout=SECONDS)
        return HTTPSConnection(host, port, timeout=SECONDS, context=ssl.create_default_context())

    def _get(self, connection: HTTPConnection, path: str) -> Any:
        connection.request("GET", self._url.path.rstrip("/") + path, headers=self._headers)
        with connection.getresponse() as answer:
            return self._read(answer)

    def _read(self, answer: HTTPResponse) -> Any:
        if answer.status != 200:
            said = (
                "it sends elsewhere" if 300 <= answer.status < 400 else _SAID.get(answer.status, "it does not answer")
            )
            raise UnansweredError(f"{said} (status {answer.status})")
        kind = answer.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json" or answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise UnansweredError("its answer is no plain JSON")
        try:
            return json.loads(self._body(answer))
        except (ValueError, RecursionError):
            raise UnansweredError("its answer is no plain JSON") from None

    def _body(self, answer: HTTPResponse) -> bytes:
        parts, size = [], 0
        while part := answer.read1(_CHUNK):
            size += len(part)
            if size > _LARGEST:
                raise UnansweredError("its answer is too large")
            if time.monotonic() > self._until:
                raise UnansweredError("it does not answer in time")
            parts.append(part)
        if answer.length:
            raise UnansweredError("its answer breaks off")
        return b"".join(parts)


def _end(connection: HTTPConnection) -> None:
    """End a connection, so that a thread which reads from it ends too."""
    import socket

    if connection.sock is not None:
        with suppress(OSError):
            connection.sock.shutdown(socket.SHUT_RDWR)
    connection.close()
