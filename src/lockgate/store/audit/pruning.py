"""Removing old records from the beginning of the chain, so that what is left still verifies.

Nothing is removed that does not verify: a cut must not take away the traces of another one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lockgate.core.errors import AuditError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.audit.chain import records, verify_parts
from lockgate.store.chain_links import checkpoint

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.audit.chain import Item
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import AuditCheckpoint

AT_ONCE = 2000
"""Records that are removed in one transaction, at most: every other process waits for as long."""
_EVERY = 86400.0
"""Seconds between two cuts that retention makes, unless there are so many old records; each leaves a record."""
_TIME = "retention:clock"
"""The setting that says which time counts, and since when the clock goes on."""
_STEADY = 86_400.0
"""Seconds for which a clock must have gone on."""


def chain_beginning(tx: Transaction, through: int) -> Iterator[Item]:
    """The chain's beginning: its checkpoint, and the records up to a number."""
    yield tx.audit_checkpoint()
    for row in records(tx):
        if row.seq > through:
            return
        yield row


def make_checkpoint(tx: Transaction, key: bytes, through: int, now: float) -> AuditCheckpoint:
    """The checkpoint that takes the place of the records up to a number.

    Raises:
        AuditError: That record is not there.
    """
    rows = tx.audit(after=through - 1, limit=1)
    if not rows or rows[0].seq != through:
        raise AuditError(f"record {through} is missing")
    return checkpoint(key, through, rows[0].digest, through - tx.audit_checkpoint().seq, now)


def cut(tx: Transaction, key: bytes, through: int, now: float, body: Mapping[str, Any]) -> int:
    """Remove records up to a number, but no more than :data:`AT_ONCE`. That they hold has been found out before.

    Args:
        tx: A transaction that writes.
        key: The installation's key.
        through: The last record to remove in the end.
        now: Seconds since the epoch.
        body: What the record of it says: why, and where the records are kept.

    Returns:
        How many records are gone; 0 where nothing is left to be removed.

    Raises:
        AuditError: The last record is not there.
        StoreError: It cannot be done.
    """
    base = tx.audit_checkpoint()
    last = min(through, base.seq + AT_ONCE)
    if last <= base.seq:
        return 0
    tx.cut_audit(make_checkpoint(tx, key, last, now), body)
    return last - base.seq


def retain(tx: Transaction, key: bytes, days: float, then: float, now: float) -> int:
    """Remove records that are older than so many days, a bounded number of them, as part of another transaction.

    A chain that does not verify at its beginning is left as it is: ``lockgate audit verify`` says what is wrong.

    Args:
        tx: The transaction.
        key: The installation's key.
        days: How many days.
        then: The time from which they are counted, as :func:`settle_time` tells it.
        now: The time, in seconds since the epoch.

    Returns:
        How many records are gone.
    """
    base = tx.audit_checkpoint()
    last = tx.audit_before(then - days * 86400, now=now, most=AT_ONCE)
    old = last - base.seq
    if old <= 0 or (old < AT_ONCE and abs(now - base.at) < _EVERY):
        return 0
    try:
        end = make_checkpoint(tx, key, last, now)
        if not verify_parts([(*chain_beginning(tx, last), end)], key).ok:
            return 0
        return cut(tx, key, last, now, {"by": "retention", "days": days})
    except AuditError:
        return 0


def settle_time(tx: Transaction, now: float) -> float:
    """The latest time that counts for retention; 0.0 where none does yet.

    A clock may be ahead once, by a year. What was removed by it is gone when it is right again. So a time counts once
    a later one was told a whole day after it, and none before it since.

    Args:
        tx: The transaction: it keeps what the clock has told.
        now: What the clock tells now.
    """
    counts, since = _read(tx)
    if not since:
        since = max((row.at for row in tx.audit(after=tx.audit_head().seq - 1, limit=1)), default=now)
    if now < since:
        since = now
    elif now - since >= _STEADY:
        counts, since = since, now
    kept = min(counts, now), since
    tx.put_setting(_TIME, f"{kept[0]!r} {kept[1]!r}")
    return kept[0]


def _read(tx: Transaction) -> tuple[float, float]:
    """Which time counts, and since when the clock goes on; zeros where nothing is kept."""
    try:
        counts, since = map(float, (tx.setting(_TIME) or "0 0").split())
    except ValueError:
        return 0.0, 0.0
    return counts, since
