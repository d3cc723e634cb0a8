"""A subject's labels: how effects give them, and how they flow between subjects.

Also which addresses a session has seen whole. Only keyed hashes are kept: the state tells nobody where a session went.
"""

from __future__ import annotations

from lockgate.core.model import Label, LabelState, Subject, Taint, TaintState
from lockgate.core.record import TYPE_CHECKING
from lockgate.patterns.redaction.credentials import redact
from lockgate.system.digests import blake2b

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from lockgate.core.model import Effect, ToolCall
    from lockgate.store.protocol import Transaction

BOTH = frozenset(Label)
_PERSON = b"lockgate address"  # at most 16 bytes
KEYED = "keyed:"
"""What begins a keyed hash, hexadecimal, that stands for an address: no address begins so."""

OLDEST = 16
"""How many confirmed taints of each label are looked at. One is enough for the label; the oldest tell how it began."""
SOURCES = 8
"""How many sources of one label are kept of one call."""
SOURCE_LENGTH = 300
_SAID_LENGTH = 160


def labels_of(tx: Transaction, subject: Subject) -> frozenset[Label]:
    """The labels of a subject. Pending taint counts; an agent that was never seen has all that its session has."""
    if subject.agent and tx.agent(subject) is None:
        return frozenset().union(*(tx.labels(other) for other in everyone(tx, subject.session)))
    return tx.labels(subject)


def column(tx: Transaction, subject: Subject) -> LabelState:
    """The column of a profile's table that decides for a subject."""
    return LabelState.of(labels_of(tx, subject))


def provenance(tx: Transaction, subject: Subject, *, limit: int = OLDEST) -> list[Taint]:
    """Where a subject's labels come from, oldest first.

    Args:
        tx: The transaction.
        subject: Whose labels.
        limit: The most confirmed sources of each label, the oldest; 0 for all. Pending ones are always there.
    """
    if subject.agent and tx.agent(subject) is None:
        return sorted(
            (taint for other in everyone(tx, subject.session) for taint in tx.taints(other, limit=limit)),
            key=lambda taint: taint.at,
        )
    return tx.taints(subject, limit=limit)


def lock_state(tx: Transaction, session: str) -> dict[str, Any]:
    """The main agent's state in Lockbox's words.

    Returns:
        ``locked`` (bool), ``locked_by`` (text or ``None``), ``locked_at`` (ISO 8601 in UTC or ``None``) and
        ``blocked_tools`` (a list of text, each once, oldest first).
    """
    from datetime import UTC, datetime

    first = next((taint for taint in tx.taints(Subject(session), limit=1) if taint.label is Label.UNTRUSTED), None)
    return {
        "locked": first is not None,
        "locked_by": first.source if first else None,
        "locked_at": datetime.fromtimestamp(first.at, UTC).isoformat() if first else None,
        "blocked_tools": list(dict.fromkeys(what for _, what, _ in tx.list_blocked(session))),
    }


def everyone(tx: Transaction, session: str) -> list[Subject]:
    """The main agent and every sub-agent of a session, ended ones too."""
    return [Subject(session), *(Subject(session, row.agent) for row in tx.agents(session))]


def has_read_untrusted(tx: Transaction, session: str) -> bool:
    """Whether anybody in a session has the label ``untrusted``, pending or not."""
    return any(Label.UNTRUSTED in tx.labels(subject) for subject in everyone(tx, session))


def name_subject(subject: Subject) -> str:
    """A subject within its session, as an origin says it."""
    return f"agent {subject.agent}" if subject.agent else "main agent"


