"""Remembers the commit that a session began with. An agent may have committed what came after it.

It is noted where a session begins that has read nothing yet. A session that goes on from a cleared one, which had read
untrusted text, has that one's commit: only a new start takes in what was committed meanwhile.
"""

from __future__ import annotations

import json

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store import chain_links

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import SessionRow

_PREFIX = "base:"


class BaseCommit(Record):
    """A commit, and the root folder of its repository."""

    root: str
    commit: str


def note(tx: Transaction, row: SessionRow, found: BaseCommit, *, untrusted: bool, parent_untrusted: bool) -> None:
    """Note with what a session begins.

    Args:
        tx: The transaction.
        row: The session.
        found: What is checked out now; without a commit where nothing is.
        untrusted: Whether it has read untrusted text.
        parent_untrusted: The same of the one that it goes on from.
    """
    _forget_old(tx)
    if untrusted or tx.setting(f"{_PREFIX}{row.session}") is not None:
        return
    base = base_of(tx, row.parent) if parent_untrusted else found
    if base is not None and base.commit:
        told = json.dumps([*base, _seal(tx, row.session, base)])
        tx.put_setting(f"{_PREFIX}{row.session}", told)


def base_of(tx: Transaction, session: str) -> BaseCommit | None:
    """With what a session began; ``None`` where that was not noted, or the note was forged."""
    try:
        root, commit, seal = json.loads(tx.setting(f"{_PREFIX}{session}") or "")
        base = BaseCommit(str(root), str(commit))
    except (ValueError, TypeError):
        return None
    return base if seal == _seal(tx, session, base) else None


def _seal(tx: Transaction, session: str, base: BaseCommit) -> str:
    return tx.hash_with_key(
        chain_links.PURPOSE_ROOM, chain_links.canonical({"session": session, "root": base.root, "commit": base.commit})
    )


def _forget_old(tx: Transaction) -> None:
    """Drop what was noted of sessions that the store no longer has."""
    for name in tx.settings(_PREFIX):
        if tx.session(name.removeprefix(_PREFIX)) is None:
            tx.put_setting(name, None)
