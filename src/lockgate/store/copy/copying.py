"""Everything that a gate keeps, copied from SQLite to the shared database, or back, within one transaction of each.

What is there already is replaced by what comes, and a taint that is confirmed on either side stays confirmed. The audit
chain is copied record by record, with its seals, and only onto a beginning of itself. Other gates' chains stay where
they are. Keyed hashes of addresses mean something only under the key that made them: they are copied where both stores
have the same one, as where the database was made by this machine.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.chain_links import PRUNED, checkpoint_from
from lockgate.store.copy.tables import ADDRESSES, SETTINGS, TABLES, TableShape
from lockgate.store.rows import AuditCheckpoint, AuditHead, AuditRow

if TYPE_CHECKING:
    from lockgate.store.copy.ends import End
    from lockgate.store.protocol import Transaction

_PAGE = 500
_NOT_CUT = AuditCheckpoint()


class CopyResult(Record):
    """What was copied."""

    rows: dict[str, int]
    """How many, by table."""
    records: int
    """How many records of the audit were not there yet."""
    addresses_left: bool
    """Whether the addresses were left out, because the stores have different keys for them."""


def copy(source: End, target: End, *, same_addresses: bool) -> CopyResult:
    """Copy everything from one store to the other.

    Args:
        source: The store that is read. That its chain holds is for the caller to find out first.
        target: The store of the same gate that is written.
        same_addresses: Whether both stores have the same fleet key.

    Raises:
        StoreError: The target's audit chain is no beginning of the source's.
    """
    # Each question has a snapshot of its own: what is read in several must not change between them either.
    source.lock()
    target.lock()
    tables = [*TABLES, *([ADDRESSES] if same_addresses else []), SETTINGS]
    rows = {table.name: _copy_table(table, source, target) for table in tables}
    target.seal()
    return CopyResult(rows, _copy_chain(source, target), not same_addresses)


def _copy_table(table: TableShape, source: End, target: End) -> int:
    rows = source.rows(table)
    if not table.key:
        # Rows without a key would be there twice after a second copy.
        target.drop(table, {row[0] for row in rows})
    for start in range(0, len(rows), _PAGE):
        target.put(table, rows[start : start + _PAGE])
    return len(rows)


def _copy_chain(source: End, target: End) -> int:
    head, there = source.tx.audit_head(), target.tx.audit_head()
    base = source.tx.audit_checkpoint()
    _refuse_another_chain(source.tx, there)
    if not there.seq and base != _NOT_CUT:
        target.put_checkpoint(base)
    count = 0
    for page in _pages(source.tx, max(there.seq, base.seq)):
        count += len(page)
        for part in _up_to_the_cut(page, base):
            target.put_records(part)
            if there.seq and base.seq > target.tx.audit_checkpoint().seq and _read_checkpoint(part[-1]) == base:
                target.put_checkpoint(base)
    if head[:2] != there[:2]:
        target.put_head(head)
    return count


def _refuse_another_chain(source: Transaction, there: AuditHead) -> None:
    """Only a beginning of a chain can be gone on with."""
    if not there.digest:
        raise StoreError("the audit chain of the store that is copied to has lost its head")
    if not there.seq:
        return
    base = source.audit_checkpoint()
    last = source.audit(after=there.seq - 1, limit=1)
    known = base.digest if there.seq == base.seq else last[0].digest if last and last[0].seq == there.seq else ""
    if known != there.digest:
        raise StoreError(
            "the store that is copied to has records of this gate that the other one has not: the chains have parted,"
            " and neither can go on as the other (back to sqlite: move lockgate.db* of the state folder aside first)"
        )


def _pages(source: Transaction, after: int) -> Iterator[list[AuditRow]]:
    while page := source.audit(after=after, limit=_PAGE):
        yield page
        after = page[-1].seq


def _up_to_the_cut(page: list[AuditRow], base: AuditCheckpoint) -> Iterator[list[AuditRow]]:
    """A page in parts, of which one ends with the record of the cut: the checkpoint must follow it at once."""
    at = next((number for number, row in enumerate(page, 1) if base.seq and _read_checkpoint(row) == base), len(page))
    yield page[:at]
    if at < len(page):
        yield page[at:]


def _read_checkpoint(row: AuditRow) -> AuditCheckpoint | None:
    """The checkpoint that a record tells of."""
    if f'"event":"{PRUNED}"' not in row.body:
        return None
    found = json.loads(row.body)
    return checkpoint_from(found.get("checkpoint")) if isinstance(found, dict) else None
