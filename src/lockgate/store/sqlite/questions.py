"""The queries of the SQLite store about calls, briefs, and questions to a person."""

from __future__ import annotations

import json

from lockgate.store.rows import ApprovalRow, BriefRow, CallRow, approval_of, call_of, where_equal
from lockgate.store.sqlite.statements import SqliteStatements, parsed
from lockgate.system.digests import usual_json

_OUT = ("running", "asked")
"""States of calls that have an index."""
_json = usual_json()
_APPROVAL = ", ".join(ApprovalRow._fields)


class SqliteQuestionQueries(SqliteStatements):
    """Calls, briefs, and questions to a person."""

    moved: bool
    _last_call: tuple[tuple[str, str], CallRow | None] | None = None

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
            self._last_call = (name, call_of(row, parsed) if row else None)
        return self._last_call[1]

    def put_call(self, row: CallRow) -> None:
        """Add or replace a call."""
        self._last_call = None
        self._write(
            "INSERT INTO calls (session, call_id, agent, tool, digest, state, quiet, facts, at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, call_id) DO UPDATE SET"
            " agent = excluded.agent, tool = excluded.tool, digest = excluded.digest, state = excluded.state,"
            " quiet = excluded.quiet, facts = excluded.facts, at = excluded.at",
            (*row[:6], _json(row.quiet) if row.quiet else "[]", _json(dict(row.facts)), row.at),
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
        return [call_of(row, parsed) for row in rows]

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
        return approval_of(row) if row else None

    def put_approval(self, row: ApprovalRow) -> None:
        """Add or replace a question to a person."""
        self.moved = self.moved or row.state != "pending"
        changes = ", ".join(f"{name} = excluded.{name}" for name in ApprovalRow._fields[1:])
        self._write(
            f"INSERT INTO approvals ({_APPROVAL}) VALUES ({', '.join('?' * len(ApprovalRow._fields))})"  # noqa: S608
            f" ON CONFLICT (approval) DO UPDATE SET {changes}",
            row._replace(about=json.dumps(row.about)),  # type: ignore[arg-type]
        )

    def approvals(self, *, session: str = "", state: str = "") -> list[ApprovalRow]:
        """Questions to a person, oldest first; of one session, in one state, where they are given."""
        where, values = where_equal("?", session=session, state=state)
        rows = self._all(
            f"SELECT {_APPROVAL} FROM approvals{where} ORDER BY asked_at, id",  # noqa: S608
            values,
        )
        return [approval_of(row) for row in rows]

    def end_answers(self) -> None:
        """Let no yes count that was not used: in a state that was put back it may have been."""
        self._write("UPDATE approvals SET state = 'expired' WHERE state = 'approved'", ())

    def overdue_approvals(self, now: float) -> list[ApprovalRow]:
        """Questions whose time is over by now, and that nobody answered, or whose answer nobody used; oldest first."""
        rows = self._all(
            f"SELECT {_APPROVAL} FROM approvals WHERE state IN ('pending', 'approved') AND expires_at <= ?"  # noqa: S608
            " ORDER BY asked_at, id",
            (now,),
        )
        return [approval_of(row) for row in rows]
