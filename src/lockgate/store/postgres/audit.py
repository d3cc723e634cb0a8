"""The audit chains of the shared store, one for each gate: the queries of the ``Transaction`` protocol.

A gate appends to its own chain alone, under the lock of its own row. The seal is made with a key that only the gate's
machine has. So another gate, or the database's owner, cannot write in its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import PRUNED, ROOT, canonical, hash_with_key, is_cut, link_digest, seal
from lockgate.store.postgres.statements import PostgresStatements
from lockgate.store.rows import AHEAD, AnchorRow, AuditCheckpoint, AuditHead, AuditQuery, AuditRow, GateRow

if TYPE_CHECKING:
    from typing import Any

_RECORD = ", ".join(AuditRow._fields)
_ANCHOR = ", ".join(AnchorRow._fields)
_CHECKPOINT = ", ".join(AuditCheckpoint._fields)
_HEAD = "SELECT seq, digest, seal, anchored_seq, anchored_at FROM lockgate.gates WHERE gate = %s"
_GREATEST = 2**63 - 1
"""The greatest sequence number: a ``bigint``."""
_PAGE = 500
"""Records that one statement of a search reads."""
ANCHOR_RECORDS = 256
"""After so many records a chain is anchored."""
ANCHOR_SECONDS = 600.0
"""After so much time a chain is anchored, as soon as something is appended."""


class PostgresAuditQueries(PostgresStatements):
    """Chains, their heads, where they were cut, and their anchors."""

    name = ""
    """What people call this gate."""
    _head: AuditHead | None = None
    """The head after what this transaction has appended."""
    _locked_row: Sequence[Any] | None = None
    """This gate's row, where the answer to another question brought it, locked."""
    wants_anchor = False
    """Whether this transaction has appended to a chain whose last anchor is old."""

    def hash_with_key(self, purpose: bytes, text: str) -> str:
        """A keyed hash of a text that nobody can make without the key of this machine."""
        return hash_with_key(self._key, purpose, text)

    def append_audit(self, at: float, body: Mapping[str, Any]) -> AuditRow:
        """Append one record to this gate's chain."""
        self._may_write()
        head = self._head or self._lock_head(at)
        if seal(self._key, head.seq, head.digest) != head.seal:
            raise StoreError(
                "the head of this gate's audit chain was changed by something else: see `lockgate audit verify`"
            )
        try:
            text = canonical(body)
        except (TypeError, ValueError, RecursionError) as error:
            raise StoreError(f"cannot record this: {error}") from error
        seq = head.seq + 1
        row = AuditRow(seq, float(at), text, head.digest, link_digest(head.digest, seq, float(at), text))
        self._head = AuditHead(seq, row.digest, seal(self._key, seq, row.digest))
        self._write("SELECT lockgate.append(%s, %s, %s, %s, %s, %s, %s)", (self._gate, *row, self._head.seal))
        return row

    def lock_head_early(self) -> None:
        """Lock the head of this gate's chain together with the next question, because a record will follow.

        Call it once the step has locked all its sessions: every step locks heads last, so that no two wait in a circle.
        """
        if self._writable and self._head is None and self._locked_row is None and not self._along:
            self._along.append((f"{_HEAD} FOR NO KEY UPDATE", (self._gate,), self._keep_locked_row))

    def _keep_locked_row(self, row: Sequence[Any] | None) -> None:
        self._locked_row = row

    def put_head(self, head: AuditHead) -> None:
        """Put the head of this gate's chain forward."""
        self._write("UPDATE lockgate.gates SET seq = %s, digest = %s, seal = %s WHERE gate = %s", (*head, self._gate))

    def call_gate(self, name: str) -> None:
        """Have people see this gate, which has recorded something here, under another name."""
        self._write("UPDATE lockgate.gates SET name = %s WHERE gate = %s", (name, self._gate))

    def put_checkpoint(self, checkpoint: AuditCheckpoint) -> None:
        """Put a checkpoint in the place of this gate's records up to it."""
        self._write(
            f"INSERT INTO lockgate.audit_checkpoints (gate, {_CHECKPOINT}) VALUES (%s, %s, %s, %s, %s, %s)"  # noqa: S608
            " ON CONFLICT (gate) DO UPDATE SET (seq, digest, removed, at, seal)"
            " = (excluded.seq, excluded.digest, excluded.removed, excluded.at, excluded.seal)",
            (self._gate, *checkpoint),
        )
        # The guards of the schema let exactly these go, now that the checkpoint and its record are there.
        self._count("SELECT lockgate.cut_audit(%s)", (self._gate,))

    def audit(self, *, after: int = 0, limit: int = 0, gate: str = "") -> list[AuditRow]:
        """Audit records of a gate in order, those with a greater sequence number than ``after``."""
        rows = self._all(
            f"SELECT {_RECORD} FROM lockgate.audit"  # noqa: S608
            " WHERE gate = %s AND seq > %s ORDER BY seq LIMIT %s::bigint",
            (gate or self._gate, after, limit or None),
        )
        return [AuditRow._make(row) for row in rows]

    def find_audit(
        self, query: AuditQuery, *, after: int = 0, before: int = 0, limit: int = 0, gate: str = ""
    ) -> list[AuditRow]:
        """The audit records of a gate that meet a query, newest first."""
        from lockgate.store.postgres.search import meets, narrow

        where, values = narrow(query)
        found: list[AuditRow] = []
        upper = before or _GREATEST
        while upper and (not limit or len(found) < limit):
            rows = self._all(
                f"SELECT {_RECORD} FROM lockgate.audit"  # noqa: S608
                f" WHERE gate = %s AND seq > %s AND seq < %s{where} ORDER BY seq DESC LIMIT {_PAGE}",
                (gate or self._gate, after, upper, *values),
            )
            found += [row for row in map(AuditRow._make, rows) if meets(query, row.body)]
            upper = rows[-1][0] if len(rows) == _PAGE else 0
        return found[:limit] if limit else found

    def audit_head(self, *, gate: str = "") -> AuditHead:
        """The sealed head of a gate's chain as it is kept, whether or not its seal holds."""
        row = self._one(_HEAD, (gate or self._gate,))
        if row:
            return AuditHead._make(row[:3])
        # A gate that never recorded anything has an empty chain; one that has records and no head has lost it.
        return AuditHead() if gate or self.audit(limit=1) else AuditHead(0, ROOT, seal(self._key, 0, ROOT))

    def audit_checkpoint(self, *, gate: str = "") -> AuditCheckpoint:
        """Where a gate's chain was last cut, whether or not its seal holds."""
        row = self._one(
            f"SELECT {_CHECKPOINT} FROM lockgate.audit_checkpoints WHERE gate = %s",  # noqa: S608
            (gate or self._gate,),
        )
        return AuditCheckpoint._make(row) if row else AuditCheckpoint()

    def audit_before(self, at: float, *, now: float, most: int = 0) -> int:
        """How far this gate's chain's beginning reaches in which every record is older than a time."""
        first = "SELECT seq, at FROM lockgate.audit WHERE gate = %s ORDER BY seq LIMIT %s::bigint"
        row = self._one(
            f"WITH first AS ({first}) SELECT coalesce(max(seq), 0) FROM first WHERE at < %s"  # noqa: S608
            " AND seq < coalesce((SELECT min(seq) FROM first WHERE at >= %s AND at <= %s), 9223372036854775807)",
            (self._gate, most or None, at, at, now + AHEAD),
        )
        return int(row[0]) if row else 0

    def cut_audit(self, checkpoint: AuditCheckpoint, body: Mapping[str, Any]) -> AuditRow:
        """Remove the records of this gate up to a checkpoint, which takes their place, and record that."""
        self._may_write()
        self._head = self._head or self._lock_head(checkpoint.at)
        last = self._one("SELECT digest FROM lockgate.audit WHERE gate = %s AND seq = %s", (self._gate, checkpoint.seq))
        count = checkpoint.seq - self.audit_checkpoint().seq
        if not is_cut(self._key, checkpoint) or last != (checkpoint.digest,) or count != checkpoint.removed:
            raise StoreError("the audit chain cannot be cut there: it was cut meanwhile, or it does not hold")
        row = self.append_audit(checkpoint.at, {**body, "event": PRUNED, "checkpoint": checkpoint._asdict()})
        self.put_checkpoint(checkpoint)
        return row

    def gates(self) -> list[GateRow]:
        """All gates that have recorded something here, by name."""
        rows = self._all(
            "SELECT gate, name, made_at, seq, anchored_seq, anchored_at FROM lockgate.gates ORDER BY name, gate"
        )
        return [GateRow._make((*row, row[0] == self._gate)) for row in rows]

    def anchors(self, *, after: int = 0, limit: int = 0) -> list[AnchorRow]:
        """The central record of heads, in order, those with a greater number than ``after``."""
        rows = self._all(
            f"SELECT {_ANCHOR} FROM lockgate.anchors WHERE n > %s ORDER BY n LIMIT %s::bigint",  # noqa: S608
            (after, limit or None),
        )
        return [AnchorRow._make(row) for row in rows]

    def anchor(self) -> AnchorRow | None:
        """Anchor this gate's head now; ``None`` where it has recorded nothing."""
        self._may_write()
        row = self._one("SELECT n, at_us, gate, seq, head, previous, digest FROM lockgate.anchor(%s)", (self._gate,))
        return AnchorRow._make(row) if row else None

    def _lock_head(self, at: float) -> AuditHead:
        row = self._locked_row or self._one(f"{_HEAD} FOR NO KEY UPDATE", (self._gate,)) or self._first_head(at)
        seq, anchored_seq, anchored_at = row[0], row[3], row[4]
        overdue = anchored_at + ANCHOR_SECONDS <= at or anchored_at > at + ANCHOR_SECONDS
        self.wants_anchor = overdue or seq >= anchored_seq + ANCHOR_RECORDS
        return AuditHead._make(row[:3])

    def _first_head(self, at: float) -> Sequence[Any]:
        """Make this gate known with its first record. A chain without a head has lost it."""
        if self.audit(limit=1):
            raise StoreError("the head of this gate's audit chain is missing: see `lockgate audit verify`")
        # An empty chain is sealed too. Two first processes agree: one waits here, and finds what the other has made.
        self._count(
            "INSERT INTO lockgate.gates (gate, name, made_at, seq, digest, seal) VALUES (%s, %s, %s, 0, %s, %s)"
            " ON CONFLICT (gate) DO NOTHING",
            (self._gate, self.name, at, ROOT, seal(self._key, 0, ROOT)),
        )
        row = self._one(f"{_HEAD} FOR NO KEY UPDATE", (self._gate,))
        assert row is not None
        return row
