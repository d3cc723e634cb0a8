"""Tells the person once what an upgrade decides differently than the version before.

The notes stand in ``upgrade_notes.json``: by version one sentence, without a full stop.
"""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.core.version import RELEASE
from lockgate.gate.session.sessions import put_back_note
from lockgate.store.files import COPIED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lockgate.store.protocol import Transaction

SEEN = "upgrade:seen"
"""The setting that holds the newest version whose notes were said."""


def take_note(tx: Transaction, *, version: str = RELEASE, notes: Mapping[str, str] | None = None) -> str:
    """What to tell the person at the start of a session; empty where nothing is new.

    Args:
        tx: The transaction.
        version: The release that runs.
        notes: The notes by version; by default the shipped ones.
    """
    kept = _copy_kept(tx)
    return " ".join(filter(None, (put_back_note(tx), _news(tx, version, notes), kept)))


def _copy_kept(tx: Transaction) -> str:
    """Where the state of before an upgrade is: said once."""
    copy = tx.setting(COPIED)
    if not copy:
        return ""
    tx.put_setting(COPIED, None)
    import shlex

    back = f"To go back: install the older version, then run: lockgate store restore {shlex.quote(copy)}"
    return f"The state of before this upgrade is kept in {copy}. {back}"


def _news(tx: Transaction, version: str, notes: Mapping[str, str] | None) -> str:
    seen = tx.setting(SEEN)
    if seen == version:
        return ""
    before = version if seen is None else seen
    if _number(version) < _number(before):
        return ""  # another machine of this store is ahead
    tx.put_setting(SEEN, version)
    found = _read_shipped() if notes is None else notes
    new = [text for name, text in found.items() if _number(before) < _number(name) <= _number(version)]
    return f"Lockgate {version}: {'; '.join(new)}." if new else ""


def _read_shipped() -> dict[str, str]:
    import json
    import os

    with open(os.path.join(os.path.dirname(__file__), "upgrade_notes.json"), encoding="utf-8") as file:
        notes: dict[str, str] = json.load(file)
    return notes


def _number(version: str) -> tuple[int, ...]:
    """A version for comparison: its leading numbers. What is no number ends it."""
    numbers = []
    for part in version.split("."):
        if not (part.isascii() and part.isdigit()):
            break
        numbers.append(int(part))
    return tuple(numbers)
