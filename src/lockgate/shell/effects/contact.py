"""Whom a command talks to, and whether it sends anything beside the address."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.addresses import host_of, normalise
from lockgate.resources.hosts import is_here, is_loopback, is_metadata, trusted
from lockgate.shell.knowledge import lookup as knowledge
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, known, shown
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.programs.invoke import Invocation

_SCHEME = lazy_re(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?")
_AUTHORITY = lazy_re(r"https?://([^/?#\x00-\x02@{}\[\]\\]+?)(:[0-9\x01\x02]*)?(?=[/?#]|$)")
_READING = frozenset({"http", "https", "ftp", "ftps"})


class Contact:
    """What is known of a command's dealings with other machines."""

    def __init__(self) -> None:
        self.targets: list[tuple[str, Arg]] = []
        """What kind of name (url, host, lookup), and the word."""
        self.sends = ""
        """Why more than the address is sent, empty where it is not."""
        self.rerouted = False
        """Whether an option can send the request elsewhere than the address says."""
        self.here = False
        """Whether an option sends all requests to a program of this machine."""

    def effects(self, invocation: Invocation) -> list[Effect]:
        """All effects of the contacts."""
        if self.here and not self.rerouted:
            return []
        found = [effect for kind, arg in self.targets for effect in self._one(kind, arg, invocation)]
        if invocation.args[0].text.rpartition("/")[2] in knowledge.table("postgresql_clients"):
            from lockgate.shell.effects.own_database import reached

            own = reached(invocation)
            found += [] if own is None else [own]
        if not self.targets and self.sends and self.rerouted:
            found.append(self._egress(invocation, invocation.what))
        return found

    def _one(self, kind: str, arg: Arg, invocation: Invocation) -> list[Effect]:
        text = arg.text
        if kind == "remote":
            return self._effects(text, normalise(text) or "", host_of(text), invocation)
        if kind == "host":
            return self._host(_bare_host(text), invocation, send=True)
        if kind == "lookup":
            return self._lookup(_bare_host(text), invocation)
        scheme = _SCHEME.match(text)
        named = scheme is not None and (scheme.group(2) is not None or scheme.group(1).lower() == "file")
        url = text if named else f"http://{text}"
        name = url.partition(":")[0].lower()
        if name == "file":
            from lockgate.shell.effects.files import read, write

            path = Arg(re.sub("^//[^/]*", "", url[5:]), arg.glob)
            return (write if self.sends else read)(path, invocation.machine, invocation.scope)
        if name not in _READING and known(name):
            self.sends = self.sends or f"`{name}:` is a protocol that can send anything"
        return self._url(url, invocation)

    def _url(self, url: str, invocation: Invocation) -> list[Effect]:
        host = host_of(url) if known(url) and not _expanding(url) else None
        if host is None and (authority := _AUTHORITY.match(url)) is not None:
            host = host_of(f"http://{authority.group(1)}/")
        if host is None:
            return self._effects(url, "", None, invocation)
        if is_here(host) and not self.rerouted:
            from lockgate.resources.relays import leads_elsewhere

            if not leads_elsewhere(url):
                from lockgate.resources.own_ports import at_url

                own = at_url(url, invocation.machine.around)
                return [] if own is None else [own]
            host = None
        whole = known(url) and not _expanding(url)
        return self._effects(url, normalise(url) or "" if whole else "", host, invocation)

    def _host(self, host: str, invocation: Invocation, *, send: bool) -> list[Effect]:
        if send and not self.sends:
            self.sends = f"`{invocation.what}` connects to another machine"
        return self._effects(host, "", host if known(host) else None, invocation)

    def _lookup(self, host: str, invocation: Invocation) -> list[Effect]:
        if not known(host):
            because = "a name that is put together at run time carries data to whoever answers for it"
            return [Effect(EffectKind.EGRESS, shown(host), "shell:composed-name", because, gives=Label.UNTRUSTED)]
        if re.fullmatch(r"[0-9.]+|[0-9a-fA-F]*:[0-9a-fA-F:]+", host) and not is_loopback(host):
            return self._effects(host, normalise(f"http://{host}/") or "", host, invocation)
        return self._effects(host, normalise(f"https://{host}/") or "", host, invocation)

    def _effects(self, what: str, address: str, host: str | None, invocation: Invocation) -> list[Effect]:
        what = shown(what)
        if host is not None and is_metadata(host):
            because = "a cloud's metadata service hands out credentials"
            secret = [Effect(EffectKind.READ_SECRET, host, "address:metadata", because, gives=Label.SECRET)]
            return [*secret, *self._away(what, address, invocation)]
        if host is not None and not self.rerouted:
            if is_loopback(host):
                return self._here(what, invocation)
            trust = trusted(host, invocation.machine.around)
            if trust is not None:
                because = f"`{invocation.what}` reads from a host that you trust"
                gives = None if trust.content else Label.UNTRUSTED
                fetch = Effect(EffectKind.FETCH, what, invocation.rule, because, Variant.KNOWN, address, gives)
                return [fetch] if trust.content else [fetch, self._ingest(invocation, what)]
        return self._away(what, address, invocation)

    def _here(self, what: str, invocation: Invocation) -> list[Effect]:
        """What it is to connect to this machine: the port is another word of the command, or a part of one."""
        from lockgate.resources.own_ports import at_port, ports_in

        numbers = [number for arg in invocation.args for number in ports_in(arg.text)]
        unknown = ["?"] if any(dynamic_value(arg) for arg in invocation.args) else []
        program = invocation.args[0].text.rpartition("/")[2]
        # `nc -z` only knocks.
        raw = program in knowledge.table("raw_clients") and "-z" not in invocation.matched.given
        found = (at_port(what, number, invocation.machine.around, raw=raw) for number in (*unknown, *numbers))
        own = next(filter(None, found), None)
        return [] if own is None else [own]

    def _away(self, what: str, address: str, invocation: Invocation) -> list[Effect]:
        """What it is to talk to a machine that nobody has vouched for."""
        if self.sends:
            return [self._egress(invocation, what), self._ingest(invocation, what)]
        because = f"`{invocation.what}` reads an address, which itself can carry data out"
        fetch = Effect(EffectKind.FETCH, what, invocation.rule, because, address=address, gives=Label.UNTRUSTED)
        return [fetch, self._ingest(invocation, what)]

    def _egress(self, invocation: Invocation, what: str) -> Effect:
        because = self.sends or f"`{invocation.what}` sends data to another machine"
        return Effect(EffectKind.EGRESS, what, invocation.rule, because, gives=Label.UNTRUSTED)

    def _ingest(self, invocation: Invocation, what: str) -> Effect:
        because = f"`{invocation.what}` brings in text that others can write"
        return Effect(EffectKind.INGEST, what, invocation.rule, because, gives=Label.UNTRUSTED)


def _expanding(url: str) -> bool:
    """Whether the client itself makes several addresses of this one."""
    rest = re.sub(r"^[^:]*://(?:\[[0-9a-fA-F:.]+\])?", "", url)
    return any(mark in rest for mark in "{}[]")


def _bare_host(text: str) -> str:
    """The host in ``user@host:path``, ``host:port`` or ``[::1]:22``."""
    host = text.rpartition("@")[2]
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def dynamic_value(arg: Arg) -> bool:
    """Whether a value holds something that is not known before it runs."""
    return OPAQUE in arg.text or not known(arg.text.replace(PLAIN, ""))