def flow(
    tx: Transaction,
    source: Subject,
    target: Subject,
    *,
    only: frozenset[Label] = BOTH,
    settled: bool = False,
    origin: str = "",
) -> None:
    """Pass labels from one subject to another, with their provenance.

    Args:
        tx: The transaction.
        source: Where they come from.
        target: Who gets them.
        only: The labels that flow.
        settled: Whether pending taint arrives confirmed: in another session nothing would ever settle it.
        origin: What is written as their origin; the source's name where it is empty.
    """
    if source == target:
        return
    told = [taint for taint in tx.taints(source, limit=OLDEST) if taint.label in only]
    if not told:
        return
    have = {(taint.label, taint.source, taint.call_id): taint.state for taint in tx.taints(target)}
    new = []
    for taint in told:
        state = TaintState.CONFIRMED if settled else taint.state
        there = have.get((taint.label, taint.source, taint.call_id))
        if there is None or (there is TaintState.PENDING and state is TaintState.CONFIRMED):
            new.append(taint._replace(state=state, origin=origin or name_subject(source)))
    tx.add_taints(target, new)


def expose(tx: Transaction, subject: Subject, way: str, effects: Iterable[Effect], now: float) -> None:
    """Label a subject for what came into its context without a call: mentioned files, loaded instructions.

    Args:
        tx: The transaction.
        subject: Whose context it is.
        way: How it came, for the provenance: ``prompt``, ``instructions``.
        effects: What was found in it.
        now: Seconds since the epoch.
    """
    tx.add_taints(subject, taints_of(way, effects, "", now, TaintState.CONFIRMED))


def name_effects(call: ToolCall, effects: Iterable[Effect]) -> list[Effect]:
    """Effects whose object is only the tool itself get the call's input as their object: it says which issue it was."""
    effects = list(effects)
    if all(effect.what != call.tool for effect in effects):
        return effects
    from lockgate.gate.messages.calls import text_for_records

    said = text_for_records(call, _SAID_LENGTH).removeprefix(f"{call.tool}: ")
    return [effect._replace(what=said) if effect.what == call.tool else effect for effect in effects]


def taints_of(tool: str, effects: Iterable[Effect], key: str, now: float, state: TaintState) -> list[Taint]:
    """The taints that effects give, a few of each label.

    Args:
        tool: The tool, or how else it came.
        effects: What was found.
        key: The id of the call; empty where there was none.
        now: Seconds since the epoch.
        state: Whether it has come already.
    """
    found: dict[tuple[Label, str], Taint] = {}
    count = dict.fromkeys(Label, 0)
    for effect in effects:
        if effect.gives is None:
            continue
        source = as_source(f"{tool}: {effect.what}" if effect.what not in ("", tool) else tool)
        if (effect.gives, source) not in found and count[effect.gives] < SOURCES:
            count[effect.gives] += 1
            found[effect.gives, source] = Taint(effect.gives, source, redact(tool), key, now, state)
    return list(found.values())


def count_sources(call: ToolCall, effects: Iterable[Effect]) -> int:
    """How many sources of the label ``untrusted`` a call has, also those that :func:`taints_of` does not keep."""
    return len({effect.what or call.tool for effect in name_effects(call, effects) if effect.gives is Label.UNTRUSTED})


def as_source(text: str) -> str:
    """What is kept of where a label came from: without credentials, and nothing that a terminal would obey."""
    kept = redact(text)[:SOURCE_LENGTH]
    if kept.isascii() and kept.isprintable():
        return kept
    from lockgate.core.display_text import visible

    return visible(kept, SOURCE_LENGTH)


def address_key(key: bytes, address: str) -> bytes:
    """The keyed hash (BLAKE2b, 16 bytes) of a whole, normalised address."""
    text = address.encode("utf-8", "surrogatepass")
    return blake2b(text, key=key, person=_PERSON, digest_size=16).digest()


def remember(tx: Transaction, key: bytes, session: str, addresses: Iterable[str], *, human: bool) -> None:
    """Remember addresses that a session has seen; ``human`` where a person gave them."""
    tx.add_addresses(session, [address_key(key, address) for address in addresses], human=human)


def knows(tx: Transaction, key: bytes, session: str, address: str, *, human_only: bool = False) -> bool:
    """Whether a session has seen an address. An empty address, which is one composed at run time, is never known."""
    if not address:
        return False
    try:
        digest = bytes.fromhex(address.removeprefix(KEYED)) if address.startswith(KEYED) else address_key(key, address)
    except ValueError:
        return False
    return tx.knows_address(session, digest, human_only=human_only)
