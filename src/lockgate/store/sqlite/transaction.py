"""One atomic step on the SQLite database: the queries of the ``Transaction`` protocol."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterable

from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import epoch_at
from lockgate.store.files import PUT_BACK, PUT_BACK_SEEN, PUT_BACK_SINCE
from lockgate.store.rows import AHEAD, AgentRow, AuditRow, PutBack, SessionRow, agent_of, put_back_of
from lockgate.store.sqlite.audit import SqliteAuditQueries
from lockgate.store.sqlite.labels import LabelQueries
from lockgate.store.sqlite.questions import SqliteQuestionQueries
from lockgate.store.sqlite.statements import ADDRESSES, AGENTS, SESSIONS, SETTINGS, parse_json
from lockgate.system.digests import json_object, sha256

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

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
_LATEST = 1e12
"""Seconds since the epoch that no clock gives."""
_SESSION, _AGENT = ", ".join(SessionRow._fields), ", ".join(AgentRow._fields)
_PUT_BACK = "the state was put back from a copy"
_POLICY = "policy:"
"""Settings with what is published for a fleet: digest, serial, bundle."""


class SqliteTransaction(LabelQueries, SqliteQuestionQueries, SqliteAuditQueries):
    """The queries about sessions and settings, and all others. Begun and ended by ``SqliteStore``, never by itself."""

    # sessions

    def session(self, session: str) -> SessionRow | None:
        """The session, or ``None``."""
        row = self._one(f"SELECT {_SESSION}, seal FROM sessions WHERE session = ?", (session,))  # noqa: S608 - ours
        return self._session(row, (session,)) if row else None

    def _session(self, row: Sequence[Any], key: Sequence[str] = ()) -> SessionRow:
        """A session. Where something else has changed its row, only its names and times count.

        Such a session counts as one that did not begin here.
        """
        known = self._unseal(SESSIONS, row, key)
        if known is not None:
            return SessionRow._make(known)
        session, client, cwd, workspace = map(str, row[:4])
        began, seen = _time(row[7]), _time(row[8])
        return SessionRow(session, client, cwd, workspace, how="resume", started_at=began, seen_at=seen)

    def put_session(self, row: SessionRow) -> None:
        """Add or replace a session."""
        if not self._is_there(Subject(row.session)):
            self.begin_seal(Subject(row.session), row.started_at)
        self._write(
            "INSERT OR REPLACE INTO sessions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*row, self._row_seal(SESSIONS, row)),
        )

    def sessions(self, *, process: str = "", limit: int = 0) -> list[SessionRow]:
        """Sessions, last seen first; of one client process where it is given."""
        rows = self._all(
            f"SELECT {_SESSION}, seal FROM sessions WHERE ? = '' OR process = ?"  # noqa: S608 - ours
            " ORDER BY seen_at > ?, seen_at DESC, started_at DESC, session LIMIT ?",
            (process, process, time.time() + AHEAD, limit or -1),
        )
        return [self._session(row) for row in rows]

    # sub-agents

    def agent(self, subject: Subject) -> AgentRow | None:
        """The sub-agent, or ``None``: also where something else has changed it, so that it begins anew."""
        row = self._one(f"SELECT {_AGENT}, seal FROM agents WHERE session = ? AND agent = ?", subject)  # noqa: S608
        known = self._unseal(AGENTS, row, subject)
        return agent_of(known, parse_json) if known is not None else None

    def put_agent(self, row: AgentRow) -> None:
        """Add or replace a sub-agent."""
        subject = Subject(row.session, row.agent)
        if not self._is_there(subject):
            self.begin_seal(subject, row.started_at)
        values = (*row[:-1], json.dumps(row.parents))
        self._write(
            f"INSERT INTO agents ({_AGENT}, seal)"  # noqa: S608 - ours
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, agent) DO UPDATE SET"
            " agent_type = excluded.agent_type, parent = excluded.parent, call_id = excluded.call_id,"
            " delegate = excluded.delegate, state = excluded.state, started_at = excluded.started_at,"
            " parents = excluded.parents, seal = excluded.seal",
            (*values, self._row_seal(AGENTS, values)),
        )

    def agents(self, session: str) -> list[AgentRow]:
        """All sub-agents of a session, oldest first. One that something else has changed may be anybody's there."""
        rows = self._all(
            f"SELECT {_AGENT}, seal FROM agents WHERE session = ? ORDER BY started_at, id",  # noqa: S608 - ours
            (session,),
        )
        return [self._agent(row, [other[1] for other in rows if other is not row]) for row in rows]

    def _agent(self, row: Sequence[Any], others: Sequence[str]) -> AgentRow:
        known = self._unseal(AGENTS, row)
        if known is not None:
            return agent_of(known, parse_json)
        session, agent, agent_type = map(str, row[:3])
        return AgentRow(session, agent, agent_type, started_at=_time(row[7]), parents=("", *map(str, others)))

    # seals of rows

    def _row_contradictions(self) -> list[tuple[Subject, str]]:
        from lockgate.store.sqlite.row_checks import problems

        return problems(self, self)

    def _mend_damage(self) -> None:
        from lockgate.store.sqlite.row_checks import mend_damage

        mend_damage(self)

    def _mend_rows(self, subject: Subject) -> None:
        from lockgate.store.sqlite.row_checks import drop

        self._last_call = None
        drop(self, self, subject.session)

    # what was blocked, and the addresses seen

    def block(self, session: str, agent: str, what: str, at: float) -> None:
        """Remember that something was blocked."""
        self._write("INSERT INTO blocked (session, agent, what, at) VALUES (?, ?, ?, ?)", (session, agent, what, at))

    def list_blocked(self, session: str) -> list[tuple[str, str, float]]:
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
            before = self._address(session, key)
            if before is None or before < human:
                values = (session, key, int(human))
                self._write(
                    "INSERT OR REPLACE INTO addresses VALUES (?, ?, ?, ?)",
                    (*values, self._row_seal(ADDRESSES, values)),
                )

    def knows_address(self, session: str, key: bytes, *, human_only: bool = False) -> bool:
        """Whether the session has seen the address."""
        known = self._address(session, key)
        return known is not None and known >= human_only

    def _address(self, session: str, key: bytes) -> int | None:
        """Whether a person gave an address that a session has seen (1 or 0); ``None`` where it has not."""
        row = self._one("SELECT session, key, human, seal FROM addresses WHERE session = ? AND key = ?", (session, key))
        known = self._unseal(ADDRESSES, row, (session, key))
        return None if known is None else int(known[2])

    def copy_addresses(self, source: str, target: str, *, human_only: bool) -> None:
        """Let one session know what another has seen."""
        self._may_write()
        rows = self._all("SELECT session, key, human, seal FROM addresses WHERE session = ?", (source,))
        for row in rows:
            if self._unseal(ADDRESSES, row) is not None and row[2] >= human_only:
                self.add_addresses(target, [row[1]], human=bool(row[2]))

    # whether the state was put back

    def put_back(self) -> PutBack | None:
        """Whether the state was put back from a copy: ``None`` where it never was.

        Where labels were distrusted, the head of the chain tells it. A setting that is gone hides nothing then.
        """
        epoch = self.epoch()
        told = put_back_of(self.setting(PUT_BACK), self.setting(PUT_BACK_SINCE))
        if not epoch:
            return told
        record = self._record_of(epoch)
        reason = told.reason if told is not None else ""
        if self.setting(PUT_BACK_SEEN) == epoch:
            reason = ""
        elif not reason:
            reason = str((json_object(record.body) or {}).get("reason") or _PUT_BACK) if record else _PUT_BACK
        since = max(told.since if told else 0.0, record.at if record else 0.0)
        return PutBack(reason, since or float("inf"))

    def _record_of(self, epoch: str) -> AuditRow | None:
        """The record with which an epoch began, where retention has left it."""
        seq = epoch.partition("-")[0]
        found = self.audit(after=int(seq) - 1, limit=1) if seq.isdigit() else []
        return found[0] if found and epoch_at(found[0].seq, found[0].digest) == epoch else None

    def accept_put_back(self) -> None:
        """Tell no more that it was: a person has looked. No label goes."""
        self.put_setting(PUT_BACK, None)
        if epoch := self.epoch():
            self.put_setting(PUT_BACK_SEEN, epoch)

    # the gate's own values

    def setting(self, name: str) -> str | None:
        """A value of the gate's own, or ``None``: also where something else has written it."""
        row = self._unseal(
            SETTINGS, self._one("SELECT name, value, seal FROM settings WHERE name = ?", (name,)), (name,)
        )
        return str(row[1]) if row else None

    def put_setting(self, name: str, value: str | None) -> None:
        """Keep or (``None``) remove a value of the gate's own."""
        then = self.prepare_setting(name)
        seal = "" if value is None else self._row_seal(SETTINGS, (name, value))
        if value is None:
            self._write("DELETE FROM settings WHERE name = ?", (name,))
        else:
            self._write("INSERT OR REPLACE INTO settings VALUES (?, ?, ?)", (name, value, seal))
        then(seal)

    def settings(self, prefix: str) -> dict[str, str]:
        """All values whose name starts with ``prefix``."""
        # The first condition has SQLite begin at the prefix in the table's key, and not at its first row.
        rows = self._all(
            "SELECT name, value, seal FROM settings WHERE name >= ? AND substr(name, 1, length(?)) = ? ORDER BY name",
            (prefix, prefix, prefix),
        )
        return {row[0]: row[1] for row in rows if self._unseal(SETTINGS, row) is not None}

    def policy_digest(self, fleet: str) -> str:
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


def _time(value: object) -> float:
    """A time that something else may have written."""
    return float(value) if isinstance(value, int | float) and abs(value) <= _LATEST else 0.0
