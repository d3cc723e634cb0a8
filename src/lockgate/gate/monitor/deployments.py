"""Deployments of secrets that a person has said yes to: remembered on this machine, and forgotten when they say so."""

from __future__ import annotations

import json

from lockgate.core.model import Analysis
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lockgate.store.protocol import Transaction

_PREFIX = "deployment:"
MOST = 200
"""Deployments that are remembered, the newest."""
FACT = "deployments"
"""The fact of a call that holds what a person says yes to with it."""


class Deployment(Record):
    """One that is remembered."""

    name: str
    because: str
    """What it sends where, for a person."""
    at: float


def is_known(tx: Transaction, name: str) -> bool:
    """Whether a person has said yes to a deployment; an empty name is none."""
    return bool(name) and tx.setting(f"{_PREFIX}{name}") is not None


def asked(analysis: Analysis) -> list[list[str]]:
    """The deployments that a person is asked about with a call."""
    return [[effect.deployment, effect.because] for effect in analysis.effects if effect.deployment]


def remember(tx: Transaction, found: Sequence[Sequence[str]], now: float) -> None:
    """Remember those of a call that a person has let run, and that has come back."""
    for name, because in found:
        every = deployments(tx)
        if len(every) >= MOST:
            forget(tx, every[0].name)
        tx.put_setting(f"{_PREFIX}{name}", json.dumps([because, now]))


def deployments(tx: Transaction) -> list[Deployment]:
    """All that are remembered, the oldest first."""
    found = []
    for name, text in tx.settings(_PREFIX).items():
        because, at = json.loads(text)
        found.append(Deployment(name.removeprefix(_PREFIX), str(because), float(at)))
    return sorted(found, key=lambda deployment: deployment.at)


def forget(tx: Transaction, name: str) -> bool:
    """Ask about a deployment again; whether it was remembered."""
    there = is_known(tx, name)
    if there:
        tx.put_setting(f"{_PREFIX}{name}", None)
    return there
