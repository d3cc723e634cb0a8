"""What is kept of calls, briefs and questions to a person: the queries of the ``Transaction`` protocol."""

from __future__ import annotations

import json
from collections.abc import Sequence

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.postgres.statements import PostgresStatements, replace_statement
from lockgate.store.postgres.text_encoding import parse_json
from lockgate.store.rows import AHEAD, ApprovalRow, BriefRow, CallRow, approval_of, call_of, where_equal

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.postgres.connections import Connection

_CALL = ", ".join(CallRow._fields)
_BRIEF = ", ".join(BriefRow._fields)
_APPROVAL = ", ".join(ApprovalRow._fields)
_PUT_CALL = replace_statement("calls", "session, call_id", CallRow._fields)
_PUT_BRIEF = replace_statement("briefs", "brief", BriefRow._fields)
_PUT_APPROVAL = replace_statement("approvals", "approval", ApprovalRow._fields)
_OVERDUE = "state IN ('pending', 'approved') AND (expires_at <= %s OR asked_at > %s)"


class PostgresQuestionQueries(PostgresStatements):
    """Calls, briefs, and questions to a person."""

    def __init__(self, connection: Connection, gate: str, key: bytes, *, writable: bool) -> None:
        super().__init__(connection, gate, key, writable=writable)
        self._calls: dict[tuple[str, str], CallRow | None] = {}
        """Calls that were looked up."""

    def call(self, session: str, call_id: str) -> CallRow | None:
        """The call, or ``None``."""
        # Nobody else changes it while the session is locked, and a decision asks for it twice.
        if (session, call_id) in self._calls:
            return self._calls[session, call_id]
        self._own(session)
        row = self._one(
            f"SELECT {_CALL} FROM lockgate.calls WHERE session = %s AND call_id = %s",  # noqa: S608
            (session, call_id),
        )
        found = call_of(row, parse_json) if row else None
        if self._writable:
            self._calls[session, call_id] = found
        return found

    def put_call(self, row: CallRow) -> None:
        """Add or replace a call."""
        self._own(row.session)
        self._calls.pop((row.session, row.call_id), None)
        self._write(_PUT_CALL, (*row[:6], json.dumps(row.quiet), json.dumps(dict(row.facts)), row.at))

    def calls(self, session: str, *, state: str = "") -> list[CallRow]:
        """Calls of a session, oldest first; in one state where it is given."""
        self._own(session)
        chosen = " AND state = %s" if state else ""
        rows = self._all(
            f"SELECT {_CALL} FROM lockgate.calls WHERE session = %s{chosen} ORDER BY at, id",  # noqa: S608
            (session, state) if state else (session,),
        )
        return [call_of(row, parse_json) for row in rows]

    def brief(self, brief: str) -> BriefRow | None:
        """The brief, or ``None``."""
        query = f"SELECT {_BRIEF} FROM lockgate.briefs WHERE brief = %s"  # noqa: S608
        row = self._of_a_session(query, brief)
        return BriefRow._make(row) if row else None

    def put_brief(self, row: BriefRow) -> None:
        """Add or replace a brief."""
        self._own(row.session)
        self._write(_PUT_BRIEF, row)

    def briefs(self, session: str) -> list[BriefRow]:
        """Briefs of a session, oldest first."""
        self._own(session)
        rows = self._all(
            f"SELECT {_BRIEF} FROM lockgate.briefs WHERE session = %s ORDER BY at, id",  # noqa: S608
            (session,),
        )
        return [BriefRow._make(row) for row in rows]

    def approval(self, approval: str) -> ApprovalRow | None:
        """The question to a person, or ``None``."""
        query = f"SELECT {_APPROVAL} FROM lockgate.approvals WHERE approval = %s"  # noqa: S608
        row = self._of_a_session(query, approval)
        return approval_of(row) if row else None

    def put_approval(self, row: ApprovalRow) -> None:
        """Add or replace a question to a person."""
        self._own(row.session)
        self._write(_PUT_APPROVAL, row._replace(about=json.dumps(dict(row.about))))  # type: ignore[arg-type]

    def approvals(self, *, session: str = "", state: str = "") -> list[ApprovalRow]:
        """Questions to a person, oldest first; of one session, in one state, where they are given."""
        if session:
            self._own(session)
        where, values = where_equal("%s", session=session, state=state)
        rows = self._all(
            f"SELECT {_APPROVAL} FROM lockgate.approvals{where} ORDER BY asked_at, id",  # noqa: S608
            values,
        )
        return [approval_of(row) for row in rows]

    def overdue_approvals(self, now: float) -> list[ApprovalRow]:
        """Questions whose time is over by now, and that nobody answered, or whose answer nobody used; oldest first.

        A step that may write leaves out those of sessions that another gate is busy with: it would have to wait for
        each of them, and that gate for this one. They are found by the next step.
        """
        query = f"SELECT {_APPROVAL} FROM lockgate.approvals WHERE {_OVERDUE} ORDER BY asked_at, id"  # noqa: S608
        rows = self._all(query, (now, now + AHEAD))
        if rows and self._writable:
            own = set(self._own_if_free([approval_of(row).session for row in rows]))
            rows = [row for row in self._all(query, (now, now + AHEAD)) if approval_of(row).session in own]
        return [approval_of(row) for row in rows]

    def _of_a_session(self, query: str, name: str) -> Sequence[Any] | None:
        """A row by its own name; once its session is known and locked, as it is then."""
        row = self._one(query, (name,))
        if row is None or not self._writable or row[1] in self._held:
            return row
        self._own(row[1])
        return self._one(query, (name,))
