"""Transactions of a process that stays: what one of them has read or written, the next one need not read again.

That holds as long as nobody else writes. SQLite tells whether somebody has (``PRAGMA data_version``, see
https://www.sqlite.org/pragma.html#pragma_data_version), and whoever holds the lock for writing knows that nobody does
from then on: so it is asked once for each lock. What a transaction wrote that was undone is forgotten with all else.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from lockgate.core.model import Label, Subject, Taint
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.chain_links import head_facts, seal
from lockgate.store.rows import AgentRow, ApprovalRow, AuditHead, AuditRow, CallRow, SessionRow
from lockgate.store.sqlite.questions import call_values
from lockgate.store.sqlite.statements import CALLS
from lockgate.store.sqlite.transaction import SqliteTransaction

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from lockgate.store.chain_links import HeadFacts
    from lockgate.store.sqlite.statements import Written
    from lockgate.store.sqlite.subject_list import Marks

_MOST = 256
"""Sessions that are known at a time."""
_MOST_TAINTS = 64
"""Taints of a subject from which on they are read each time."""
_MOST_ROWS = 256
"""Calls that are out and lists of taints of one session from which on it is read anew: some calls never come back."""
_OPEN = frozenset({"running", "asked"})


class _Known:
    """What is known of one session. What is missing has to be read."""

    __slots__ = ("agents", "all_calls", "calls", "noes", "row", "taints")

    def __init__(self) -> None:
        self.row: SessionRow | None = None
        self.calls: dict[str, CallRow] = {}
        """The calls that are out."""
        self.all_calls: set[str] | None = None
        """The ids of all its calls, of a session that began while it is remembered, and has not many."""
        self.taints: dict[tuple[str, int], tuple[Taint, ...]] = {}
        """By agent and limit."""
        self.agents: tuple[AgentRow, ...] | None = None
        self.noes: tuple[ApprovalRow, ...] | None = None
        """The questions that a person has answered with no."""

    def make_room(self) -> None:
        """Forget calls and taints, where there are very many."""
        if len(self.calls) + len(self.taints) >= _MOST_ROWS:
            self.calls.clear()
            self.taints.clear()


class _Sessions(dict[str, _Known]):
    """What is known, by session: nothing of one that was not asked about."""

    def __missing__(self, session: str) -> _Known:
        if len(self) >= _MOST:
            self.clear()
        known = self[session] = _Known()
        return known


class Memory:
    """What a store knows while nobody else writes."""

    def __init__(self) -> None:
        """Know nothing."""
        self.sessions = _Sessions()
        self._version = -1
        self.head: tuple[int, str] | None = None
        """Number and digest of the last audit record, where the head's seal was looked at or made by this process."""
        self.facts: HeadFacts | None = None
        """What the head binds beside the chain's end."""
        self.tags: str | None = None
        """The row of all parts of the list of who has begun; empty where the head does not name it."""
        self.owes_head = False
        """Whether that record is in the database, and the head that names it is not yet."""

    def forget(self) -> None:
        """Know nothing any more of what stands in the database."""
        self.sessions.clear()
        self.head = self.facts = self.tags = None
        self.owes_head = False

    def refresh(self, connection: Connection) -> bool:
        """Forget what does not hold any more; whether somebody else wrote since the last time.

        To be called when the lock for writing has been taken.
        """
        version = connection.execute("PRAGMA data_version").fetchone()[0]
        if version == self._version:
            return False
        self._version = version
        self.forget()
        return True


