"""The queries of the SQLite store about the audit: appending to its chain, reading it, cutting it."""

from __future__ import annotations

from collections.abc import Mapping

from lockgate.core.errors import StoreError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import (
    BY_A_PERSON,
    PRUNED,
    SCHEMA,
    HeadFacts,
    canonical,
    epoch_at,
    gate_of,
    hash_with_key,
    head_facts,
    is_cut,
    link_digest,
    seal,
)
from lockgate.store.files import VERSION
from lockgate.store.rows import AHEAD, AnchorRow, AuditCheckpoint, AuditHead, AuditQuery, AuditRow, GateRow
from lockgate.store.sqlite.statements import SqliteStatements

if TYPE_CHECKING:
    from typing import Any

_BROKEN = HeadFacts("?", "?")
"""What stands for it where the head's seal does not hold: no seal of a label does then."""


class SqliteAuditQueries(SqliteStatements):
    """The chain of this gate, which is the only one in such a store."""

    moved: bool
    _facts: HeadFacts | None = None
    """What the head binds beside the chain's end, once that was read."""

    @property
    def gate(self) -> str:
        """The id of this gate, whose chain it is."""
        return gate_of(self._key)

    def hash_with_key(self, purpose: bytes, text: str) -> str:
        """A keyed hash of a text that nobody can make without the key of this installation."""
        return hash_with_key(self._key, purpose, text)

    def append_audit(self, at: float, body: Mapping[str, Any]) -> AuditRow:
        """Append one record to the audit chain."""
        row = self._append(self._check_head(), at, body)
        self._put_head(row.seq, row.digest)
        return row

    def _check_head(self) -> tuple[int, str]:
        """Number and digest of the last record. Raises ``StoreError`` where the seal of the head does not hold."""
        head = self.audit_head()
        if head_facts(self._key, head) is None:
            raise StoreError(
                "the head of the audit chain was changed by something else, or by a newer Lockgate:"
                " upgrade this one, or look at it: lockgate audit verify",
            )
        return head.seq, head.digest

    def _append(self, last: tuple[int, str], at: float, body: Mapping[str, Any]) -> AuditRow:
        """Append one record after the last one, and leave the head as it is."""
        if not last[0] or body.get("event") == PRUNED:
            body = {**body, SCHEMA: VERSION}
        # What a person takes back must not come back with a copy from before: so its head is kept outside at once.
        self.moved = self.moved or body.get("client") in BY_A_PERSON
        try:
            text = canonical(body)
        except (TypeError, ValueError, RecursionError) as error:
            raise StoreError(f"cannot record this: {error}") from error
        seq, previous = last[0] + 1, last[1]
        row = AuditRow(seq, float(at), text, previous, link_digest(previous, seq, float(at), text))
        self._write("INSERT INTO audit VALUES (?, ?, ?, ?, ?)", row)
        return row

    def _put_head(self, seq: int, digest: str) -> None:
        values = (seq, digest, seal(self._key, seq, digest, self.facts()))
        self._write("INSERT OR REPLACE INTO audit_head VALUES (1, ?, ?, ?)", values)

    def facts(self) -> HeadFacts:
        """What the seal of the head binds beside the chain's end.

        Nobody goes back to older facts without the chain's end.
        """
        if self._facts is None:
            self._facts = head_facts(self._key, self._read_head()) or _BROKEN
        return self._facts

    def epoch(self) -> str:
        """Since which record seals of labels hold; empty where all do."""
        return self.facts().epoch

    def root(self) -> str:
        """The digest of the list of who has begun; empty where the head tells none."""
        return self.facts().root

    def begin_epoch(self) -> None:
        """Let seals of labels count only where they are made from here on."""
        head = self.audit_head()
        self._bind(self.facts()._replace(epoch=epoch_at(head.seq, head.digest)))
        self.moved = True

    def put_root(self, root: str) -> None:
        """Let the head tell another list of who has begun."""
        self._bind(self.facts()._replace(root=root))

    def sets(self) -> str | None:
        """The digests of the settings of which none may be missing; ``None`` where the head tells none."""
        return self.facts().sets

    def put_sets(self, sets: str) -> None:
        """Let the head tell others."""
        self._bind(self.facts()._replace(sets=sets))

    def _bind(self, facts: HeadFacts) -> None:
        """Let the head bind other facts. One whose seal does not hold stays, and nothing is decided then."""
        head = self.audit_head()
        if head_facts(self._key, head) is not None:
            self._facts = facts
            self._put_head(head.seq, head.digest)

    def audit(self, *, after: int = 0, limit: int = 0, gate: str = "") -> list[AuditRow]:
        """Audit records in order, those with a greater sequence number than ``after``."""
        if not self._is_own(gate):
            return []
        rows = self._all(
            "SELECT seq, at, body, previous, digest FROM audit WHERE seq > ? ORDER BY seq LIMIT ?",
            (after, limit or -1),
        )
        return [AuditRow._make(row) for row in rows]

    def find_audit(
        self, query: AuditQuery, *, after: int = 0, before: int = 0, limit: int = 0, gate: str = ""
    ) -> list[AuditRow]:
        """The audit records that meet a query, newest first."""
        from lockgate.store.sqlite.search import condition

        if not self._is_own(gate):
            return []
        where, values = condition(query)
        rows = self._all(
            "SELECT seq, at, body, previous, digest FROM audit"  # noqa: S608
            f" WHERE seq > ? AND (? = 0 OR seq < ?) AND {where} ORDER BY seq DESC LIMIT ?",
            (after, before, before, *values, limit or -1),
        )
        return [AuditRow._make(row) for row in rows]

    def audit_head(self, *, gate: str = "") -> AuditHead:
        """The chain's sealed head as it is kept, whether or not its seal holds."""
        return self._read_head() if self._is_own(gate) else AuditHead()

    def _read_head(self) -> AuditHead:
        row = self._one("SELECT seq, digest, seal FROM audit_head WHERE id = 1", ())
        return AuditHead._make(row) if row else AuditHead()

    def audit_checkpoint(self, *, gate: str = "") -> AuditCheckpoint:
        """Where the chain was last cut, whether or not its seal holds; ``AuditCheckpoint()`` where it never was."""
        row = self._one("SELECT seq, digest, removed, at, seal FROM audit_checkpoint WHERE id = 1", ())
        return AuditCheckpoint._make(row) if row and self._is_own(gate) else AuditCheckpoint()

    def is_audit_whole(self) -> bool:
        """Whether there are as many records as the head and the checkpoint tell; what is in them is not looked at."""
        base = self.audit_checkpoint().seq
        return bool(self._one("SELECT count(*) = ? FROM audit WHERE seq > ?", (self.audit_head().seq - base, base))[0])

    def read_version_made_with(self) -> int:
        """The version of the tables that the chain says it was begun or last cut with; 0 where it says nothing."""
        from lockgate.system.digests import json_object

        cut = self.find_audit(AuditQuery(event=PRUNED), limit=1)
        told = json_object((cut or self.audit(limit=1) or [AuditRow(0, 0.0, "", "", "")])[0].body) or {}
        version = told.get(SCHEMA, 0)
        return version if isinstance(version, int) else 0

    def audit_before(self, at: float, *, now: float, most: int = 0) -> int:
        """How far the chain's beginning reaches in which every record is older than a time."""
        first = "(SELECT seq, at FROM audit ORDER BY seq LIMIT ?)"
        kept = self._one(
            f"SELECT seq FROM {first} WHERE at >= ? AND at <= ? LIMIT 1",  # noqa: S608
            (most or -1, at, now + AHEAD),
        )
        end = kept[0] if kept is not None else 2**63 - 1
        older = self._one(f"SELECT max(seq) FROM {first} WHERE at < ? AND seq < ?", (most or -1, at, end))  # noqa: S608
        return int(older[0] or 0)

    def cut_audit(self, checkpoint: AuditCheckpoint, body: Mapping[str, Any]) -> AuditRow:
        """Remove the records up to a checkpoint, which takes their place, and record that."""
        last = self._one("SELECT digest FROM audit WHERE seq = ?", (checkpoint.seq,))
        count = checkpoint.seq - self.audit_checkpoint().seq
        if not is_cut(self._key, checkpoint) or last != (checkpoint.digest,) or count != checkpoint.removed:
            raise StoreError("the audit chain cannot be cut there: it was cut meanwhile, or it does not hold")
        row = self.append_audit(checkpoint.at, {**body, "event": PRUNED, "checkpoint": checkpoint._asdict()})
        self._write("INSERT OR REPLACE INTO audit_checkpoint VALUES (1, ?, ?, ?, ?, ?)", checkpoint)
        # The triggers of the schema let exactly these go, now that the checkpoint and its record are there.
        self._write("DELETE FROM audit WHERE seq <= ?", (checkpoint.seq,))
        return row

    def gates(self) -> list[GateRow]:
        """This gate, once it has recorded something: no other one uses the store."""
        seq = self.audit_head().seq
        first = self._one("SELECT at FROM audit ORDER BY seq LIMIT 1", ()) or (0.0,)
        return [GateRow(gate_of(self._key), "", first[0], seq, own=True)] if seq else []

    def anchors(self, *, after: int = 0, limit: int = 0) -> list[AnchorRow]:
        """A store that only one gate uses has no central record of heads."""
        return []

    def _is_own(self, gate: str) -> bool:
        return not gate or gate == gate_of(self._key)
