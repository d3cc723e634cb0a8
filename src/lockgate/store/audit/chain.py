"""Whether the audit chain holds: functions of its records, its two ends and the key.

What a chain that holds proves: no record was changed, removed, added or moved since it was written, but those at its
beginning that Lockgate itself removed. None is missing at the end either. Only somebody who has the installation's key
can get around that. Who can read the key can write another chain; against that, keep an export, or the head that
``lockgate audit verify`` prints, somewhere else.

A chain is cut at its beginning in one way only. The records go, a sealed checkpoint takes their place, and a record of
that, which holds the same checkpoint, is appended. So the checkpoint that counts is the one that the newest such record
tells of: a forged one has no seal, an older or moved one is not the newest, and where somebody just removed records
there is none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.chain_links import PRUNED, ROOT, checkpoint_from, head_facts, is_cut, link_digest
from lockgate.store.rows import AuditCheckpoint, AuditHead, AuditRow
from lockgate.system.digests import json_object

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

    Item = AuditCheckpoint | AuditRow | AuditHead

_PAGE = 500
_WHOLE = AuditCheckpoint()
"""Where nothing was ever removed."""
_TELLS_OF_A_CUT = f'"event":"{PRUNED}"'
"""A canonical body that has not this text tells of no cut; one that has it is parsed to find out."""


class Verification(Record):
    """What was found."""

    ok: bool
    records: int
    """How many records hold, from the first that is there."""
    problem: str = ""
    """What is wrong, empty where nothing is."""
    seq: int = 0
    """The record where it is wrong, 0 where that is not one record."""
    head: AuditHead = AuditHead()
    base: AuditCheckpoint = _WHOLE
    """Where the chain (the last part of it) begins: what stands in the place of the records that were removed."""
    first: int = 1
    """Number of the first record."""


class _Check:
    """A check in progress: a beginning, records in order, an end; where archives are joined, again and again.

    Each step says what is wrong, or nothing.
    """

    def __init__(self, key: bytes | None) -> None:
        self.count = 0
        self.base = _WHOLE
        self.first = 1
        self._key = key
        self._seq, self._digest = 0, ROOT
        self._told = _WHOLE
        self._told_at = 0

    def begins(self, base: AuditCheckpoint, *, first: bool) -> str:
        """Check where a part begins: the first one anywhere, each other where the one before it ends."""
        if first:
            self._seq, self._digest, self.first = base.seq, base.digest or ROOT, base.seq + 1
        elif (base.seq, base.digest or ROOT) != (self._seq, self._digest):
            return f"what follows record {self._seq} does not begin there, but after record {base.seq}"
        self.base = base
        return "" if base == _WHOLE else self._check_seal(base)

    def take(self, row: AuditRow) -> str:
        """Check one record, and remember the cut that it may tell of: each goes further than the one before it."""
        problem = _chain_problem(row, self._seq + 1, self._digest)
        if problem:
            return problem
        if _TELLS_OF_A_CUT in row.body and (told := _read_checkpoint(row.body)) is not None:
            if not self._told.seq < told.seq < row.seq:
                return f"record {row.seq} tells of a cut that cannot have been"
            self._told, self._told_at = told, row.seq
        self.count, self._seq, self._digest = self.count + 1, row.seq, row.digest
        return ""

    def goes_on(self, closing: AuditCheckpoint) -> str:
        """Check the checkpoint with which an archive ends: what follows begins with it."""
        if (closing.seq, closing.digest) != (self._seq, self._digest):
            return f"the checkpoint at the end is not that of record {self._seq}: the file was cut"
        return self._check_seal(closing) or self._begins_elsewhere()

    def ends(self, head: AuditHead) -> str:
        """Check the head, and that the beginning is the one that the newest record of a cut tells of."""
        problem = _head_broken(head, self._seq, self._digest, self._key) or self._begins_elsewhere()
        if not problem and self._told.seq < self.base.seq:
            return f"no record tells that the records up to {self.base.seq} were removed"
        return problem

    def _check_seal(self, found: AuditCheckpoint) -> str:
        if self._key is None or is_cut(self._key, found):
            return ""
        return "the checkpoint's seal does not hold: it was changed, or sealed by another installation"

    def _begins_elsewhere(self) -> str:
        told, at = self._told, self._told_at
        if told.seq > self.base.seq:
            return f"record {at} tells that the records up to {told.seq} were removed, and the chain begins elsewhere"
        if told.seq == self.base.seq and told != self.base:
            return f"the checkpoint is another one than record {at} tells of"
        return ""


def verify(
    rows: Iterable[AuditRow], head: AuditHead, key: bytes | None, base: AuditCheckpoint = _WHOLE
) -> Verification:
    """Check a chain as it is kept.

    Args:
        rows: All records in the order in which they are kept.
        head: The sealed head.
        key: The installation's key; ``None`` leaves the seals unchecked (another installation's export).
        base: The checkpoint where the chain was last cut.
    """
    return verify_parts([chain([base], rows, [head])], key)


def verify_store(tx: Transaction, key: bytes | None) -> Verification:
    """Check the chain of a store, record by record."""
    return verify_parts([items(tx)], key)


def verify_parts(parts: Iterable[Iterable[Item]], key: bytes | None) -> Verification:
    """Check one chain that lies in several parts: archives, each of which the next one goes on from, and the rest.

    Args:
        parts: Each begins with its checkpoint (an empty one where nothing was removed before it), then come its
            records, and last the head; an archive, from which the chain goes on, has another checkpoint instead.
        key: As for :func:`verify`.

    Raises:
        AuditError: A part cannot be read.
    """
    check, head = _Check(key), AuditHead()
    for number, part in enumerate(parts):
        begun = False
        for item in part:
            match item:
                case AuditRow():
                    problem = check.take(item)
                case AuditHead():
                    head = item
                    problem = check.ends(item)
                case _ if begun:
                    head = AuditHead()
                    problem = check.goes_on(item)
                case _:
                    problem = check.begins(item, first=number == 0)
            begun = True
            if problem:
                seq = item.seq if isinstance(item, AuditRow) else 0
                return Verification(False, check.count, problem, seq, head, check.base, check.first)
    return Verification(True, check.count, "", 0, head, check.base, check.first)


def _chain_problem(row: AuditRow, expected: int, previous: str) -> str:
    if row.seq != expected:
        return f"record {expected} is missing" if row.seq > expected else f"record {row.seq} is not in its place"
    if row.previous != previous:
        return f"record {row.seq} does not follow the one before it"
    if link_digest(row.previous, row.seq, row.at, row.body) != row.digest:
        return f"record {row.seq} was changed"
    return ""


def _head_broken(head: AuditHead, last: int, digest: str, key: bytes | None) -> str:
    if not head.digest:
        return "the head is missing"
    if key is not None and head_facts(key, head) is None:
        return "the head's seal does not hold: the head was changed, or sealed by another installation"
    if head.seq > last:
        missing = head.seq - last
        return f"the last {missing} records are missing" if missing > 1 else "the last record is missing"
    if head.seq < last:
        return f"the records after {head.seq} were not written by Lockgate"
    return "" if head.digest == digest else "the head names another last record"


def _read_checkpoint(body: str) -> AuditCheckpoint | None:
    """The checkpoint that a record tells of; ``None`` where it tells of none."""
    found = json_object(body)
    if found is None or found.get("event") != PRUNED:
        return None
    return checkpoint_from(found.get("checkpoint")) or AuditCheckpoint(-1)  # which cannot have been


def items(tx: Transaction) -> Iterator[Item]:
    """The chain of a store as one part: where it begins, its records, its head."""
    yield tx.audit_checkpoint()
    yield from records(tx)
    yield tx.audit_head()


def records(tx: Transaction, gate: str = "") -> Iterator[AuditRow]:
    """All records of a gate, in order, read page by page: also what somebody put before the first one."""
    after = -(2**63)  # SQLite's least integer
    while page := tx.audit(after=after, limit=_PAGE, gate=gate):
        yield from page
        after = page[-1].seq
