"""Reads the hosts in the address of a database, in each of the ways clients write one."""

from __future__ import annotations

import re

from lockgate.resources.hosts import canonical_host
from lockgate.shell.state.abstract_text import is_known

SOCKET = "/"
"""What stands for a socket of this machine, among hosts."""
UNCLEAR = "?"
"""What stands for a host that is only known at run time."""
_ELSEWHERE = re.compile(r"host|proxy|server|service|socket|srv", re.IGNORECASE)
"""Parameters with such a name can say another place than the authority does."""
_PAIR = re.compile(r"\s*(\w+)\s*=\s*('(?:[^'\\]|\\.)*'|[^\s'\\]*)(?=\s|$)")


def hosts_in(text: str) -> list[str]:
    """The hosts that the address of a database names, or libpq's pairs; none where it is a name by itself."""
    scheme, mark, rest = text.partition("://")
    if mark:
        return hosts_of(scheme.lower(), f"//{rest}")
    return keyword_hosts(text) if "=" in text else []


def hosts_of(scheme: str, rest: str) -> list[str]:
    """The hosts of an address, in all readings: libpq, redis-cli and drivers end a password at different ``@``."""
    if not is_known(rest) or not rest.startswith("//") or scheme.endswith("+srv"):
        return [UNCLEAR]
    authority, mark, path = re.match(r"//([^/?#]*)([/?#]?)(.*)", rest, re.DOTALL).groups()  # type: ignore[union-attr]
    if authority.count("@") > 1 or "@" in path or re.search(r"[\s\\\x00-\x1f]", rest):
        return [UNCLEAR]
    hosts = [_host(place) for place in authority.rpartition("@")[2].split(",")]
    query = path.partition("?")[2] if mark != "?" else path
    return hosts + [host for pair in re.split(r"[&;]", query) for host in _parameter(*pair.partition("=")[::2])]


def _host(place: str) -> str:
    """The host in ``host:port``; the folder of a socket may stand there escaped."""
    if place.lower().startswith("%2f"):
        return SOCKET
    host = place[1:].partition("]")[0] if place.startswith("[") else place.partition(":")[0]
    if not host:
        return SOCKET
    return host if canonical_host(host) is not None else UNCLEAR


def _parameter(key: str, value: str) -> list[str]:
    """Where one parameter of a connection leads; most lead nowhere."""
    key = key.strip().lower()
    if key in ("host", "hostaddr"):
        return [SOCKET if one.startswith(("/", "@")) else _host(one) for one in value.split(",")]
    return [UNCLEAR] if _ELSEWHERE.search(key) or "%" in key else []


def keyword_hosts(text: str) -> list[str]:
    """The hosts in libpq's ``key=value`` string; without one, it is the socket of this machine."""
    if not is_known(text):
        return [UNCLEAR]
    found, at = [], 0
    while at < len(text) and text[at:].strip():
        pair = _PAIR.match(text, at)
        if pair is None:
            return [UNCLEAR]
        key, value = pair.groups()
        found += _parameter(key, re.sub(r"\\(.)", r"\1", value[1:-1]) if value.startswith("'") else value)
        at = pair.end()
    return found
