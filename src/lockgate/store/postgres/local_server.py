"""Whether the shared store of a state folder is on this machine, and which database it is: told without any library."""

from __future__ import annotations

import os

from lockgate.core.errors import StoreError
from lockgate.store.postgres.settings import is_local, parts_of, read_where

_PORT = 5432


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
    if is_local(host):
        return True
    name = host.lower().removesuffix(".")
    return name in ("localhost", os.uname().nodename.lower().removesuffix("."))


def _place(text: str) -> tuple[str, str]:
    """Host and port in one of the places of an address; an IPv6 address stands in brackets."""
    host, _, rest = text[1:].partition("]") if text.startswith("[") else ("", "", "")
    if host:
        return host, rest.removeprefix(":")
    name, _, port = text.partition(":")
    return name, port
