"""Finds addresses on this machine that make it talk to another one.

A server on loopback is neither source nor sink, but some do as they are told: a proxy or an importer fetches the
address in its query. An open redirect sends the client there. A browser's or a container engine's remote control opens
pages and starts programs. What is asked of those is not local.
"""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.resources.hosts import canonical_host, is_here

_INNER = lazy_re(
    r"(?:\b(?:https?|wss?|ftps?|git|ssh|tcp|udp|gopher|dict|ldaps?):/{0,2}|(?<!:)//|\\\\)([^/?#&\s\"'<>\\]*)",
    re.IGNORECASE,
)
_ESCAPED = lazy_re(r"%([0-9a-fA-F]{2})")
_CONTROLLING = {"2375": "", "2376": "", "11434": r"/api/(?:pull|push)\b"}
"""Ports on which programs take orders, and the paths of those that lead elsewhere: container engines
(https://docs.docker.com/reference/cli/dockerd/), Ollama (https://github.com/ollama/ollama/blob/main/docs/api.md)."""
_DEEPEST = 3


def leads_elsewhere(url: str) -> bool:
    """Whether an address of this machine names another machine in its path or query, or is a remote control."""
    place, rest = re.match(r"(?:[a-z+.-]+://)?([^/?#]*)(.*)", url, re.IGNORECASE | re.DOTALL).groups()  # type: ignore[union-attr]
    orders = _CONTROLLING.get(place.rpartition(":")[2])
    if orders is not None and re.search(orders, rest):
        return True
    for _ in range(_DEEPEST):
        if any(not _is_here(inner) for inner in _INNER.findall(rest) if inner):
            return True
        plain = _ESCAPED.sub(lambda found: chr(int(found.group(1), 16)), rest)
        if plain == rest:
            return False
        rest = plain
    return True


def _is_here(authority: str) -> bool:
    place = authority.rpartition("@")[2]
    host = place[1:].partition("]")[0] if place.startswith("[") else place.partition(":")[0]
    return canonical_host(host) is not None and is_here(host)
