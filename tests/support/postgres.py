"""A real PostgreSQL server for tests: made in a folder of its own, reached by a Unix socket, and gone at the end.

``scripts/setup_system.sh`` installs it. It refuses to run as root, so there it runs as ``nobody``.
"""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

_PLACES = ("/usr/lib/postgresql/*/bin", "/opt/homebrew/opt/postgresql@*/bin", "/usr/local/opt/postgresql@*/bin")
_NOBODY = 65534
_FAST = {
    "fsync": "off",
    "full_page_writes": "off",
    "max_connections": "120",
    "shared_buffers": "32MB",
    "max_wal_size": "64MB",
    "min_wal_size": "32MB",
}
"""What a crash of the whole machine needs is left out: a killed server loses nothing by it."""
_MEMORY = Path("/dev/shm")
"""A database is three hundred files: on a disk, to make and to remove one takes longer than most tests."""
_ENOUGH = 2 << 30
"""Bytes that must be free there."""


def program(name: str) -> str:
    """A program of PostgreSQL: Debian keeps them out of the path, and what lies there may be of another version."""
    places = sorted((path for place in _PLACES for path in glob.glob(place)), key=_version, reverse=True)
    found = next((path for place in places if os.access(path := os.path.join(place, name), os.X_OK)), None)
    found = found or shutil.which(name)
    assert found, f"{name} of PostgreSQL is missing: run scripts/setup_system.sh"
    return found


def _version(place: str) -> list[int]:
    return [int("".join(filter(str.isdigit, part)) or 0) for part in place.split("/") if any(map(str.isdigit, part))]


def _place() -> Path:
    """Where a server's folder goes: into memory where there is enough of it. Both paths are short, for the socket."""
    enough = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ENOUGH
    return _MEMORY if enough else Path("/tmp")


class Server:
    """One server with its folder."""

    def __init__(self, of: Server | None = None, **settings: str) -> None:
        """Make one; a standby of another one where that is given."""
        self.folder = Path(tempfile.mkdtemp(prefix="lg-pg-", dir=_place()))
        self.data = self.folder / "data"
        self._settings = {**_FAST, **settings}
        self._process: subprocess.Popen[bytes] | None = None
        self._databases = 0
        self._prepared = ""
        self._strategy: str | None = None
        if os.geteuid() == 0:
            os.chown(self.folder, _NOBODY, _NOBODY)
        command = [
            program("initdb"),
            "-D",
            self.data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
            "-N",
        ]
        if of is not None:
            source = ["-h", of.folder, "-U", "postgres", "--checkpoint=fast", "--write-recovery-conf", "--no-sync"]
            command = [program("pg_basebackup"), "-D", self.data, *source]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, **self._as_other())

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {"listen_addresses": "", "unix_socket_directories": str(self.folder), **self._settings}
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        with open(self.folder / "log", "ab") as log:
            self._process = subprocess.Popen(
                [program("postgres"), "-D", self.data, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                **self._as_other(),
            )
        until = time.monotonic() + 60
        while not self.answers():
            assert self._process.poll() is None, (self.folder / "log").read_text()
            assert time.monotonic() < until, "PostgreSQL does not start"
            time.sleep(0.02)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Stop it: SIGINT ends all connections, SIGKILL is a crash."""
        if self._process is None:
            return
        process, self._process = self._process, None
        if how is signal.SIGKILL:
            _send(process.pid, how)
        else:
            process.send_signal(how)
        process.wait(timeout=60)
        if how is signal.SIGKILL:
            (self.data / "postmaster.pid").unlink(missing_ok=True)

    @property
    def pid(self) -> int:
        """The number of its first process, whose children serve the connections."""
        assert self._process is not None
        return self._process.pid

    def signal(self, how: signal.Signals) -> None:
        """Send a signal to the server and all of its processes."""
        assert self._process is not None
        _send(self._process.pid, how)

    def remove(self) -> None:
        """Stop it at once, and remove its folder."""
        self.stop(signal.SIGKILL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def answers(self) -> bool:
        """Whether it takes connections."""
        import psycopg

        try:
            with psycopg.connect(self.url("postgres"), connect_timeout=2):
                return True
        except psycopg.OperationalError:
            return False

    def url(self, database: str, user: str = "postgres") -> str:
        """The address of a database."""
        port = self._settings.get("port", "5432")
        return f"postgresql://{user}@/{database}?host={self.folder}&port={port}"

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run a statement as the server's owner."""
        import psycopg

        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def database(self, template: str = "template0") -> str:
        """Make a database; returns its name."""
        self._databases += 1
        name = f"t{self._databases}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}{self._copying()}")
        return name

    def _copying(self) -> str:
        """Have the files of a template copied: by default, newer servers write all of them into their log, too."""
        if self._strategy is None:
            newer = int(self.execute("SHOW server_version_num")[0][0]) >= 150000
            self._strategy = " STRATEGY file_copy" if newer else ""
        return self._strategy

    def store_database(self) -> str:
        """Make a database with Lockgate's tables; returns its name."""
        if not self._prepared:
            from lockgate.store.postgres.migrations import migrate

            self._prepared = self.database()
            migrate(self.url(self._prepared))
        return self.database(self._prepared)

    def drop(self, name: str) -> None:
        """Remove a database, whoever still uses it."""
        self.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")

    def _as_other(self) -> dict[str, Any]:
        found: dict[str, Any] = {"cwd": "/", "env": {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}}
        if os.geteuid() == 0:
            found.update(user=_NOBODY, group=_NOBODY, extra_groups=[])
        return found


def _send(server: int, how: signal.Signals) -> None:
    """Signal a server and its children, which are in process groups of their own."""
    table = subprocess.run(["ps", "-axo", "pid=,ppid="], capture_output=True, text=True, check=True).stdout
    pairs = [line.split() for line in table.splitlines()]
    for pid in [server, *(int(child) for child, parent in pairs if int(parent) == server)]:
        with suppress(ProcessLookupError):
            os.kill(pid, how)


@contextmanager
def running(of: Server | None = None, **settings: str) -> Iterator[Server]:
    """A server as long as the context lasts."""
    server = Server(of, **settings)
    try:
        server.start()
        yield server
    finally:
        server.remove()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[Server]:
    """One server for all tests of a worker that do it no harm."""
    with running() as server:
        yield server


@pytest.fixture
def postgres_url(postgres_server: Server) -> Iterator[str]:
    """The address of a database of the test's own, with Lockgate's tables."""
    name = postgres_server.store_database()
    yield postgres_server.url(name)
    postgres_server.drop(name)


def use(state: Path, url: str, gate: str = "") -> Path:
    """Let a state folder use a shared store, as a person has chosen it."""
    from lockgate.store.administration import use_shared

    state.mkdir(mode=0o700, parents=True, exist_ok=True)
    use_shared(str(state), url, gate)
    return state


def write_something(state: Path, url: str) -> None:
    """What a gate does first with a shared store: it names it in its state folder, and records a session."""
    from lockgate.store.opening import open_store
    from lockgate.store.rows import SessionRow

    store = open_store(str(use(state, url)), busy_seconds=2)
    try:
        with store.transaction() as tx:
            tx.put_session(SessionRow("s1", "claude-code", "/w", "/w", started_at=1.5, seen_at=2.25))
            tx.append_audit(store.clock(), {"event": "test"})
    finally:
        store.close()


if __name__ == "__main__":  # a server to try things with: prints the address of a store, and ends with its input
    with running() as one:
        print(one.url(one.store_database()), flush=True)
        sys.stdin.read()
