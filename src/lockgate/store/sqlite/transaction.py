"""One atomic step on the SQLite database: the queries of the ``Transaction`` protocol."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from lockgate.core.model import Label, Subject, Taint, TaintState
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.rows import AgentRow, SessionRow
from lockgate.store.sqlite.audit import AuditQueries
from lockgate.store.sqlite.questions import QuestionQueries
from lockgate.store.sqlite.statements import parsed
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from typing import Any

PRUNED_AT_ONCE = 200
"""Sessions that one step forgets at most: all others wait for it, and a step that takes too long is undone."""
_POLICY = "policy:"
"""Settings with what is published for a fleet: digest, serial, bundle."""


class SqliteTransaction(QuestionQueries, AuditQueries):
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
        values = (*subject, *(value for _ in Label for value in (*subject, limit)))
        return [_taint(row) for row in sorted(self._all(_OLDEST_TAINTS, values))]

    def newest_taints(self, session: str, limit: int) -> list[tuple[str, Taint]]:
        """So many taints of a session, newest first, each with the agent that has it."""
        query = f"SELECT agent, {_TAINT} FROM taints WHERE session = ? ORDER BY at DESC, id DESC LIMIT ?"  # noqa: S608
        return [(agent, _taint(row)) for agent, *row in self._all(query, (session, limit))]

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

    def labels_of_all(self, subjects: Collection[Subject]) -> dict[Subject, frozenset[Label]]:
        """The labels of each of many subjects, as ``labels`` gives them."""
        rows = self._of_each(subjects, ("session", "agent"), _LABELLED)
        return {
            subject: frozenset(label for label, there in zip(Label, found, strict=True) if there)
            for subject, found in zip(subjects, rows, strict=True)
        }

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

    def drop_taints(self, subject: Subject, label: Label, call_id: str) -> int:
        """Drop the confirmed taints of one label that a subject has by a call of its own. Returns how many."""
        return self._write(
            "DELETE FROM taints WHERE session = ? AND agent = ? AND label = ? AND call_id = ?"
            " AND state = 'confirmed' AND origin = ''",
            (*subject, label.value, call_id),
        ).rowcount

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
        for table in ("agents", "taints", "calls", "briefs", "approvals", "blocked", "addresses", "sessions"):
            self._write(f"DELETE FROM {table} WHERE session IN ({', '.join('?' * len(gone))})", gone)  # noqa: S608
        return len(gone)


_TAINT = "at, id, label, source, tool, call_id, state, origin"
_TAINTS = f"SELECT {_TAINT} FROM taints WHERE session = ? AND agent = ?"  # noqa: S608 - columns of ours
# A long session has thousands: each part is read from an index that is in this order, and no further. Python 3.14 takes
# no numbered placeholders with values in a row.
_OLDEST_TAINTS = " UNION ALL ".join(
    [
        f"{_TAINTS} AND state = 'pending'",
        *(
            f"SELECT * FROM ({_TAINTS} AND state = 'confirmed' AND label = '{label.value}' ORDER BY id LIMIT ?)"  # noqa: S608
            for label in Label
        ),
    ]
)


_LABELLED = ", ".join(
    "EXISTS (SELECT 1 FROM taints WHERE session = asked.session AND agent = asked.agent"  # noqa: S608
    f" AND label = '{label.value}')"
    for label in Label
)
"""Whether a subject that is asked about has each of the labels."""


def _agent(row: Sequence[Any]) -> AgentRow:
    *known, parents = row
    return AgentRow._make((*known, tuple(parsed(parents))))


def _taint(row: Sequence[Any]) -> Taint:
    at, _, label, source, tool, call_id, state, origin = row
    return Taint(Label(label), source, tool, call_id, at, TaintState(state), origin)
