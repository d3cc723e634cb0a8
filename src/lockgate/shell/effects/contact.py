"""Records whom a command talks to, and whether it sends anything beside the address."""

from __future__ import annotations

import re

from lockgate.core.lazy import lazy_re
from lockgate.core.model import Effect, EffectKind, Label, Variant
from lockgate.core.record import TYPE_CHECKING
from lockgate.resources.addresses import host_of, normalise
from lockgate.resources.hosts import find_trusted, is_here, is_loopback, is_metadata
from lockgate.shell.knowledge import lookup
from lockgate.shell.state.abstract_text import OPAQUE, PLAIN, is_known, show
from lockgate.shell.state.scope import Arg

if TYPE_CHECKING:
    from lockgate.shell.knowledge.call import ProgramCall

_SCHEME = lazy_re(r"([A-Za-z][A-Za-z0-9+.-]*):(//)?")
_AUTHORITY = lazy_re(r"https?://([^/?#\x00-\x02@{}\[\]\\]+?)(:[0-9\x01\x02]*)?(?=[/?#]|$)")
_READING = frozenset({"http", "https", "ftp", "ftps"})


def contact_effects(call: ProgramCall) -> list[Effect]:
    """All effects of the contacts."""
    if call.contact.here and not call.contact.rerouted:
        return []
    found = [effect for kind, arg in call.contact.targets for effect in _target_effects(kind, arg, call)]
    if call.args[0].text.rpartition("/")[2] in lookup.table("postgresql_clients"):
        from lockgate.shell.effects.own_database import effect_of_reaching

        own = effect_of_reaching(call)
        found += [] if own is None else [own]
    if not call.contact.targets and call.contact.sends and call.contact.rerouted:
        found.append(_egress_effect(call, call.what))
    return found


def _target_effects(kind: str, arg: Arg, call: ProgramCall) -> list[Effect]:
    text = arg.text
    if kind == "remote":
        return _effects_of_reaching(text, normalise(text) or "", host_of(text), call)
    if kind == "host":
        return _host_effects(_bare_host(text), call, send=True)
    if kind == "lookup":
        return _lookup_effects(_bare_host(text), call)
    scheme = _SCHEME.match(text)
    named = scheme is not None and (scheme.group(2) is not None or scheme.group(1).lower() == "file")
    url = text if named else f"http://{text}"
    name = url.partition(":")[0].lower()
    if name == "file":
        from lockgate.shell.effects.files import read, write

        path = Arg(re.sub("^//[^/]*", "", url[5:]), arg.glob)
        return (write if call.contact.sends else read)(path, call.machine, call.scope)
    if name not in _READING and is_known(name):
        call.contact.sends = call.contact.sends or f"`{name}:` is a protocol that can send anything"
    return _url_effects(url, call)


def _url_effects(url: str, call: ProgramCall) -> list[Effect]:
    host = host_of(url) if is_known(url) and not _is_expanding(url) else None
    if host is None and (authority := _AUTHORITY.match(url)) is not None:
        host = host_of(f"http://{authority.group(1)}/")
    if host is None:
        return _effects_of_reaching(url, "", None, call)
    if is_here(host) and not call.contact.rerouted:
        from lockgate.resources.relays import leads_elsewhere

        if not leads_elsewhere(url):
            from lockgate.resources.own_ports import effect_at_url

            own = effect_at_url(url, call.machine.around)
            return [] if own is None else [own]
        host = None
    whole = is_known(url) and not _is_expanding(url)
    return _effects_of_reaching(url, normalise(url) or "" if whole else "", host, call)


def _host_effects(host: str, call: ProgramCall, *, send: bool) -> list[Effect]:
    if send and not call.contact.sends:
        call.contact.sends = f"`{call.what}` connects to another machine"
    return _effects_of_reaching(host, "", host if is_known(host) else None, call)


