"""One atomic step on the shared database."""

from __future__ import annotations

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.files import PUT_BACK, PUT_BACK_SINCE, Sets
from lockgate.store.postgres.audit import PostgresAuditQueries
from lockgate.store.postgres.questions import PostgresQuestionQueries
from lockgate.store.postgres.statements import lock_key, replace_statement
from lockgate.store.postgres.subjects import SubjectQueries
from lockgate.store.rows import put_back_of
from lockgate.system.digests import sha256

if TYPE_CHECKING:
    from lockgate.store.postgres.connections import Connection
    from lockgate.store.rows import ApprovalRow, CallRow, PutBack

_PUT_SETTING = replace_statement("settings", "gate, name", ("gate", "name", "value"))
_REPLACE_POLICY = replace_statement("policies", "fleet", ("fleet", "serial", "digest", "data"))
_PUT_POLICY = f"{_REPLACE_POLICY} WHERE policies.serial < excluded.serial"
# Another role's sessions are not this one's to forget.
_OLD = "ended_at > 0 AND greatest(ended_at, seen_at) < %s AND lockgate.is_mine(role)"
_HAS_SETTING = "SELECT FROM lockgate.settings WHERE gate = %s AND name >= %s AND starts_with(name, %s) LIMIT 1"
_OF_A_SESSION = ("agents", "taints", "calls", "briefs", "approvals", "blocked", "addresses", "sessions")
PRUNED_AT_ONCE = 200
"""Sessions that one step forgets at most: each is locked until it ends."""


class PostgresTransaction(SubjectQueries, PostgresQuestionQueries, PostgresAuditQueries):
    """The queries. Begun and ended by ``PostgresStore``, never by itself."""

    def __init__(self, connection: Connection, gate: str, name: str, key: bytes, *, writable: bool) -> None:
        super().__init__(connection, gate, key, writable=writable)
        self.name = name

    def call(self, session: str, call_id: str) -> CallRow | None:
        """The call, or ``None``."""
        # Whoever asks for a call has locked the sessions that the step is about, and will record what becomes of it.
        if self._writable and session in self._held and (session, call_id) not in self._calls:
            self.lock_head_early()
        return super().call(session, call_id)

    def approvals(self, *, session: str = "", state: str = "") -> list[ApprovalRow]:
        """Questions to a person, oldest first; of one session, in one state, where they are given."""
        # Each decision asks for the noes, and there are seldom any.
        if state == "denied" and session in self._without_noes:
            return []
        return super().approvals(session=session, state=state)

    def noes(self, session: str) -> list[ApprovalRow]:
        """What a person has said no to in a session, oldest first."""
        return self.approvals(session=session, state="denied")

    def put_approval(self, row: ApprovalRow) -> None:
        """Add or replace a question to a person."""
        self._without_noes.discard(row.session)
        super().put_approval(row)

    def put_back(self) -> PutBack | None:
        """Whether a person has said of this store that it misses something: anchors tell what is older."""
        return put_back_of(self.setting(PUT_BACK), self.setting(PUT_BACK_SINCE))

    def accept_put_back(self) -> None:
        """Tell no more of it: a person has looked."""
        self.put_setting(PUT_BACK, None)

    def setting(self, name: str) -> str | None:
        """A value of this gate's own, or ``None``."""
        self._own_settings()
        row = self._one("SELECT value FROM lockgate.settings WHERE gate = %s AND name = %s", (self._gate, name))
        return str(row[0]) if row else None

    def put_setting(self, name: str, value: str | None) -> None:
        """Keep or (``None``) remove a value of this gate's own."""
        self._own_settings()
        if value is None:
            self._write("DELETE FROM lockgate.settings WHERE gate = %s AND name = %s", (self._gate, name))
        else:
            self._write(_PUT_SETTING, (self._gate, name, value))

    def settings(self, prefix: str) -> dict[str, str]:
        """All values whose name starts with ``prefix``."""
        self._own_settings()
        rows = self._all(
            "SELECT name, value FROM lockgate.settings WHERE gate = %s AND starts_with(name, %s) ORDER BY name",
            (self._gate, prefix),
        )
        return {name: value for name, value in rows}  # noqa: C416 - dict() would take any length

    def has_in_set(self, prefix: str) -> bool:
        """Whether there are settings of a set."""
        self._own_settings()
        return self._one(_HAS_SETTING, (self._gate, prefix, prefix)) is not None

    def read_set(self, prefix: str) -> dict[str, str] | None:
        """All settings of a set: the database's roles guard them."""
        return self.settings(prefix)

    def read_passages(self, session: str) -> str | None:
        """The passages of strangers that a session has read; empty for none."""
        return self.setting(f"{Sets.PASSAGES}{session}") or ""

    def policy_digest(self, fleet: str) -> str:
        """The SHA-256 of the bundle that is published for a fleet, hexadecimal; empty where there is none."""
        row = self._one("SELECT digest FROM lockgate.policies WHERE fleet = %s", (fleet,))
        return str(row[0]) if row else ""

    def policy(self, fleet: str) -> bytes | None:
        """The bundle that is published for a fleet, or ``None``."""
        row = self._one("SELECT data FROM lockgate.policies WHERE fleet = %s", (fleet,))
        return bytes(row[0]) if row else None

    def put_policy(self, fleet: str, serial: int, data: bytes) -> bool:
        """Publish a bundle, unless one that is not older is there; whether it was put."""
        return self._count(_PUT_POLICY, (fleet, serial, sha256(data).hexdigest(), data)) == 1

    def fleet_key(self) -> bytes:
        """32 secret bytes that all gates share; a reader gets none.

        Raises:
            psycopg.Error: This role may not have them.
        """
        row = self._one("SELECT fleet_key FROM lockgate.meta")
        assert row is not None
        return bytes(row[0])

    def is_watched(self) -> bool:
        """Whether somebody on some host watches for questions."""
        from lockgate.store.postgres.notifications import WATCHED

        row = self._one(WATCHED, (lock_key("watching"),))
        return bool(row and row[0])

    def prune(self, before: float) -> int:
        """Forget sessions that ended before a time, with all that belongs to them but the audit.

        The oldest first, and not those that another gate is busy with; what is left is for the next time.
        """
        self._may_write()
        old = self._all(
            f"SELECT session FROM lockgate.sessions WHERE {_OLD} ORDER BY ended_at LIMIT {PRUNED_AT_ONCE}",  # noqa: S608
            (before,),
        )
        free = self._own_if_free([session for (session,) in old])
        if not free:
            return 0
        # A session may have gone on before it was locked.
        rows = self._all(
            f"SELECT session FROM lockgate.sessions WHERE session = ANY(%s) AND {_OLD}",  # noqa: S608
            (free, before),
        )
        gone = [session for (session,) in rows]
        for table in _OF_A_SESSION:
            self._write(f"DELETE FROM lockgate.{table} WHERE session = ANY(%s)", (gone,))  # noqa: S608
        self._calls.clear()
        self._with_session.clear()
        return len(gone)
