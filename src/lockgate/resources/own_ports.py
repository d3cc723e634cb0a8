"""Finds ports of this machine that belong to the gate or to contained servers.

No agent may talk to a port at which the gate listens for a person. What asks a contained server is contained with it.

A server on loopback is nobody else's, so agents may talk to one. The dashboard is one at which questions are answered:
an agent that had its link, or a browser's cookie, could say yes to its own. The shared store is another: bytes that
somebody has written by hand are as good there as those of PostgreSQL's own clients (:mod:`.own_database`). Who waits
for a database to come up looks alike, so a person may say yes to that where nothing untrusted was read.
"""

from __future__ import annotations

import re

from lockgate.core.model import Effect, EffectKind, Variant
from lockgate.resources.host_view import HostView

CONTAINED_SERVER = "shell:contained-server"
_BECAUSE = "the gate's own dashboard listens there, where a person decides"
_STORE = "the gate's own store listens there, with the labels and answers of every session"
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]+|[0-9]+|postgresql")
_SERVICES = {"postgresql": "5432"}
_PORTS = 65536
_LONGEST = 20
_PLAIN_PORTS = {"http": 80, "https": 443}


def effect_at_url(url: str, around: HostView) -> Effect | None:
    """The effect of talking to an address of this machine; ``None`` where no gate or contained server listens.

    Args:
        url: The address. A port that is not known stands for each.
        around: The view of this machine.
    """
    scheme, _, rest = url.partition("://") if "://" in url else ("http", "", url)
    authority = re.split(r"[/?#\\]", rest, maxsplit=1)[0].rpartition("@")[2]
    given = authority.partition("]")[2] if authority.startswith("[") else authority.partition(":")[1:]
    text = "".join(given).removeprefix(":")
    port = text or str(_PLAIN_PORTS.get(scheme.lower(), 0))
    return _dashboard_effect(url, port, around) or _effect_if_contained(url, port, around)


def effect_at_port(what: str, port: str, around: HostView, *, raw: bool = True) -> Effect | None:
    """The effect of talking to a port of this machine, as it is written; ``None`` as above.

    Args:
        what: What is talked to, as a person reads it.
        port: The port. One that is no number stands for each.
        around: The view of this machine.
        raw: Whether any bytes may go there, and not only those of another protocol than the store's.
    """
    found = _dashboard_effect(what, port, around)
    store = around.own_database() if raw and found is None else None
    if store is None or not _means(port, frozenset({store.port})):
        return found or _effect_if_contained(what, port, around)
    return Effect(EffectKind.TAMPER, what, "address:own-store", _STORE)


def is_contained(effect: Effect) -> bool:
    """Whether an effect is only that a contained server is asked."""
    return effect.rule == CONTAINED_SERVER


def ports_in(text: str) -> list[str]:
    """The ports that a word of a command may name, as they are written."""
    return [_SERVICES.get(found, found) for found in _NUMBER.findall(text)]


def _dashboard_effect(what: str, port: str, around: HostView) -> Effect | None:
    own = around.own_ports()
    if not own or not _means(port, own):
        return None
    return Effect(EffectKind.TAMPER, what, "address:own", _BECAUSE, Variant.SELF)


def _effect_if_contained(what: str, port: str, around: HostView) -> Effect | None:
    """What it is to ask a server that only contained commands of the session can reach: to be contained, too."""
    held = around.contained_ports()
    if not held or not _means(port, held):
        return None
    because = "a contained command of this session listens there, and nobody outside of its sandbox reaches it"
    return Effect(EffectKind.EXECUTE, what, CONTAINED_SERVER, because, Variant.UNLISTED)


def _means(port: str, own: frozenset[int]) -> bool:
    """Whether a port can be one of these. What is no number stands for each.

    Programs read a number with zeros before it as they read it without, or as an octal one. Of a number that is too
    large, glibc's ``getaddrinfo`` takes what fits into 16 bits.
    """
    if not (port.isascii() and port.isdigit()) or len(port) > _LONGEST:
        return True
    octal = [int(port, 8)] if port[0] == "0" and not {"8", "9"} & {*port} else []
    return any(number % _PORTS in own for number in (int(port), *octal))
