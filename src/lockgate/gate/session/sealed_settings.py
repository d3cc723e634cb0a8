"""Settings that only somebody with the installation's key can write: prompt parts, facts of CI jobs."""

from __future__ import annotations

import json

from lockgate.core.record import TYPE_CHECKING
from lockgate.store import chain_links

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Transaction

_SECONDS = 86400.0
"""For how long they count."""


def seal_setting(tx: Transaction, purpose: bytes, name: str, kept: dict[str, Any]) -> str:
    """The text of a setting.

    Args:
        tx: The transaction.
        purpose: What it is for: one of ``chain_links``.
        name: What it is about, so that it cannot be put in the place of another one.
        kept: What it says; ``at`` is when it was kept, in seconds since the epoch.
    """
    return chain_links.canonical(
        {**kept, "seal": tx.hash_with_key(purpose, chain_links.canonical({"id": name, **kept}))}
    )


def unseal_setting(tx: Transaction, purpose: bytes, name: str, value: str | None, now: float) -> dict[str, Any]:
    """What a setting says; nothing where there is none, it was changed by somebody else, or is older than a day.

    Args:
        tx: The transaction.
        purpose: As it was sealed.
        name: As it was sealed.
        value: The setting's text; ``None`` where there is none.
        now: Seconds since the epoch.
    """
    from hmac import compare_digest

    try:
        kept = json.loads(value or "")
        seal = kept.pop("seal")
        holds = compare_digest(str(seal), tx.hash_with_key(purpose, chain_links.canonical({"id": name, **kept})))
        holds = holds and abs(now - kept["at"]) <= _SECONDS
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return {}
    return dict(kept) if holds else {}


def drop_old(tx: Transaction, purpose: bytes, prefix: str, now: float) -> list[str]:
    """Remove the settings of a kind that do not count any more; what the others are about."""
    live = []
    for setting, value in tx.settings(prefix).items():
        name = setting.removeprefix(prefix)
        if unseal_setting(tx, purpose, name, value, now):
            live.append(name)
        else:
            tx.put_setting(setting, None)
    return live