class RememberingTransaction(SqliteTransaction):
    """A transaction under a lock for writing. ``GroupingStore`` writes the head, before it commits."""

    def __init__(self, connection: Connection, key: bytes, memory: Memory, *, writable: bool) -> None:
        """Begin with what is known."""
        super().__init__(connection, key, writable=writable)
        self._memory = memory
        self.begin_part(writable=writable)

    def begin_part(self, *, writable: bool) -> None:
        """Begin anew, as the next part of a group, on the cursor that there is."""
        memory = self._memory
        self._writable = writable
        self._last_call = self._facts = self._tags = None
        self.written: list[Written] = []
        self.head_before = memory.head, memory.owes_head, memory.facts
        """The memory's, as they were."""

    # sessions

    def session(self, session: str) -> SessionRow | None:
        """The session, or ``None``."""
        known = self._memory.sessions[session]
        if known.row is None:
            known.row = super().session(session)
            # Where it is about to begin, all its calls are known from here on.
            if known.row is None and known.all_calls is None and not self.calls(session):
                known.all_calls = set()
        return known.row

    def put_session(self, row: SessionRow) -> None:
        """Add or replace a session."""
        super().put_session(row)
        self._memory.sessions[row.session].row = row

    def _is_there(self, subject: Subject) -> bool:
        known = self._memory.sessions[subject.session]
        return (not subject.agent and known.row is not None) or super()._is_there(subject)

    # sub-agents

    def put_agent(self, row: AgentRow) -> None:
        """Add or replace a sub-agent."""
        super().put_agent(row)
        self._memory.sessions[row.session].agents = None

    def agents(self, session: str) -> list[AgentRow]:
        """All sub-agents of a session, oldest first."""
        known = self._memory.sessions[session]
        if known.agents is None:
            known.agents = tuple(super().agents(session))
        return list(known.agents)

    # labels

    def taints(self, subject: Subject, *, limit: int = 0) -> list[Taint]:
        """The taints of a subject, oldest first; with a limit, only so many confirmed ones of each label."""
        known, name = self._memory.sessions[subject.session], (subject.agent, limit)
        found = known.taints.get(name)
        if found is not None:
            return list(found)
        read = super().taints(subject, limit=limit)
        if len(read) <= _MOST_TAINTS:
            known.make_room()
            known.taints[name] = tuple(read)
        return read

    def add_taints(self, subject: Subject, taints: Iterable[Taint]) -> None:
        """Add taints. One already there (same label, source, call and origin) is kept; confirmed replaces pending."""
        added = tuple(taints)
        if added:
            self._memory.sessions[subject.session].taints.clear()
            super().add_taints(subject, added)

    def settle(self, session: str, call_id: str, *, confirm: bool) -> int:
        """Confirm or drop all pending taints of a call, in every agent of the session. Returns how many."""
        self._memory.sessions[session].taints.clear()
        return super().settle(session, call_id, confirm=confirm)

    def drop_taints(self, subject: Subject, label: Label, call_id: str) -> int:
        """Drop the confirmed taints of one label that a subject has by a call of its own. Returns how many."""
        self._memory.sessions[subject.session].taints.clear()
        return super().drop_taints(subject, label, call_id)

    def mend_labels(self, subjects: Collection[Subject], at: float) -> None:
        """Let subjects have every label that they seem to have, and seal that."""
        self._memory.sessions.clear()
        super().mend_labels(subjects, at)

    def put_parts(self, parts: Mapping[int, Marks]) -> None:
        """Write parts of the list of who has begun."""
        super().put_parts(parts)
        self._memory.tags = self._tags

    def _all_tags(self) -> str:
        if self._memory.tags is None:
            self._memory.tags = super()._all_tags()
        return self._memory.tags

    # calls

    def call(self, session: str, call_id: str) -> CallRow | None:
        """The call, or ``None``."""
        known = self._memory.sessions[session]
        found = known.calls.get(call_id)
        if found is None and (known.all_calls is None or call_id in known.all_calls):
            found = super().call(session, call_id)
            if found is not None and found.state in _OPEN:
                known.make_room()
                known.calls[call_id] = found
        return found

    def put_call(self, row: CallRow) -> None:
        """Add or replace a call."""
        known = self._memory.sessions[row.session]
        before = known.calls.pop(row.call_id, None)
        if before is None and known.all_calls is not None:
            known.all_calls.add(row.call_id)
            if len(known.all_calls) >= _MOST_ROWS:
                known.all_calls = None
        if before is not None and before._replace(state=row.state) == row:
            self._last_call = None
            self._write(
                "UPDATE calls SET state = ?, seal = ? WHERE session = ? AND call_id = ?",
                (row.state, self._row_seal(CALLS, call_values(row)), row.session, row.call_id),
            )
        else:
            super().put_call(row)
        if row.state in _OPEN:
            known.make_room()
            known.calls[row.call_id] = row

    # questions to a person

    def put_approval(self, row: ApprovalRow) -> None:
        """Add or replace a question to a person."""
        super().put_approval(row)
        self._memory.sessions[row.session].noes = None

    def noes(self, session: str) -> list[ApprovalRow]:
        """What a person has said no to in a session, oldest first."""
        known = self._memory.sessions[session]
        if known.noes is None:
            known.noes = tuple(super().noes(session))
        return list(known.noes)

    # audit

    def audit_head(self, *, gate: str = "") -> AuditHead:
        """The chain's sealed head: what it will be once this is committed."""
        memory = self._memory
        if memory.owes_head and memory.head is not None and self._is_own(gate):
            return AuditHead(*memory.head, seal(self._key, *memory.head, self.facts()))
        return super().audit_head(gate=gate)

    def facts(self) -> HeadFacts:
        """What the seal of the head binds beside the chain's end."""
        memory = self._memory
        if memory.facts is None:
            memory.facts = super().facts()
        return memory.facts

    def _bind(self, facts: HeadFacts) -> None:
        memory, head = self._memory, self.audit_head()
        if head_facts(self._key, head) is not None:
            memory.head, memory.facts, memory.owes_head = (head.seq, head.digest), facts, True

    def begin_epoch(self) -> None:
        """Let seals of labels count only where they are made from here on."""
        self.keep_head()
        self._memory.forget()
        self._facts = self._tags = None
        super().begin_epoch()

    def append_audit(self, at: float, body: Mapping[str, Any]) -> AuditRow:
        """Append one record to the audit chain."""
        memory = self._memory
        if memory.head is None:
            memory.head = self._check_head()
        row = self._append(memory.head, at, body)
        memory.head, memory.owes_head = (row.seq, row.digest), True
        return row

    def keep_head(self) -> None:
        """Write the head, where it is owed."""
        if self._memory.owes_head and self._memory.head is not None:
            self._put_head(*self._memory.head)
            self._memory.owes_head = False

    # all

    def write_again(self, written: Iterable[Written]) -> None:
        """Write what others wrote, and SQLite has undone."""
        for statement, values in written:
            self._run(statement, values)

    def prune(self, before: float) -> int:
        """Forget sessions that ended before a time, with all that belongs to them but the audit."""
        self._memory.sessions.clear()
        return super().prune(before)
