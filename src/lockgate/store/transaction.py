"""One atomic step on the SQLite database: the queries of the ``Transaction`` protocol."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from lockgate.digests import sha256
from lockgate.errors import StoreError
from lockgate.model import Label, Subject, Taint, TaintState
from lockgate.record import TYPE_CHECKING
from lockgate.store.links import PRUNED, canonical, gate_of, is_cut, link_digest, seal
from lockgate.store.rows import (
    AgentRow,
    AnchorRow,
    ApprovalRow,
    AuditCheckpoint,
    AuditHead,
    AuditQuery,
    AuditRow,
    BriefRow,
    CallRow,
    GateRow,
    SessionRow,
)

if TYPE_CHECKING:
    from sqlite3 import Connection, Cursor
    from typing import Any

Value = str | bytes | int | float
_OUT = ("running", "asked")
"""States of calls that have an index."""
_POLICY = "policy:"
"""Settings with what is published for a fleet: digest, serial, bundle."""


class SqliteTransaction:
    """The queries. Begun and ended by ``SqliteStore``, never by itself."""

    def __init__(self, connection: Connection, key: bytes, *, writable: bool) -> None:
        self._connection = connection
        self._key = key
        self._writable = writable
        self._last_call: tuple[tuple[str, str], CallRow | None] | None = None

    # sessions

    def session(self, session: str) -> SessionRow | None:
        """The session, or ``None``."""
        row = self._one(
            "SELECT session, client, cwd, workspace, parent, how, process, started_at, seen_at, ended_at, why"
            " FROM sessions WHERE session = ?",
            (session,),
        )
        return SessionRow._make(row) if row else None

    def put_session(self, row: SessionRow) -> None:
        """Add or replace a session."""
        self._write("INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", row)

    def sessions(self, *, process: str = "", limit: int = 0) -> list[SessionRow]:
        """Sessions, last seen first; of one client process where it is given."""
        rows = self._all(
            "SELECT session, client, cwd, workspace, parent, how, process, started_at, seen_at, ended_at, why"
            " FROM sessions WHERE ? = '' OR process = ? ORDER BY seen_at DESC, started_at DESC, session LIMIT ?",
            (process, process, limit or -1),
        )
        return [SessionRow._make(row) for row in rows]

    # sub-agents

    def agent(self, subject: Subject) -> AgentRow | None:
        """The sub-agent, or ``None``."""
        row = self._one(
            "SELECT session, agent, agent_type, parent, call_id, delegate, state, started_at, parents"
            " FROM agents WHERE session = ? AND agent = ?",
            subject,
        )
        return _agent(row) if row else None

    def put_agent(self, row: AgentRow) -> None:
        """Add or replace a sub-agent."""
        self._write(
            "INSERT INTO agents (session, agent, agent_type, parent, call_id, delegate, state, started_at, parents)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, agent) DO UPDATE SET"
            " agent_type = excluded.agent_type, parent = excluded.parent, call_id = excluded.call_id,"
            " delegate = excluded.delegate, state = excluded.state, started_at = excluded.started_at,"
            " parents = excluded.parents",
            (*row[:-1], json.dumps(row.parents)),
        )

    def agents(self, session: str) -> list[AgentRow]:
        """All sub-agents of a session, oldest first."""
        rows = self._all(
            "SELECT session, agent, agent_type, parent, call_id, delegate, state, started_at, parents"
            " FROM agents WHERE session = ? ORDER BY started_at, id",
            (session,),
        )
        return [_agent(row) for row in rows]

    # labels

    def taints(self, subject: Subject, *, limit: int = 0) -> list[Taint]:
        """The taints of a subject, oldest first; with a limit, only so many confirmed ones of each label."""
        if not limit:
            return [_taint(row) for row in self._all(f"{_TAINTS} ORDER BY at, id", subject)]
        return [_taint(row) for row in sorted(self._all(_OLDEST_TAINTS, (*subject, limit)))]

    def labels(self, subject: Subject) -> frozenset[Label]:
        """The labels of a subject, pending ones too."""
        return frozenset(
            label
            for label in Label
            if self._one(
                "SELECT 1 FROM taints WHERE session = ? AND agent = ? AND label = ? LIMIT 1",
                (*subject, label.value),
            )
        )

    def add_taints(self, subject: Subject, taints: Iterable[Taint]) -> None:
        """Add taints. One already there (same label, source, call and origin) is kept; confirmed replaces pending."""
        for taint in taints:
            self._write(
                "INSERT INTO taints (session, agent, label, source, tool, call_id, at, state, origin)"
                " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
                " ON CONFLICT (session, agent, label, source, call_id, origin) DO UPDATE SET state = 'confirmed'"
                " WHERE excluded.state = 'confirmed'",
                (
                    *subject,
                    taint.label.value,
                    taint.source,
                    taint.tool,
                    taint.call_id,
                    taint.at,
                    taint.state.value,
                    taint.origin,
                ),
            )

    def settle(self, session: str, call_id: str, *, confirm: bool) -> int:
        """Confirm or drop all pending taints of a call, in every agent of the session. Returns how many."""
        if confirm:
            statement = "UPDATE taints SET state = 'confirmed' WHERE session = ? AND call_id = ? AND state = 'pending'"
        else:
            statement = "DELETE FROM taints WHERE session = ? AND call_id = ? AND state = 'pending'"
        return self._write(statement, (session, call_id)).rowcount

    # calls

    def call(self, session: str, call_id: str) -> CallRow | None:
        """The call, or ``None``."""
        # Asked again and again within one step, in which nobody else writes.
        name = (session, call_id)
        if self._last_call is None or self._last_call[0] != name:
            row = self._one(
                "SELECT session, call_id, agent, tool, digest, state, quiet, facts, at FROM calls"
                " WHERE session = ? AND call_id = ?",
                name,
            )
            self._last_call = (name, _call(row) if row else None)
        return self._last_call[1]

    def put_call(self, row: CallRow) -> None:
        """Add or replace a call."""
        self._last_call = None
        self._write(
            "INSERT INTO calls (session, call_id, agent, tool, digest, state, quiet, facts, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, call_id) DO UPDATE SET"
            " agent = excluded.agent, tool = excluded.tool, digest = excluded.digest, state = excluded.state,"
            " quiet = excluded.quiet, facts = excluded.facts, at = excluded.at",
            (*row[:6], json.dumps(row.quiet), json.dumps(dict(row.facts)), row.at),
        )

    def calls(self, session: str, *, state: str = "") -> list[CallRow]:
        """Calls of a session, oldest first; in one state where it is given."""
        # An index of some rows alone is used where the statement itself says that it asks for these.
        written = f" AND state = '{state}'" if state in _OUT else " AND state = ?" if state else ""
        rows = self._all(
            "SELECT session, call_id, agent, tool, digest, state, quiet, facts, at FROM calls"  # noqa: S608
            f" WHERE session = ?{written} ORDER BY at, id",
            (session, state) if "?" in written else (session,),
        )
        return [_call(row) for row in rows]

    # briefs

    def brief(self, brief: str) -> BriefRow | None:
        """The brief, or ``None``."""
        row = self._one(
            "SELECT brief, session, parent, call_id, digest, text, state, agent, at FROM briefs WHERE brief = ?",
            (brief,),
        )
        return BriefRow._make(row) if row else None

    def put_brief(self, row: BriefRow) -> None:
        """Add or replace a brief."""
        self._write(
            "INSERT INTO briefs (brief, session, parent, call_id, digest, text, state, agent, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (brief) DO UPDATE SET"
            " session = excluded.session, parent = excluded.parent, call_id = excluded.call_id,"
            " digest = excluded.digest, text = excluded.text, state = excluded.state, agent = excluded.agent,"
            " at = excluded.at",
            row,
        )

    def briefs(self, session: str) -> list[BriefRow]:
        """Briefs of a session, oldest first."""
        rows = self._all(
            "SELECT brief, session, parent, call_id, digest, text, state, agent, at FROM briefs"
            " WHERE session = ? ORDER BY at, id",
            (session,),
        )
        return [BriefRow._make(row) for row in rows]

    # questions to a person

    def approval(self, approval: str) -> ApprovalRow | None:
        """The question to a person, or ``None``."""
        row = self._one(f"SELECT {_APPROVAL} FROM approvals WHERE approval = ?", (approval,))  # noqa: S608
        return _approval(row) if row else None

    def put_approval(self, row: ApprovalRow) -> None:
        """Add or replace a question to a person."""
        changes = ", ".join(f"{name} = excluded.{name}" for name in ApprovalRow._fields[1:])
        self._write(
            f"INSERT INTO approvals ({_APPROVAL}) VALUES ({', '.join('?' * len(ApprovalRow._fields))})"  # noqa: S608
            f" ON CONFLICT (approval) DO UPDATE SET {changes}",
            row._replace(about=json.dumps(row.about)),  # type: ignore[arg-type]
        )

    def approvals(self, *, session: str = "", state: str = "") -> list[ApprovalRow]:
        """Questions to a person, oldest first; of one session, in one state, where they are given."""
        given = {name: value for name, value in (("session", session), ("state", state)) if value}
        where = " WHERE " + " AND ".join(f"{name} = ?" for name in given) if given else ""
        rows = self._all(
            f"SELECT {_APPROVAL} FROM approvals{where} ORDER BY asked_at, id",  # noqa: S608
            tuple(given.values()),
        )
        return [_approval(row) for row in rows]

    def overdue_approvals(self, now: float) -> list[ApprovalRow]:
        """Questions whose time is over by now, and that nobody answered, or whose answer nobody used; oldest first."""
        rows = self._all(
            f"SELECT {_APPROVAL} FROM approvals WHERE state IN ('pending', 'approved') AND expires_at <= ?"  # noqa: S608
            " ORDER BY asked_at, id",
            (now,),
        )
        return [_approval(row) for row in rows]

    # what was blocked, and the addresses seen

    def block(self, session: str, agent: str, what: str, at: float) -> None:
        """Remember that something was blocked."""
        self._write("INSERT INTO blocked (session, agent, what, at) VALUES (?, ?, ?, ?)", (session, agent, what, at))

    def blocked(self, session: str) -> list[tuple[str, str, float]]:
        """What was blocked in a session: (agent, what, when), oldest first."""
        rows = self._all("SELECT agent, what, at FROM blocked WHERE session = ? ORDER BY at, id", (session,))
        return [(agent, what, at) for agent, what, at in rows]

    def add_addresses(self, session: str, keys: Iterable[bytes], *, human: bool) -> None:
        """Remember keyed hashes of addresses that the session has seen."""
        for key in keys:
            self._write(
                "INSERT INTO addresses VALUES (?, ?, ?)"
                " ON CONFLICT (session, key) DO UPDATE SET human = max(human, excluded.human)",
                (session, key, int(human)),
            )

    def knows_address(self, session: str, key: bytes, *, human_only: bool = False) -> bool:
        """Whether the session has seen the address."""
        row = self._one(
            "SELECT 1 FROM addresses WHERE session = ? AND key = ? AND human >= ?",
            (session, key, int(human_only)),
        )
        return row is not None

    def copy_addresses(self, source: str, target: str, *, human_only: bool) -> None:
        """Let one session know what another has seen."""
        self._write(
            "INSERT INTO addresses SELECT ?, key, human FROM addresses WHERE session = ? AND human >= ?"
            " ON CONFLICT (session, key) DO UPDATE SET human = max(human, excluded.human)",
            (target, source, int(human_only)),
        )

    # audit

    def append_audit(self, at: float, body: Mapping[str, Any]) -> AuditRow:
        """Append one record to the audit chain."""
        row = self._append(self._checked_head(), at, body)
        self._put_head(row.seq, row.digest)
        return row

    def _checked_head(self) -> tuple[int, str]:
        """Number and digest of the last record. Raises ``StoreError`` where the seal of the head does not hold."""
        head = self.audit_head()
        if seal(self._key, head.seq, head.digest) != head.seal:
            raise StoreError(
                "the head of the audit chain was changed by something else:"
                " see `lockgate audit verify`, then move the state folder aside to begin anew",
            )
        return head.seq, head.digest

    def _append(self, last: tuple[int, str], at: float, body: Mapping[str, Any]) -> AuditRow:
        """Append one record after the last one, and leave the head as it is."""
        try:
            text = canonical(body)
        except (TypeError, ValueError, RecursionError) as error:
            raise StoreError(f"cannot record this: {error}") from error
        seq, previous = last[0] + 1, last[1]
        row = AuditRow(seq, float(at), text, previous, link_digest(previous, seq, float(at), text))
        self._write("INSERT INTO audit VALUES (?, ?, ?, ?, ?)", row)
        return row

    def _put_head(self, seq: int, digest: str) -> None:
        values = (seq, digest, seal(self._key, seq, digest))
        self._write("INSERT OR REPLACE INTO audit_head VALUES (1, ?, ?, ?)", values)

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
        from lockgate.store.searching import condition

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
        row = self._one("SELECT seq, digest, seal FROM audit_head WHERE id = 1", ())
        return AuditHead._make(row) if row and self._is_own(gate) else AuditHead()

    def audit_checkpoint(self, *, gate: str = "") -> AuditCheckpoint:
        """Where the chain was last cut, whether or not its seal holds; ``AuditCheckpoint()`` where it never was."""
        row = self._one("SELECT seq, digest, removed, at, seal FROM audit_checkpoint WHERE id = 1", ())
        return AuditCheckpoint._make(row) if row and self._is_own(gate) else AuditCheckpoint()

    def audit_before(self, at: float, *, most: int = 0) -> int:
        """How far the chain's beginning reaches in which every record is older than a time."""
        first = "(SELECT seq, at FROM audit ORDER BY seq LIMIT ?)"
        kept = self._one(f"SELECT seq FROM {first} WHERE at >= ? LIMIT 1", (most or -1, at))  # noqa: S608
        if kept is not None:
            older = self._one("SELECT max(seq) FROM audit WHERE seq < ?", kept)
        else:
            older = self._one(f"SELECT max(seq) FROM {first}", (most or -1,))  # noqa: S608
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

    # the gate's own values

    def setting(self, name: str) -> str | None:
        """A value of the gate's own, or ``None``."""
        row = self._one("SELECT value FROM settings WHERE name = ?", (name,))
        return str(row[0]) if row else None

    def put_setting(self, name: str, value: str | None) -> None:
        """Keep or (``None``) remove a value of the gate's own."""
        if value is None:
            self._write("DELETE FROM settings WHERE name = ?", (name,))
        else:
            self._write("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))

    def settings(self, prefix: str) -> dict[str, str]:
        """All values whose name starts with ``prefix``."""
        rows = self._all(
            "SELECT name, value FROM settings WHERE substr(name, 1, length(?)) = ? ORDER BY name",
            (prefix, prefix),
        )
        return {name: value for name, value in rows}  # noqa: C416 - dict() would take any length

    def policy_mark(self, fleet: str) -> str:
        """The SHA-256 of the bundle that is published for a fleet, hexadecimal; empty where there is none."""
        return (self.setting(_POLICY + fleet) or "").partition(" ")[0]

    def policy(self, fleet: str) -> bytes | None:
        """The bundle that is published for a fleet, or ``None``."""
        kept = self.setting(_POLICY + fleet)
        return None if kept is None else bytes.fromhex(kept.split(" ")[2])

    def put_policy(self, fleet: str, serial: int, data: bytes) -> bool:
        """Publish a bundle, unless one that is not older is there; whether it was put."""
        kept = self.setting(_POLICY + fleet)
        if kept is not None and int(kept.split(" ")[1]) >= serial:
            return False
        self.put_setting(_POLICY + fleet, f"{sha256(data).hexdigest()} {serial} {data.hex()}")
        return True

    def prune(self, before: float) -> int:
        """Forget sessions that ended before a time, with all that belongs to them but the audit."""
        self._last_call = None
        old = "SELECT session FROM sessions WHERE ended_at > 0 AND max(ended_at, seen_at) < ?"
        for table in ("agents", "taints", "calls", "briefs", "approvals", "blocked", "addresses"):
            self._write(f"DELETE FROM {table} WHERE session IN ({old})", (before,))  # noqa: S608
        return self._write(f"DELETE FROM sessions WHERE session IN ({old})", (before,)).rowcount  # noqa: S608

    # how a statement is run

    def _run(self, statement: str, values: Sequence[Value]) -> Cursor:
        try:
            return self._connection.execute(statement, values)
        except UnicodeEncodeError:
            # A client's JSON may hold half a surrogate pair, which is no text to SQLite: it is kept as its escape.
            return self._connection.execute(statement, [_encodable(value) for value in values])

    def _one(self, statement: str, values: Sequence[Value]) -> Any:
        return self._run(statement, values).fetchone()

    def _all(self, statement: str, values: Sequence[Value]) -> list[Any]:
        return self._run(statement, values).fetchall()

    def _write(self, statement: str, values: Sequence[Value]) -> Cursor:
        if not self._writable:
            raise StoreError("this is a look only: it cannot write")
        return self._run(statement, values)


_APPROVAL = ", ".join(ApprovalRow._fields)
_TAINTS = "SELECT at, id, label, source, tool, call_id, state, origin FROM taints WHERE session = ?1 AND agent = ?2"
# A long session has thousands: each part is read from an index that is in this order, and no further.
_OLDEST_TAINTS = " UNION ALL ".join(
    [
        f"{_TAINTS} AND state = 'pending'",
        *(
            f"SELECT * FROM ({_TAINTS} AND state = 'confirmed' AND label = '{label.value}' ORDER BY id LIMIT ?3)"  # noqa: S608
            for label in Label
        ),
    ]
)


def _approval(row: Sequence[Any]) -> ApprovalRow:
    found = ApprovalRow._make(row)
    return found._replace(about=json.loads(str(found.about)))


def _encodable(value: Value) -> Value:
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _agent(row: Sequence[Any]) -> AgentRow:
    *known, parents = row
    return AgentRow._make((*known, tuple(_json(parents))))


def _taint(row: Sequence[Any]) -> Taint:
    at, _, label, source, tool, call_id, state, origin = row
    return Taint(Label(label), source, tool, call_id, at, TaintState(state), origin)


def _call(row: Sequence[Any]) -> CallRow:
    *known, quiet, facts, at = row
    return CallRow._make((*known, tuple(_json(quiet)), _json(facts), at))


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise StoreError("the state is damaged: move the state folder aside to begin anew") from error
