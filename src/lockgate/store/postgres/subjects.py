"""What is kept of sessions, their agents and labels: the queries of the ``Transaction`` protocol."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable

from lockgate.core.model import Label, Subject, Taint
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.postgres.schema_rows import OWN, TRUSTED
from lockgate.store.postgres.statements import PostgresStatements, decode_row, replace_statement
from lockgate.store.postgres.text_encoding import encode_text, parse_json
from lockgate.store.rows import AHEAD, TAINT_COLUMNS, AgentRow, SessionRow, agent_of, taint_of, taint_values
from lockgate.system.digests import blake2b

if TYPE_CHECKING:
    from lockgate.store.postgres.connections import Connection

_SESSION = ", ".join(SessionRow._fields)
_AGENT = ", ".join(AgentRow._fields)
_SAME = b"lockgate taint"  # at most 16 bytes
_AHEAD = f"seen_at > extract(epoch FROM clock_timestamp()) + {AHEAD}"
_OLDEST = 16
"""For how many of each label a session's labels come with it: as many as a decision asks for."""
_PUT_SESSION = replace_statement("sessions", "session", SessionRow._fields)
_PUT_AGENT = replace_statement("agents", "session, agent", AgentRow._fields)


def _oldest(limit: int, session: str, agent: str) -> str:
    """The pending taints of a subject, and so many confirmed ones of each label.

    A long session has thousands: each part is read from an index that is in this order, and no further.
    """
    query = f"SELECT {TAINT_COLUMNS} FROM lockgate.taints WHERE session = {session} AND agent = {agent}"  # noqa: S608
    confirmed = f"{query} AND state = 'confirmed' AND label = '{{}}' ORDER BY id LIMIT {limit:d}"
    parts = [f"{query} AND state = 'pending'", *(confirmed.format(label.value) for label in Label)]
    return " UNION ALL ".join(f"({part})" for part in parts)


_MAIN = _oldest(_OLDEST, "s.session", "''")


_SESSION_AND_MORE = (
    f"SELECT {_SESSION}, (SELECT json_agg(json_build_array({TAINT_COLUMNS}))::text"  # noqa: S608
    f" FROM ({_MAIN}) oldest),"
    " EXISTS (SELECT FROM lockgate.agents a WHERE a.session = s.session),"
    " EXISTS (SELECT FROM lockgate.approvals q WHERE q.session = s.session AND q.state = 'denied')"
    " FROM lockgate.sessions s WHERE session = %s"
)
_LABELS_OF_ALL = (
    "SELECT "  # noqa: S608
    + ", ".join(
        "EXISTS (SELECT FROM lockgate.taints t WHERE t.session = asked.session AND t.agent = asked.agent"
        f" AND t.label = '{label.value}')"
        for label in Label
    )
    + " FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS asked (session, agent, place) ORDER BY place"
)
_TIMES_BLOCKED = (
    "SELECT (SELECT count(*) FROM lockgate.blocked b WHERE b.session = asked.session)"
    " FROM unnest(%s::text[]) WITH ORDINALITY AS asked (session, place) ORDER BY place"
)


