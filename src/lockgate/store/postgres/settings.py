"""Where the shared database is: ``store.json``, what an address must say, and what no environment may say instead.

A gate runs as a hook of an agent's client, with variables that a project can set for it. libpq takes whatever an
address does not say from variables (``PGSSLMODE``, ``PGOPTIONS``, ...), so everything is said here.
See https://www.postgresql.org/docs/current/libpq-envars.html.
"""

from __future__ import annotations

import json
import os
from contextlib import contextmanager
from threading import Lock

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.resources.loopback import is_loopback
from lockgate.store.chain_links import PURPOSE_STORE, canonical, hash_with_key
from lockgate.store.files import own_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

    Address = Mapping[str, str]
    """What libpq is told, by the names of its parameters."""

_ENVIRONMENT = Lock()
LIBRARIES = "the shared store takes psycopg: in a clone of Lockgate, pip install '.[postgres]'"
_CHOOSE = "Choose it anew, by its address or here: lockgate store use sqlite"
_PORT = 5432
"""PostgreSQL's own, where an address says none."""
_SCHEMES = ("postgresql://", "postgres://")
_TRUE_TLS = ("verify-full",)
_SAID = {"sslcertmode": "allow", "min_protocol_version": "3.0", "max_protocol_version": "3.0", "connect_timeout": "2"}
"""What stands for nothing where libpq takes no empty value."""
_AT_HOME = {
    "passfile": ".pgpass",
    "sslrootcert": ".postgresql/root.crt",
    "sslcert": ".postgresql/postgresql.crt",
    "sslkey": ".postgresql/postgresql.key",
    "sslcrl": ".postgresql/root.crl",
}
"""Files that libpq looks for below ``HOME``."""


class StoreAddress(Record):
    """What ``store.json`` says."""

    url: str
    gate: str = ""
    """The gate's name for people; empty for user and host."""
    seal: str = ""
    """Of this installation: a person has chosen it."""


def read_where(path: str) -> StoreAddress:
    """Read ``store.json``.

    Raises:
        StoreError: It is not there, not the user's alone, or says something else than where the store is.
    """
    if not own_file(path):
        raise StoreError(f"{path} is missing")
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except (OSError, ValueError) as error:
        raise StoreError(f"{path} cannot be read. {_CHOOSE}") from error
    match found:
        case {"url": str(url), **more} if more.keys() <= {"gate", "seal"}:
            gate, seal = more.get("gate", ""), more.get("seal", "")
            if isinstance(gate, str) and isinstance(seal, str):
                return StoreAddress(url, gate, seal)
    raise StoreError(f"{path} does not say where the store is. {_CHOOSE}")


def seal_of(key: bytes, where: StoreAddress) -> str:
    """The seal of what ``store.json`` says, by the installation's key."""
    return hash_with_key(key, PURPOSE_STORE, canonical({"url": where.url, "gate": where.gate}))


def address_of(url: str) -> Address:
    """What libpq is told for a URL: all that it says, and nothing from any variable.

    Raises:
        StoreError: It is no address of PostgreSQL, or one on which others could read along or answer instead.
    """
    psycopg = psycopg_here()
    if not url.startswith(_SCHEMES):
        raise StoreError("the store's address must begin with postgresql://")
    try:
        said: dict[str, str] = {name: str(value) for name, value in psycopg.conninfo.conninfo_to_dict(url).items()}
    except psycopg.Error as error:
        raise StoreError("the store's address is not one that PostgreSQL understands") from error
    if "service" in said:
        raise StoreError("the store's address must say host and database itself, and name no service")
    if not said.get("dbname"):
        raise StoreError("the store's address must name a database: postgresql://host/database")
    _demand_tls(said)
    unsaid = _unsaid(psycopg)
    if "sslcrldir" in said:
        unsaid.pop("sslcrl", None)  # libpq takes neither where one of the two is not there
    return {**unsaid, "target_session_attrs": "read-write", **said}


def is_local(host: str) -> bool:
    """Whether a host is this machine: a folder with a Unix socket, or an address of the loopback."""
    return not host or host.startswith(("/", "@")) or is_loopback(host)


@contextmanager
def no_service() -> Iterator[None]:
    """Connect without ``PGSERVICE``, the one variable that nothing that an address says overrules."""
    if "PGSERVICE" not in os.environ and not _ENVIRONMENT.locked():
        yield
        return
    with _ENVIRONMENT:
        named = os.environ.pop("PGSERVICE", None)
        try:
            yield
        finally:
            if named is not None:
                os.environ["PGSERVICE"] = named


