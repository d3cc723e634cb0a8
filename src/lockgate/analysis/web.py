"""Describes the effects of fetching an address: what it sends, and what it brings in."""

from __future__ import annotations

from lockgate.core.model import Effect, EffectKind, Label, Variant
from lockgate.resources.addresses import host_of, normalise
from lockgate.resources.host_view import HostView
from lockgate.resources.hosts import find_trusted, is_here, is_metadata
from lockgate.resources.own_ports import effect_at_url, is_contained
from lockgate.resources.services import service_effects


def fetch_effects(url: str, around: HostView) -> tuple[Effect, ...]:
    """Effects of reading one address and writing nothing.

    This machine itself (loopback) is neither source nor sink, unless the address makes it ask
    another one. A trusted domain may be read at any address of it; what it returns is trusted only where the
    configuration says so.
    """
    host = host_of(url)
    if host is None:
        because = "the address cannot be read in one way only, so nobody knows where it leads"
        return (
            Effect(EffectKind.FETCH, url, "address:unclear", because),
            Effect(EffectKind.INGEST, url, "address:unclear", because, gives=Label.UNTRUSTED),
        )
    if is_here(host):
        from lockgate.resources.relays import leads_elsewhere

        if not leads_elsewhere(url):
            own = effect_at_url(url, around)
            # A contained server is out of reach for whatever is no command: there it is a port like all others.
            return () if own is None or is_contained(own) else (own,)
    return tuple(_remote_effects(url, host, around))


def _remote_effects(url: str, host: str, around: HostView) -> list[Effect]:
    """Effects of reading an address of another machine."""
    found: list[Effect] = []
    domain = find_trusted(host, around)
    declared = around.rules.service(host)
    if declared is not None:
        effects = service_effects(host, declared, everything=False)
        # To read an address writes nothing, so only the flags of a source speak about it, and whether it may be used
        # at all.
        found += [effect for effect in effects if effect.kind not in {EffectKind.EGRESS, EffectKind.DESTROY}]
    if is_metadata(host):
        because = "a cloud's metadata service hands out credentials"
        found.append(Effect(EffectKind.READ_SECRET, host, "address:metadata", because, gives=Label.SECRET))
    address = normalise(url) or ""
    known = domain is not None or (declared is not None and declared.public_sink is False)
    because = f"the configuration trusts {host}" if known else "the address itself can carry data out"
    variant = Variant.KNOWN if known and address else Variant.PLAIN
    found.append(
        Effect(EffectKind.FETCH, url, "address:trusted" if known else "address:fetch", because, variant, address)
    )
    if declared is None and not (domain is not None and domain.content):
        because = "anybody may have written what it returns"
        found.append(Effect(EffectKind.INGEST, url, "address:content", because, gives=Label.UNTRUSTED))
    return found