class SubjectQueries(PostgresStatements):
    """Sessions, sub-agents, labels, addresses, and what was blocked."""

    def __init__(self, connection: Connection, gate: str, key: bytes, *, writable: bool) -> None:
        super().__init__(connection, gate, key, writable=writable)
        self._with_session: dict[str, str] = {}
        """Taints of main agents that came with their sessions, as JSON."""
        self._without_agents: set[str] = set()
        """Sessions that have no sub-agents."""
        self._without_noes: set[str] = set()
        """Sessions in which no person has said no."""

    def session(self, session: str) -> SessionRow | None:
        """The session, or ``None``."""
        first = self._writable and session not in self._held
        self._own(session)
        if not first:
            row = self._one(f"SELECT {_SESSION} FROM lockgate.sessions WHERE session = %s", (session,))  # noqa: S608
            return SessionRow._make(row) if row else None
        row = self._one(_SESSION_AND_MORE, (session,))
        if row is None:
            return None
        *found, taints, has_agents, has_noes = row
        self._with_session[session] = taints or "[]"
        if not has_agents:
            self._without_agents.add(session)
        if not has_noes:
            self._without_noes.add(session)
        return SessionRow._make(found)

    def put_session(self, row: SessionRow) -> None:
        """Add or replace a session."""
        self._own(row.session)
        self._write(_PUT_SESSION, row)

    def sessions(self, *, process: str = "", limit: int = 0) -> list[SessionRow]:
        """Sessions, last seen first; of one client process where it is given. No lock: they are only looked at."""
        chosen = " WHERE process = %s" if process else ""
        rows = self._all(
            f"SELECT {_SESSION} FROM lockgate.sessions{chosen}"  # noqa: S608
            f" ORDER BY {_AHEAD}, seen_at DESC, started_at DESC, session LIMIT %s::bigint",
            (*([process] if process else []), limit or None),
        )
        return [SessionRow._make(row) for row in rows]

    def agent(self, subject: Subject) -> AgentRow | None:
        """The sub-agent, or ``None``."""
        self._own(subject.session)
        if subject.session in self._without_agents:
            return None
        row = self._one(f"SELECT {_AGENT} FROM lockgate.agents WHERE session = %s AND agent = %s", subject)  # noqa: S608
        return agent_of(row, parse_json) if row else None

    def put_agent(self, row: AgentRow) -> None:
        """Add or replace a sub-agent."""
        self._own(row.session)
        self._without_agents.discard(row.session)
        self._write(_PUT_AGENT, (*row[:-1], json.dumps(row.parents)))

    def agents(self, session: str) -> list[AgentRow]:
        """All sub-agents of a session, oldest first."""
        self._own(session)
        if session in self._without_agents:
            return []
        rows = self._all(
            f"SELECT {_AGENT} FROM lockgate.agents WHERE session = %s ORDER BY started_at, id",  # noqa: S608
            (session,),
        )
        return [agent_of(row, parse_json) for row in rows]

    def taints(self, subject: Subject, *, limit: int = 0) -> list[Taint]:
        """The taints of a subject, oldest first; with a limit, only so many confirmed ones of each label."""
        self._own(subject.session)
        query = f"SELECT {TAINT_COLUMNS} FROM lockgate.taints WHERE session = %s AND agent = %s"  # noqa: S608
        if not limit:
            return [taint_of(row) for row in self._all(f"{query} ORDER BY at, id", subject)]
        if limit == _OLDEST and not subject.agent and subject.session in self._with_session:
            # In JSON a time of whole seconds is another type, and one that is no number is a text.
            rows = [decode_row((float(at), *row)) for at, *row in parse_json(self._with_session[subject.session])]
        else:
            rows = self._all(_oldest(limit, "%s", "%s"), (*subject, *subject, *subject))
        return [taint_of(row) for row in sorted(rows)]

    def newest_taints(self, session: str, limit: int) -> list[tuple[str, Taint]]:
        """So many taints of a session, newest first, each with the agent that has it."""
        self._own(session)
        rows = self._all(
            f"SELECT agent, {TAINT_COLUMNS} FROM lockgate.taints WHERE session = %s"  # noqa: S608
            " ORDER BY at DESC, id DESC LIMIT %s::bigint",
            (session, limit),
        )
        return [(agent, taint_of(row)) for agent, *row in rows]

    def labels(self, subject: Subject) -> frozenset[Label]:
        """The labels of a subject, pending ones too."""
        self._own(subject.session)
        asked = "EXISTS (SELECT FROM lockgate.taints WHERE session = %s AND agent = %s AND label = '{}')"
        found = self._one("SELECT " + ", ".join(asked.format(label.value) for label in Label), (*subject, *subject))
        assert found is not None
        return frozenset(label for label, there in zip(Label, found, strict=True) if there)

    def labels_of_all(self, subjects: Collection[Subject]) -> dict[Subject, frozenset[Label]]:
        """The labels of each of many subjects, as ``labels`` gives them."""
        for subject in subjects:
            self._own(subject.session)
        sessions, agents = ([encode_text(subject[part]) for subject in subjects] for part in (0, 1))
        rows = self._all(_LABELS_OF_ALL, (sessions, agents))
        return {
            subject: frozenset(label for label, there in zip(Label, found, strict=True) if there)
            for subject, found in zip(subjects, rows, strict=True)
        }

    def add_taints(self, subject: Subject, taints: Iterable[Taint]) -> None:
        """Add taints. One already there (same label, source, call and origin) is kept; confirmed replaces pending."""
        self._may_write()
        self._own(subject.session)
        self._with_session.pop(subject.session, None)
        for taint in taints:
            self._write(
                "INSERT INTO lockgate.taints"
                " (session, agent, label, source, tool, call_id, at, state, origin, same)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
                " ON CONFLICT (session, agent, same) DO UPDATE SET state = 'confirmed'"
                " WHERE excluded.state = 'confirmed'",
                (
                    *subject,
                    *taint_values(taint),
                    same_taint(taint.label.value, taint.source, taint.call_id, taint.origin),
                ),
            )

    def settle(self, session: str, call_id: str, *, confirm: bool) -> int:
        """Confirm or drop all pending taints of a call, in every agent of the session. Returns how many."""
        self._may_write()
        self._own(session)
        self._with_session.pop(session, None)
        act = "UPDATE lockgate.taints SET state = 'confirmed'" if confirm else "DELETE FROM lockgate.taints"
        return self._count(f"{act} WHERE session = %s AND call_id = %s AND state = 'pending'", (session, call_id))

    def drop_taints(self, subject: Subject, label: Label, call_id: str) -> int:
        """Drop the confirmed taints of one label that a subject has by a call of its own. Returns how many."""
        self._may_write()
        self._own(subject.session)
        self._with_session.pop(subject.session, None)
        return self._count(
            "DELETE FROM lockgate.taints WHERE session = %s AND agent = %s AND label = %s AND call_id = %s"
            " AND state = 'confirmed' AND origin = ''",
            (*subject, label.value, call_id),
        )

    def label_contradictions(self) -> list[tuple[Subject, str]]:
        """None: who may change a label is for the database's guards to say, and every gate has another key."""
        return []

    def mend_labels(self, subjects: Collection[Subject], at: float) -> None:
        """Nothing: see ``label_contradictions``."""

    def block(self, session: str, agent: str, what: str, at: float) -> None:
        """Remember that something was blocked."""
        self._own(session)
        self._write(
            "INSERT INTO lockgate.blocked (session, agent, what, at) VALUES (%s, %s, %s, %s)",
            (session, agent, what, at),
        )

    def list_blocked(self, session: str) -> list[tuple[str, str, float]]:
        """What was blocked in a session: (agent, what, when), oldest first."""
        self._own(session)
        rows = self._all("SELECT agent, what, at FROM lockgate.blocked WHERE session = %s ORDER BY at, id", (session,))
        return [(agent, what, at) for agent, what, at in rows]

    def times_blocked(self, sessions: Collection[str]) -> dict[str, int]:
        """How often something was blocked in each of many sessions."""
        for session in sessions:
            self._own(session)
        rows = self._all(_TIMES_BLOCKED, ([encode_text(session) for session in sessions],))
        return {session: times for session, (times,) in zip(sessions, rows, strict=True)}

    def add_addresses(self, session: str, keys: Iterable[bytes], *, human: bool) -> None:
        """Remember keyed hashes of addresses that the session has seen."""
        self._may_write()
        self._own(session)
        for key in keys:
            self._write(
                "INSERT INTO lockgate.addresses (session, key, human) VALUES (%s, %s, %s)"
                " ON CONFLICT (session, key, role) DO UPDATE SET human = excluded.human"
                " WHERE lockgate.addresses.human < excluded.human",
                (session, key, int(human)),
            )

    def knows_address(self, session: str, key: bytes, *, human_only: bool = False) -> bool:
        """Whether the session has seen the address."""
        self._own(session)
        row = self._one(
            "SELECT 1 FROM lockgate.addresses a WHERE session = %s AND key = %s AND human >= %s"  # noqa: S608
            f" AND {TRUSTED} LIMIT 1",
            (session, key, int(human_only)),
        )
        return row is not None

    def copy_addresses(self, source: str, target: str, *, human_only: bool) -> None:
        """Let one session know what another has seen."""
        self._may_write()
        self._own(source)
        self._own(target)
        self._write(
            "INSERT INTO lockgate.addresses (session, key, human)"  # noqa: S608 - a text of ours
            " SELECT %s, key, max(human) FROM lockgate.addresses a WHERE session = %s AND human >= %s"
            f" AND {OWN} GROUP BY key"
            " ON CONFLICT (session, key, role) DO UPDATE SET human = excluded.human"
            " WHERE lockgate.addresses.human < excluded.human",
            (target, source, int(human_only)),
        )


def same_taint(label: str, source: str, call_id: str, origin: str) -> bytes:
    """What two taints of a subject have in common that are the same one: a hash, as an index takes no long texts."""
    text = json.dumps((label, source, call_id, origin)).encode()
    return blake2b(text, person=_SAME, digest_size=16).digest()
