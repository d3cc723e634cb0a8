"""Ports of this machine at which the gate itself listens for a person: no agent may talk to them.

A server on loopback is nobody else's, so agents may talk to one. The dashboard is one at which questions are answered:
an agent that had its link, or a browser's cookie, could say yes to its own.
"""

from __future__ import annotations

import re

from lockgate.analysis.surroundings import Surroundings
from lockgate.model import Effect, EffectKind, Variant

_BECAUSE = "the gate's own dashboard listens there, where a person decides"
_PLAIN_PORTS = {"http": 80, "https": 443}


def at_url(url: str, around: Surroundings) -> Effect | None:
    """What it is to talk to an address of this machine; ``None`` where the gate does not listen there.

    Args:
        url: The address. A port that is not known stands for each.
        around: The surroundings.
    """
    scheme, _, rest = url.partition("://") if "://" in url else ("http", "", url)
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    given = authority.partition("]")[2] if authority.startswith("[") else authority.partition(":")[1:]
    text = "".join(given).removeprefix(":")
    return _effect(url, text or str(_PLAIN_PORTS.get(scheme.lower(), 0)), around)


def at_port(what: str, port: str, around: Surroundings) -> Effect | None:
    """The same for a port of this machine, as it is written.

    Args:
        what: What is talked to, as a person reads it.
        port: The port. One that is no number stands for each.
        around: The surroundings.
    """
    return _effect(what, port, around)


def _effect(what: str, port: str, around: Surroundings) -> Effect | None:
    own = around.own_ports()
    # Programs read a number with zeros before it as they read it without.
    if not own or (port.isascii() and port.isdigit() and int(port) not in own):
        return None
    return Effect(EffectKind.TAMPER, what, "address:own", _BECAUSE, Variant.SELF)
