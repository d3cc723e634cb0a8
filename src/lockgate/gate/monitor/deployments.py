"""Remembers deployments of secrets that a person has approved, until they revoke one.

A yes at another window is proven by its record. What was answered in the client's own window no client tells: that a
call came back can be told by anybody who starts a hook. So such a deployment is noted, and is remembered where a person
says so.
"""

from __future__ import annotations

import json

from lockgate.core.model import Analysis
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store import chain_links

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.store.protocol import Transaction

_PREFIX, _NOTED = "deployment:", "deployment-noted:"
MOST = 200
"""Deployments that are remembered, and as many that are noted: the newest."""
FACT, PROVEN = "deployments", "proven_yes"
"""Facts of a call: what a person says yes to with it, and whether the audit proves that they did."""


class _SealedDeployment(Record):
    """A deployment as it is stored."""

    because: str
    at: float
    seal: str


class Deployment(Record):
    """A remembered deployment."""

    name: str
    because: str
    """What it sends where, for a person."""
    at: float


def is_known(tx: Transaction, name: str) -> bool:
    """Whether a person has said yes to a deployment; an empty name is none, and so is a yes that was forged."""
    kept = _parse(tx.setting(f"{_PREFIX}{name}") or "") if name else None
    return kept is not None and kept.seal == _seal(tx, name, kept.because, kept.at)


def list_asked_deployments(analysis: Analysis) -> list[list[str]]:
    """The deployments that a person is asked about with a call."""
    return [[effect.deployment, effect.because] for effect in analysis.effects if effect.deployment]


def remember(tx: Transaction, found: Sequence[Sequence[str]], now: float) -> None:
    """Remember those of a call that a person has let run, and that has come back."""
    _put(tx, _PREFIX, found, now)
    for name, _ in found:
        tx.put_setting(f"{_NOTED}{name}", None)


def note(tx: Transaction, found: Sequence[Sequence[str]], now: float) -> None:
    """Note those of a call that seems to have run after a question in the client's own window."""
    _put(tx, _NOTED, [each for each in found if not is_known(tx, each[0])], now)


def _put(tx: Transaction, prefix: str, found: Sequence[Sequence[str]], now: float) -> None:
    for name, because in found:
        every = _list(tx, prefix)
        if len(every) >= MOST:
            tx.put_setting(f"{prefix}{every[0].name}", None)
        tx.put_setting(f"{prefix}{name}", json.dumps([because, now, _seal(tx, name, because, now)]))


def deployments(tx: Transaction) -> list[Deployment]:
    """All that are remembered, the oldest first."""
    return _list(tx, _PREFIX)


def list_noted(tx: Transaction) -> list[Deployment]:
    """All that are noted, and not remembered, the oldest first."""
    return _list(tx, _NOTED)


def _list(tx: Transaction, prefix: str) -> list[Deployment]:
    found = []
    for name, text in tx.settings(prefix).items():
        kept = _parse(text)
        if kept is not None:
            found.append(Deployment(name.removeprefix(prefix), kept.because, kept.at))
    return sorted(found, key=lambda deployment: deployment.at)


def forget(tx: Transaction, name: str) -> bool:
    """Ask about a deployment again; whether it was remembered."""
    there = tx.setting(f"{_PREFIX}{name}") is not None
    if there:
        tx.put_setting(f"{_PREFIX}{name}", None)
    return there


def _seal(tx: Transaction, name: str, because: str, at: float) -> str:
    return tx.hash_with_key(
        chain_links.PURPOSE_DEPLOYMENT, chain_links.canonical({"name": name, "because": because, "at": at})
    )


def _parse(text: str) -> _SealedDeployment | None:
    """A stored deployment; ``None`` where something else stands there, as of an older version."""
    try:
        because, at, seal = json.loads(text)
        return _SealedDeployment(str(because), float(at), str(seal))
    except (ValueError, TypeError):
        return None
