"""Runs the dashboard's process: its socket, its links, and its end."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import uvicorn
from starlette.types import ASGIApp

from lockgate.core.errors import LockgateError, RemoteError
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.core.record import Record
from lockgate.service.http.app import make_app
from lockgate.service.http.auth.login_links import LoginLinkFile
from lockgate.service.http.auth.sessions import LINK_SECONDS, Access
from lockgate.service.http.context import DashboardContext, Tools
from lockgate.service.http.middleware import HostNames
from lockgate.service.http.port_file import OwnPort
from lockgate.service.http.static_files import StaticFiles
from lockgate.service.listening.sockets import address, check_address, tcp_socket
from lockgate.service.listening.timeout_protocol import Server, TimeoutProtocol
from lockgate.store.audit.record import event_record
from lockgate.system.folders import Folders, user_name

LOOPBACK = "127.0.0.1"
_DEFAULT_PORTS = {True: 443, False: 80}
_CONNECTIONS = 256
_END_SECONDS = 2
"""How long connections may take to end with the process."""


_TWICE = (
    "A link was used by two browsers: the first of them was logged out, and the second was not let in. If both were"
    " yours, press Enter for another link. If not, somebody else has read the link: look at what was approved"
    " (lockgate audit show), and find out who can read this terminal."
)

log = logging.getLogger("lockgate.service.http")


class DashboardSettings(Record):
    """The settings of a dashboard."""

    listen: str = f"{LOOPBACK}:0"
    """``HOST:PORT``; port 0 is any that is free."""
    names: tuple[str, ...] = ()
    """Further names that browsers may call it by."""
    certificate: str = ""
    key: str = ""
    tokens_only: bool = False
    """Whether only programs with a token get in: then there is no link."""
    browser: bool = True
    """Whether the link is opened."""


def check(settings: DashboardSettings) -> None:
    """Make sure that the settings can be served.

    Raises:
        RemoteError: They cannot, or it would not be safe.
    """
    host = check_address(settings.listen, settings.certificate, settings.key)
    if _is_any(host) and not settings.names:
        raise RemoteError(f"{host} is no name that a browser can call: give --name")


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def names_of(settings: DashboardSettings, port: int) -> tuple[HostNames, str]:
    """What browsers may call it, and how a link does.

    Args:
        settings: The settings.
        port: The port that it listens on.
    """
    host, _ = address(settings.listen)
    tls = bool(settings.certificate)
    # Not `localhost` too: where that is ::1, another user may listen there.
    called = [*settings.names, *([] if _is_any(host) else [host])]
    written = [_host_in_url(name) for name in called]
    hosts = {f"{name}:{port}" for name in written}
    if port == _DEFAULT_PORTS[tls]:
        hosts |= set(written)
    names = HostNames(frozenset(hosts), tls)
    return names, f"{names.scheme}://{written[0]}:{port}/"


def _host_in_url(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


class Dashboard:
    """A running dashboard."""

    def __init__(self, where: Folders, settings: DashboardSettings, tools: Tools, say: Callable[[str], None]) -> None:
        """Listen; nothing is answered yet.

        Args:
            where: The folders.
            settings: Where it listens, and for whom.
            tools: What the command line can do too.
            say: Tells the person a line.

        Raises:
            RemoteError: It cannot listen there, or that would not be safe.
            StoreError: The state folder cannot be used.
        """
        check(settings)
        host, port = address(settings.listen)
        self._settings, self._say = settings, say
        self._timer: asyncio.TimerHandle | None = None
        with ExitStack() as held:
            self._socket = tcp_socket(host, port)
            held.callback(self._socket.close)
            port = self._socket.getsockname()[1]
            held.callback(OwnPort(where.state, port).remove)
            held.callback(self._socket.close)  # before the port has no mark any more
            names, self.url = names_of(settings, port)
            self._access = Access(user_name())
            self._leader = LoginLinkFile(where.state)
            held.callback(self._leader.remove)
            self._access.on_link_over = self._leader.remove
            self._access.on_twice = self._tell_used_twice
            sparing = RateLimitedLog()
            log.addFilter(sparing)
            held.callback(log.removeFilter, sparing)
            self._context = DashboardContext(where, names, self._access, tools)
            held.callback(self._context.close)
            self._config = self._configure(make_app(self._context, StaticFiles()))
            self._held = held.pop_all()

    async def run(self) -> None:
        """Answer until SIGINT or SIGTERM."""
        with self._held:
            server = Server(self._config)
            loop = asyncio.get_running_loop()
            for name in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(name, self._end, server)
            self._say(f"the dashboard listens at {self.url} until Ctrl-C")
            if not self._settings.tokens_only:
                self._offer_link(opened=self._settings.browser)
                self._listen_to_keys(loop)
            # Signals are handled above: they must end it also while a stream is open.
            await server.serve([self._socket])

    def _end(self, server: uvicorn.Server) -> None:
        server.should_exit = True
        for end in self._context.at_end:
            end()

    def _configure(self, app: ASGIApp) -> uvicorn.Config:
        config = uvicorn.Config(
            app,
            http=TimeoutProtocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=True,
            proxy_headers=False,
            ssl_certfile=self._settings.certificate or None,
            ssl_keyfile=self._settings.key or None,
            timeout_graceful_shutdown=_END_SECONDS,
            limit_concurrency=_CONNECTIONS,
        )
        try:
            config.load()
        except OSError as error:
            raise RemoteError(f"the certificate or its key cannot be used: {error.strerror}") from error
        return config

    def _offer_link(self, *, opened: bool) -> None:
        """Make a link, tell it, and open it."""
        link = f"{self.url}#login={self._access.new_link()}"
        self._say(f"log in, once and within a minute: {link}")
        if opened:
            told = "no browser could be opened: open the link yourself"
            loop = asyncio.get_running_loop()
            self._leader.open(link, lambda: loop.call_soon_threadsafe(self._say, told))
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(LINK_SECONDS, self._leader.remove)

    def _tell_used_twice(self) -> None:
        """Tell the person, and the audit, that a link was used by two browsers."""
        self._say(_TWICE)
        asyncio.get_running_loop().run_in_executor(None, self._record_twice)

    def _record_twice(self) -> None:
        try:
            with self._context.store() as store:
                if store is not None:
                    with store.transaction() as tx:
                        tx.append_audit(
                            store.clock(), event_record(Context("dashboard", Subject("")), "login-twice", {})
                        )
        except Exception as error:  # noqa: BLE001 - nobody awaits this
            said = str(error)[:300] if isinstance(error, LockgateError) else type(error).__name__
            log.warning("a record could not be written", extra={"facts": {"error": said}})

    def _listen_to_keys(self, loop: asyncio.AbstractEventLoop) -> None:
        """Make another link on Enter, where a person sits at the terminal."""
        if not sys.stdin.isatty():
            return

        def on_key() -> None:
            with suppress(OSError):
                if os.read(sys.stdin.fileno(), 4096):
                    self._offer_link(opened=False)
                    return
            loop.remove_reader(sys.stdin.fileno())

        loop.add_reader(sys.stdin.fileno(), on_key)
        self._say("Enter makes another link")


MOST = 20
"""Lines that say the same, but for their facts, within :data:`SECONDS`."""
SECONDS = 60.0


class RateLimitedLog(logging.Filter):
    """Leaves out what was said too often, and has the next line of its kind tell how many were.

    So no page in the person's browser can fill the log by asking and being refused.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Nothing was said yet.

        Args:
            clock: Seconds of a monotonic clock.
        """
        super().__init__()
        self._clock = clock
        self._said: dict[str, tuple[float, int]] = {}
        """Since when each text is counted, which is one of this program's own, and how often it was to be said."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a line is written."""
        now = self._clock()
        since, count = self._said.get(record.msg, (now, 0))
        if now - since >= SECONDS:
            if count > MOST:
                record.facts = {**getattr(record, "facts", {}), "left_out": count - MOST}
            since, count = now, 0
        self._said[record.msg] = since, count + 1
        return count < MOST
