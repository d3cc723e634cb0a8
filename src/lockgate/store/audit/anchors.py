r"""Whether the chains of a shared store are those that were anchored in it.

Each gate seals its own chain, so another gate cannot check the seal, and the gate itself could write its history anew.
Against that, the database keeps the heads of all chains in one table. Each anchor there names the digest of the one
before it, whichever gate's that is. A gate that rewrites what was anchored contradicts an anchor; whoever rewrites the
anchors contradicts what each gate has noted of them on its own machine. The digest is made by the database, and can be
checked with a few lines in any language::

    SHA-256("lockgate anchor 1\n" + previous + "\n" + n + "\n" + at_us + "\n" + gate + "\n" + seq + "\n" + head)
"""

from __future__ import annotations

from collections.abc import Iterator

from lockgate.core.record import TYPE_CHECKING, Record
from lockgate.store.audit.chain import Verification, records, verify
from lockgate.store.chain_links import ROOT
from lockgate.store.rows import AnchorRow
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction
    from lockgate.store.rows import AuditCheckpoint, GateRow

_PAGE = 500


class Anchored(Record):
    """What was found of the anchors."""

    ok: bool
    anchors: int
    """How many hold, from the first."""
    problem: str = ""
    """What is wrong, empty where nothing is."""


def anchor_digest(row: AnchorRow) -> str:
    """The digest of an anchor, hexadecimal."""
    text = "\n".join(("lockgate anchor 1", row.previous, *map(str, (row.n, row.at_us, row.gate, row.seq, row.head))))
    return sha256(text.encode()).hexdigest()


def verify_chain(tx: Transaction, gate: GateRow, key: bytes) -> Verification:
    """Check the chain of one gate; its seals only where it is the gate that looks, for no other has its key."""
    head, base = tx.audit_head(gate=gate.gate), tx.audit_checkpoint(gate=gate.gate)
    return verify(records(tx, gate.gate), head, key if gate.own else None, base)


def verify_anchors(tx: Transaction, known: AnchorRow | None = None) -> Anchored:
    """Check that the anchors are a chain, and that each gate's records are those that were anchored.

    Args:
        tx: A look at the store.
        known: The anchor that this machine has noted last.
    """
    count, previous = 0, ROOT
    bases: dict[str, AuditCheckpoint] = {}
    for row in anchors(tx):
        if row.gate not in bases:
            bases[row.gate] = tx.audit_checkpoint(gate=row.gate)
        problem = _chain_problem(row, count + 1, previous) or _find_contradiction(tx, row, bases[row.gate])
        if not problem and known is not None and row.n == known.n and row != known:
            problem = f"anchor {row.n} is not the one that this machine has noted: the anchors were written anew"
        if problem:
            return Anchored(False, count, problem)
        count, previous = count + 1, row.digest
    if known is not None and known.n > count:
        return Anchored(False, count, f"anchor {known.n}, which this machine has noted, is missing")
    return Anchored(True, count)


def anchors(tx: Transaction) -> Iterator[AnchorRow]:
    """All anchors, in order, read page by page."""
    after = -(2**63)
    while page := tx.anchors(after=after, limit=_PAGE):
        yield from page
        after = page[-1].n


def _chain_problem(row: AnchorRow, expected: int, previous: str) -> str:
    if row.n != expected:
        return f"anchor {expected} is missing"
    if row.previous != previous:
        return f"anchor {row.n} does not follow the one before it"
    return "" if anchor_digest(row) == row.digest else f"anchor {row.n} was changed"


def _find_contradiction(tx: Transaction, row: AnchorRow, base: AuditCheckpoint) -> str:
    if row.seq < base.seq or not row.seq:
        return ""  # retention has removed the record, and a sealed checkpoint stands in its place
    found = tx.audit(after=row.seq - 1, limit=1, gate=row.gate)
    digest = base.digest if row.seq == base.seq else found[0].digest if found and found[0].seq == row.seq else ""
    if digest == row.head:
        return ""
    what = "is another one than" if digest else "is missing, and"
    return f"record {row.seq} of gate {row.gate[:8]} {what} was anchored"