def _lookup_effects(host: str, call: ProgramCall) -> list[Effect]:
    if not is_known(host):
        because = "a name that is put together at run time carries data to whoever answers for it"
        return [Effect(EffectKind.EGRESS, show(host), "shell:composed-name", because, gives=Label.UNTRUSTED)]
    if re.fullmatch(r"[0-9.]+|[0-9a-fA-F]*:[0-9a-fA-F:]+", host) and not is_loopback(host):
        return _effects_of_reaching(host, normalise(f"http://{host}/") or "", host, call)
    return _effects_of_reaching(host, normalise(f"https://{host}/") or "", host, call)


def _effects_of_reaching(what: str, address: str, host: str | None, call: ProgramCall) -> list[Effect]:
    what = show(what)
    if host is not None and is_metadata(host):
        because = "a cloud's metadata service hands out credentials"
        secret = [Effect(EffectKind.READ_SECRET, host, "address:metadata", because, gives=Label.SECRET)]
        return [*secret, *_remote_effects(what, address, call)]
    if host is not None and not call.contact.rerouted:
        if is_loopback(host):
            return _local_effects(what, call)
        trust = find_trusted(host, call.machine.around)
        if trust is not None:
            because = f"`{call.what}` reads from a host that you trust"
            gives = None if trust.content else Label.UNTRUSTED
            fetch = Effect(EffectKind.FETCH, what, call.rule, because, Variant.KNOWN, address, gives)
            return [fetch] if trust.content else [fetch, _ingest_effect(call, what)]
    return _remote_effects(what, address, call)


def _local_effects(what: str, call: ProgramCall) -> list[Effect]:
    """What it is to connect to this machine: the port is another word of the command, or a part of one."""
    from lockgate.resources.own_ports import effect_at_port, ports_in

    numbers = [number for arg in call.args for number in ports_in(arg.text)]
    unknown = ["?"] if any(is_dynamic(arg) for arg in call.args) else []
    program = call.args[0].text.rpartition("/")[2]
    # `nc -z` only knocks.
    raw = program in lookup.table("raw_clients") and "-z" not in call.matched.given
    found = (effect_at_port(what, number, call.machine.around, raw=raw) for number in (*unknown, *numbers))
    own = next(filter(None, found), None)
    return [] if own is None else [own]


def _remote_effects(what: str, address: str, call: ProgramCall) -> list[Effect]:
    """What it is to talk to a machine that nobody has vouched for."""
    if call.contact.sends:
        return [_egress_effect(call, what), _ingest_effect(call, what)]
    because = f"`{call.what}` reads an address, which itself can carry data out"
    fetch = Effect(EffectKind.FETCH, what, call.rule, because, address=address, gives=Label.UNTRUSTED)
    return [fetch, _ingest_effect(call, what)]


def _egress_effect(call: ProgramCall, what: str) -> Effect:
    because = call.contact.sends or f"`{call.what}` sends data to another machine"
    return Effect(EffectKind.EGRESS, what, call.rule, because, gives=Label.UNTRUSTED)


def _ingest_effect(call: ProgramCall, what: str) -> Effect:
    because = f"`{call.what}` brings in text that others can write"
    return Effect(EffectKind.INGEST, what, call.rule, because, gives=Label.UNTRUSTED)


def _is_expanding(url: str) -> bool:
    """Whether the client itself makes several addresses of this one."""
    rest = re.sub(r"^[^:]*://(?:\[[0-9a-fA-F:.]+\])?", "", url)
    return any(mark in rest for mark in "{}[]")


def _bare_host(text: str) -> str:
    """The host in ``user@host:path``, ``host:port`` or ``[::1]:22``."""
    host = text.rpartition("@")[2]
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0] if host.count(":") == 1 else host


def is_dynamic(arg: Arg) -> bool:
    """Whether a value holds something that is not known before it runs."""
    return OPAQUE in arg.text or not is_known(arg.text.replace(PLAIN, ""))
