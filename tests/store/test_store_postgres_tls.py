"""A shared store on another machine, over TLS: whose certificate is taken, and whose is not.

The name of the host is the address's; the connection goes to this machine (``hostaddr``), as libpq allows.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lockgate.core.errors import StoreError
from support.ports import free_port
from support.postgres import Server, write_something

pytestmark = pytest.mark.slow

NAME = "db.example.org"


class Remote(NamedTuple):
    """A server that is reached over TLS, and what clients know of it."""

    server: Server
    port: int
    root: Path
    """The certificate of the authority that both sides trust."""
    own: Path
    """Beginning of the paths of a client's certificate (``.crt``) and key (``.key``)."""

    def url(self, database: str, user: str = "postgres", name: str = NAME, **said: object) -> str:
        more = {"sslmode": "verify-full", "sslrootcert": self.root, "hostaddr": "127.0.0.1", **said}
        options = "&".join(f"{key}={value}" for key, value in more.items())
        return f"postgresql://{user}@{name}:{self.port}/{database}?{options}"


def openssl(*words: object) -> None:
    subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True)


def authority(folder: Path) -> Path:
    """Make an authority; the path of its certificate."""
    folder.mkdir()
    names = ["-subj", "/CN=An authority", "-days", "2"]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", folder / "root.key"]
    openssl("req", "-x509", *key, *names, "-out", folder / "root.crt")
    return folder / "root.crt"


def signed(root: Path, name: str, host: str = "") -> Path:
    """Make a key and a certificate that an authority has signed; the beginning of their paths."""
    path = root.parent / name.partition(".")[0]
    key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{path}.key"]
    openssl("req", *key, "-subj", f"/CN={name}", "-out", f"{path}.csr")
    path.with_suffix(".ext").write_text(f"subjectAltName=DNS:{host or name}\n")
    by = ["-CA", root, "-CAkey", root.with_suffix(".key"), "-CAcreateserial", "-days", "2"]
    openssl("x509", "-req", "-in", f"{path}.csr", *by, "-extfile", f"{path}.ext", "-out", f"{path}.crt")
    return path


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    root = authority(tmp_path_factory.mktemp("tls") / "trusted")
    host, own = signed(root, NAME), signed(root, "postgres")
    port = free_port()
    server = Server(listen_addresses="127.0.0.1", port=str(port))
    try:
        for file, name in ((f"{host}.key", "server.key"), (f"{host}.crt", "server.crt"), (root, "root.crt")):
            placed = Path(shutil.copy(file, server.data / name))
            placed.chmod(0o600)
            os.chown(placed, server.data.stat().st_uid, -1)
        rules = ["local all all trust", "hostssl certified all 127.0.0.1/32 cert", "hostssl all all 127.0.0.1/32 trust"]
        (server.data / "pg_hba.conf").write_text("\n".join(rules) + "\n")
        with open(server.data / "postgresql.conf", "a") as settings:  # where it can be changed, and read anew
            settings.write("ssl = on\nssl_ca_file = 'root.crt'\n")
        server.start()
        yield Remote(server, port, root, own)
    finally:
        server.remove()


@pytest.fixture(scope="module")
def database(remote: Remote) -> str:
    return remote.server.store_database()


def test_a_server_whose_name_is_certified(remote: Remote, database: str, tmp_path: Path) -> None:
    ((before,),) = remote.server.execute("SELECT count(*) FROM lockgate.audit", database)
    write_something(tmp_path / "state", remote.url(database))
    ((after,),) = remote.server.execute("SELECT count(*) FROM lockgate.audit", database)
    assert after == before + 1


def another_authority(remote: Remote, folder: Path) -> dict[str, object]:
    return {"sslrootcert": authority(folder / "another")}


def no_authority(_remote: Remote, folder: Path) -> dict[str, object]:
    return {"sslrootcert": folder / "missing.crt"}


def another_name(_remote: Remote, _folder: Path) -> dict[str, object]:
    return {"name": "other.example.org"}


def a_name_around_it(_remote: Remote, _folder: Path) -> dict[str, object]:
    return {"name": f"{NAME}.example.com"}


def the_address_itself(_remote: Remote, _folder: Path) -> dict[str, object]:
    return {"name": "127.0.0.1"}


REFUSED = [another_authority, no_authority, another_name, a_name_around_it, the_address_itself]


@pytest.mark.parametrize("other", REFUSED)
def test_a_server_that_is_not_the_one_of_the_address_is_refused(
    remote: Remote, database: str, other: Callable[[Remote, Path], dict[str, Any]], tmp_path: Path
) -> None:
    url = remote.url(database, **other(remote, tmp_path))
    with pytest.raises(StoreError, match="certificate"):
        write_something(tmp_path / "state", url)


def test_a_server_without_tls_is_refused(remote: Remote, database: str, tmp_path: Path) -> None:
    remote.server.execute("ALTER SYSTEM SET ssl = off")
    try:
        remote.server.execute("SELECT pg_reload_conf()")
        wait_until(lambda: remote.server.execute("SHOW ssl") == [("off",)])
        with pytest.raises(StoreError, match="SSL"):
            write_something(tmp_path / "state", remote.url(database))
    finally:
        remote.server.execute("ALTER SYSTEM RESET ssl")
        remote.server.execute("SELECT pg_reload_conf()")
        wait_until(lambda: remote.server.execute("SHOW ssl") == [("on",)])


def test_no_variable_makes_a_certificate_good(
    remote: Remote, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"PGSSLMODE": "disable", "PGSSLROOTCERT": str(remote.root), "PGHOSTADDR": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    write_something(tmp_path / "state", remote.url(database))
    with pytest.raises(StoreError, match="certificate"):
        write_something(tmp_path / "other", remote.url(database, sslrootcert=authority(tmp_path / "another")))


def test_no_home_of_a_projects_makes_a_certificate_good(
    remote: Remote, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """libpq looks for authorities in the folder that ``HOME`` names."""
    (tmp_path / ".postgresql").mkdir()
    shutil.copy(remote.root, tmp_path / ".postgresql" / "root.crt")
    monkeypatch.setenv("HOME", str(tmp_path))
    unsaid = remote.url(database).replace(f"&sslrootcert={remote.root}", "")
    with pytest.raises(StoreError, match="certificate"):
        write_something(tmp_path / "state", unsaid)


def test_a_certificate_instead_of_a_password(remote: Remote, tmp_path: Path) -> None:
    remote.server.execute(f"ALTER DATABASE {remote.server.store_database()} RENAME TO certified")
    with pytest.raises(StoreError):
        write_something(tmp_path / "without", remote.url("certified"))
    mine = {"sslcert": f"{remote.own}.crt", "sslkey": f"{remote.own}.key"}
    write_something(tmp_path / "with", remote.url("certified", **mine))
    with pytest.raises(StoreError):
        write_something(tmp_path / "as-another", remote.url("certified", "somebody", **mine))


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.02)
