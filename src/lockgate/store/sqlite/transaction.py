"""One atomic step on the SQLite database: the queries of the ``Transaction`` protocol."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.rows import AgentRow, SessionRow, agent_of
from lockgate.store.sqlite.audit import SqliteAuditQueries
from lockgate.store.sqlite.labels import LabelQueries
from lockgate.store.sqlite.questions import SqliteQuestionQueries
from lockgate.store.sqlite.statements import parsed
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    pass

PRUNED_AT_ONCE = 200
"""Sessions that one step forgets at most: all others wait for it, and a step that takes too long is undone."""
_OF_A_SESSION = (
    "agents",
    "taints",
    "label_seals",
    "calls",
    "briefs",
    "approvals",
    "blocked",
    "addresses",
    "sessions",
)
_POLICY = "policy:"
"""Settings with what is published for a fleet: digest, serial, bundle."""


class SqliteTransaction(LabelQueries, SqliteQuestionQueries, SqliteAuditQueries):
    """The queries about sessions and settings, and all others. Begun and ended by ``SqliteStore``, never by itself."""

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
        if not self._is_there(Subject(row.session)):
            self.begin_seal(Subject(row.session), row.started_at)
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
        return agent_of(row, parsed) if row else None

    def put_agent(self, row: AgentRow) -> None:
        """Add or replace a sub-agent."""
        subject = Subject(row.session, row.agent)
        if not self._is_there(subject):
            self.begin_seal(subject, row.started_at)
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
        return [agent_of(row, parsed) for row in rows]

    # what was blocked, and the addresses seen

    def block(self, session: str, agent: str, what: str, at: float) -> None:
        """Remember that something was blocked."""
        self._write("INSERT INTO blocked (session, agent, what, at) VALUES (?, ?, ?, ?)", (session, agent, what, at))

    def blocked(self, session: str) -> list[tuple[str, str, float]]:
        """What was blocked in a session: (agent, what, when), oldest first."""
        rows = self._all("SELECT agent, what, at FROM blocked WHERE session = ? ORDER BY at, id", (session,))
        return [(agent, what, at) for agent, what, at in rows]

    def times_blocked(self, sessions: Collection[str]) -> dict[str, int]:
        """How often something was blocked in each of many sessions."""
        names = [(session,) for session in sessions]
        rows = self._of_each(names, ("session",), "(SELECT count(*) FROM blocked WHERE session = asked.session)")
        return {session: int(times) for session, (times,) in zip(sessions, rows, strict=True)}

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
        """Forget sessions that ended before a time, with all that belongs to them but the audit.

        The oldest first; what is left is for the next time.
        """
        self._last_call = None
        rows = self._all(
            "SELECT session FROM sessions WHERE ended_at > 0 AND max(ended_at, seen_at) < ? ORDER BY ended_at LIMIT ?",
            (before, PRUNED_AT_ONCE),
        )
        gone = [session for (session,) in rows]
        self._forget(gone)
        for table in _OF_A_SESSION:
            self._write(f"DELETE FROM {table} WHERE session IN ({', '.join('?' * len(gone))})", gone)  # noqa: S608
        return len(gone)
