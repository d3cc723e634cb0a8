"""Remembers deployments of secrets that a person has approved, until they revoke one."""

from __future__ import annotations

import json

from lockgate.core.model import Analysis
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.chain_links import PURPOSE_DEPLOYMENT, canonical

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.store.protocol import Transaction

_PREFIX = "deployment:"
MOST = 200
"""Deployments that are remembered, the newest."""
FACT = "deployments"
"""The fact of a call that holds what a person says yes to with it."""


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
    for name, because in found:
        every = deployments(tx)
        if len(every) >= MOST:
            forget(tx, every[0].name)
        tx.put_setting(f"{_PREFIX}{name}", json.dumps([because, now, _seal(tx, name, because, now)]))


def deployments(tx: Transaction) -> list[Deployment]:
    """All that are remembered, the oldest first."""
    found = []
    for name, text in tx.settings(_PREFIX).items():
        kept = _parse(text)
        if kept is not None:
            found.append(Deployment(name.removeprefix(_PREFIX), kept.because, kept.at))
    return sorted(found, key=lambda deployment: deployment.at)


def forget(tx: Transaction, name: str) -> bool:
    """Ask about a deployment again; whether it was remembered."""
    there = tx.setting(f"{_PREFIX}{name}") is not None
    if there:
        tx.put_setting(f"{_PREFIX}{name}", None)
    return there


def _seal(tx: Transaction, name: str, because: str, at: float) -> str:
    return tx.hash_with_key(PURPOSE_DEPLOYMENT, canonical({"name": name, "because": because, "at": at}))


def _parse(text: str) -> _SealedDeployment | None:
    """A stored deployment; ``None`` where something else stands there, as of an older version."""
    try:
        because, at, seal = json.loads(text)
        return _SealedDeployment(str(because), float(at), str(seal))
    except (ValueError, TypeError):
        return None
