"""Tells a person whose words a call reads, and which hosts are asked about that. Nobody is asked for it."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.gate.authors.lookup import HOLDS, read_known, trust_of
from lockgate.gate.authors.objects import objects_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from lockgate.core.model import Analysis, ToolCall
    from lockgate.gate.authors.lookup import KnownObject, Trust
    from lockgate.gate.authors.service_object import ServiceObject
    from lockgate.resources.host_view import HostView
    from lockgate.store.protocol import Store


class ObjectWords(Record):
    """Whose words an object is, as far as that is known."""

    object: str
    says: str
    """In a sentence."""
    authors: tuple[str, ...] = ()
    """Who wrote it, each with their permission and the part that they wrote."""


def hosts_asked(configured: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Which hosts the gate asks who wrote what, each with the address of its API where a person says one.

    Args:
        configured: The configuration's ``trust``.
    """
    trust = trust_of(configured)
    hosts = sorted({host for host, _ in trust.owners})
    return tuple(f"{host} ({trust.apis[host]})" if host in trust.apis else host for host in hosts)


def explain_words(
    call: ToolCall,
    analysis: Analysis,
    around: HostView,
    configured: Mapping[str, Any] | None,
    store: Store | None,
    now: float,
) -> tuple[ObjectWords, ...]:
    """Tell whose words are in what a call reads; nothing where no person trusts anybody by author.

    Args:
        call: The call.
        analysis: What it can do.
        around: The view of this machine.
        configured: The configuration's ``trust``.
        store: Where the answers of the last minutes are; ``None`` where nothing was recorded yet.
        now: The time, by the clock of whoever recorded them.
    """
    trust = trust_of(configured)
    if not trust.owners:
        return ()
    objects = objects_of(call, analysis, around)
    if store is None:
        return tuple(_describe(each, trust, None) for each in objects)
    with store.reading() as tx:
        return tuple(_describe(each, trust, read_known(tx, each.name, now)) for each in objects)


def _describe(each: ServiceObject, trust: Trust, known: KnownObject | None) -> ObjectWords:
    if not trust.names(each):
        return ObjectWords(each.name, "strangers' words: its owner is not named under trust.owners")
    if known is None:
        minutes = int(HOLDS // 60)
        return ObjectWords(each.name, f"{each.host} is asked when a result comes; it was not in {minutes} minutes")
    authors = tuple(author.sentence for author in known.authors)
    if known.stranger:
        return ObjectWords(each.name, f"strangers' words: {known.stranger}", authors)
    return ObjectWords(each.name, "no label, where each line of the result stands in what they wrote", authors)