class AddressParts(Record):
    """An address in its parts, as they are written."""

    who: str
    """User and password; empty where neither is named."""
    hosts: str
    database: str
    query: str


def parts_of(url: str) -> AddressParts:
    """Take an address apart where libpq does: a password may hold what would end it in other addresses (``#?[``)."""
    rest = url.partition("://")[2]
    who, at, after = rest.partition("@")
    if not at or "/" in who:
        who, after = "", rest
    place, _, query = after.partition("?")
    hosts, _, database = place.partition("/")
    return AddressParts(who, hosts, database, query)


def without_password(url: str) -> str:
    """A URL without its password."""
    from urllib.parse import parse_qsl, urlencode

    parts = parts_of(url)
    user, colon, _ = parts.who.partition(":")
    query = [(name, "***" if _is_secret(name) else value) for name, value in parse_qsl(parts.query)]
    who = f"{user}{':***' if colon else ''}{'@' if parts.who else ''}"
    more = f"?{urlencode(query, safe='/*:,')}" if query else ""
    return f"{url.partition('://')[0]}://{who}{parts.hosts}/{parts.database}{more}"


def _is_secret(name: str) -> bool:
    return any(word in name for word in ("password", "secret", "scram_"))


def psycopg_here() -> Any:
    """The library.

    Raises:
        StoreError: It is not installed.
    """
    from lockgate.system.libraries import library

    try:
        return library("psycopg")
    except ImportError as error:
        raise StoreError(LIBRARIES) from error


def _demand_tls(said: Address) -> None:
    hosts = [*said.get("host", "").split(","), *filter(None, said.get("hostaddr", "").split(","))]
    if all(is_local(host) for host in hosts) or said.get("sslmode") in _TRUE_TLS:
        return
    raise StoreError(
        "a store on another machine takes ?sslmode=verify-full (and sslrootcert=...): without it others could read"
        " along, or answer in its place"
    )


def _unsaid(psycopg: Any) -> dict[str, str]:
    """What libpq would otherwise take from variables: its own defaults, and nothing where it has none."""
    from lockgate.system.folders import user_name

    found = {"client_encoding": "utf8", "application_name": "lockgate", "user": user_name(), **_at_home()}
    for option in psycopg.pq.Conninfo.get_defaults():
        name = option.keyword.decode()
        if option.envvar and name not in found and not name.startswith("service"):
            found[name] = (option.compiled or b"").decode() or _SAID.get(name, "")
    return found


def _at_home() -> dict[str, str]:
    """Files of the user that the system knows: a ``HOME`` of somebody else's would bring an authority with it."""
    import pwd

    try:
        home = pwd.getpwuid(os.geteuid()).pw_dir
    except KeyError:  # as in many containers: libpq has nothing but the variable to go by
        return {}
    return {name: os.path.join(home, path) for name, path in _AT_HOME.items()}


def database_near(path: str) -> tuple[str, int] | None:
    """The name and the port of the database that ``store.json`` names; ``None`` where it is on no server of here.

    Args:
        path: The file. Where it cannot be read there is no store, and the gate refuses everything.
    """
    from urllib.parse import parse_qs, unquote

    try:
        parts = parts_of(read_where(path).url)
        more = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    except (StoreError, ValueError):
        return None
    places = [_place(text) for text in parts.hosts.split(",")]
    hosts = (more.get("hostaddr") or more.get("host") or ",".join(host for host, _ in places)).split(",")
    if not any(_is_here(unquote(host)) for host in hosts):
        return None
    port = more.get("port", "") or next((port for _, port in places if port), "")
    return more.get("dbname") or unquote(parts.database), int(port) if port.isdecimal() else _PORT


def _is_here(host: str) -> bool:
    """Whether a host is this machine, also by the name that it calls itself by; how names are cased means nothing."""
    from lockgate.resources.hosts import is_here

    own = os.uname().nodename.lower().removesuffix(".")
    return is_local(host) or is_here(host) or host.lower().removesuffix(".") == own


def _place(text: str) -> tuple[str, str]:
    """Host and port in one of the places of an address; an IPv6 address stands in brackets."""
    host, _, rest = text[1:].partition("]") if text.startswith("[") else ("", "", "")
    if host:
        return host, rest.removeprefix(":")
    name, _, port = text.partition(":")
    return name, port
