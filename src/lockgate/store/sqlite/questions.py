"""The queries of the SQLite store about calls, briefs, and questions to a person."""

from __future__ import annotations

import json

from lockgate.core.record import TYPE_CHECKING
from lockgate.store.rows import (
    AHEAD,
    UNSEALED,
    ApprovalRow,
    BriefRow,
    CallRow,
    approval_of,
    call_of,
    make_unknown_no,
    where_equal,
)
from lockgate.store.sqlite.statements import APPROVALS, BRIEFS, CALLS, parse_json
from lockgate.store.sqlite.subject_list import RowSetQueries
from lockgate.system.digests import usual_json

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_OUT = ("running", "asked")
"""States of calls that have an index."""
_json = usual_json()
_CALL, _BRIEF = ", ".join(CallRow._fields), ", ".join(BriefRow._fields)
_APPROVAL = ", ".join(ApprovalRow._fields)
_NOES = f"SELECT {_APPROVAL}, seal FROM approvals WHERE session = ? AND state = 'denied' ORDER BY asked_at, id"  # noqa: S608
_IS_NO = "SELECT 1 FROM approvals WHERE approval = ? AND state = 'denied'"


def call_values(row: CallRow) -> tuple[str | float, ...]:
    """A call as it is kept."""
    return (*row[:6], _json(row.quiet) if row.quiet else "[]", _json(dict(row.facts)), row.at)


class SqliteQuestionQueries(RowSetQueries):
    """Calls, briefs, and questions to a person."""

    moved: bool
    _last_call: tuple[tuple[str, str], CallRow | None] | None = None

    # calls

    def call(self, session: str, call_id: str) -> CallRow | None:
        """The call, or ``None``: also where something else has changed it, so that its result is labelled anew."""
        # Asked again and again within one step, in which nobody else writes.
        name = (session, call_id)
        if self._last_call is None or self._last_call[0] != name:
            row = self._one(
                f"SELECT {_CALL}, seal FROM calls WHERE session = ? AND call_id = ?",  # noqa: S608 - ours
                name,
            )
            row = self._unseal(CALLS, row, name)
            self._last_call = (name, call_of(row, parse_json) if row else None)
        return self._last_call[1]

    def put_call(self, row: CallRow) -> None:
        """Add or replace a call."""
        self._last_call = None
        values = call_values(row)
        self._write(
            f"INSERT INTO calls ({_CALL}, seal)"  # noqa: S608 - ours
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, call_id) DO UPDATE SET"
            " agent = excluded.agent, tool = excluded.tool, digest = excluded.digest, state = excluded.state,"
            " quiet = excluded.quiet, facts = excluded.facts, at = excluded.at, seal = excluded.seal",
            (*values, self._row_seal(CALLS, values)),
        )

    def calls(self, session: str, *, state: str = "") -> list[CallRow]:
        """Calls of a session, oldest first; in one state where it is given.

        Of one that something else has changed there is no more than that it was made.
        """
        # An index of some rows alone is used where the statement itself says that it asks for these.
        written = f" AND state = '{state}'" if state in _OUT else " AND state = ?" if state else ""
        rows = self._all(
            f"SELECT {_CALL}, seal FROM calls WHERE session = ?{written} ORDER BY at, id",  # noqa: S608 - ours
            (session, state) if "?" in written else (session,),
        )
        return [self._call(row) for row in rows]

    def _call(self, row: Sequence[Any]) -> CallRow:
        known = self._unseal(CALLS, row)
        return call_of(known, parse_json) if known is not None else CallRow._make([*map(str, row[:6]), (), {}, 0.0])

    # briefs

    def brief(self, brief: str) -> BriefRow | None:
        """The brief, or ``None``."""
        row = self._one(f"SELECT {_BRIEF}, seal FROM briefs WHERE brief = ?", (brief,))  # noqa: S608 - ours
        known = self._unseal(BRIEFS, row, (brief,))
        return BriefRow._make(known) if known is not None else None

    def put_brief(self, row: BriefRow) -> None:
        """Add or replace a brief."""
        self._write(
            f"INSERT OR REPLACE INTO briefs (id, {_BRIEF}, seal)"  # noqa: S608 - ours
            " VALUES ((SELECT id FROM briefs WHERE brief = ?), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (row.brief, *row, self._row_seal(BRIEFS, row)),
        )

    def briefs(self, session: str) -> list[BriefRow]:
        """Briefs of a session, oldest first; none that something else has changed."""
        rows = self._all(
            f"SELECT {_BRIEF}, seal FROM briefs WHERE session = ? ORDER BY at, id",  # noqa: S608 - ours
            (session,),
        )
        return [BriefRow._make(known) for row in rows if (known := self._unseal(BRIEFS, row)) is not None]

    # questions to a person

    def approval(self, approval: str) -> ApprovalRow | None:
        """The question to a person, or ``None``."""
        row = self._one(f"SELECT {_APPROVAL}, seal FROM approvals WHERE approval = ?", (approval,))  # noqa: S608
        return self._approval(row) if row else None

    def _approval(self, row: Sequence[Any]) -> ApprovalRow:
        """A question. One that something else has changed says so: a no may be to any call then."""
        found = approval_of(row[:-1])
        if self._unseal(APPROVALS, row) is None:
            return found._replace(about={**found.about, UNSEALED: True})
        return found

    def put_approval(self, row: ApprovalRow) -> None:
        """Add or replace a question to a person."""
        self.moved = self.moved or row.state != "pending"
        is_no = row.state == "denied" or self._one(_IS_NO, (row.approval,)) is not None
        is_whole = is_no and self._read_noes(row.session)[1]
        names = (*ApprovalRow._fields, "seal")
        changes = ", ".join(f"{name} = excluded.{name}" for name in names[1:])
        values = row._replace(about=json.dumps(row.about))  # type: ignore[arg-type]
        self._write(
            f"INSERT INTO approvals ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"  # noqa: S608 - ours
            f" ON CONFLICT (approval) DO UPDATE SET {changes}",
            (*values, self._row_seal(APPROVALS, values)),  # type: ignore[arg-type]
        )
        if is_whole:
            self.list_noes(row.session)

    def noes(self, session: str) -> list[ApprovalRow]:
        """What a person has said no to in a session, oldest first.

        Where something else has changed that, the last one may be to any call.
        """
        rows, is_whole = self._read_noes(session)
        found = [self._approval(row) for row in rows]
        return found if is_whole else [*found, make_unknown_no(session)]

    def seals_of_noes(self, session: str) -> list[str]:
        """The seals of the noes of a session that Lockgate has written."""
        return [row[-1] for row in self._all(_NOES, (session,)) if self._unseal(APPROVALS, row) is not None]

    def _read_noes(self, session: str) -> tuple[list[Any], bool]:
        """The noes that Lockgate has written, and whether they are those that were said."""
        rows = self._all(_NOES, (session,))
        sealed = [row for row in rows if self._unseal(APPROVALS, row) is not None]
        return sealed, self.has_all_noes(session, [row[-1] for row in sealed], [row[-1] for row in rows])

    def approvals(self, *, session: str = "", state: str = "") -> list[ApprovalRow]:
        """Questions to a person, oldest first; of one session, in one state, where they are given."""
        where, values = where_equal("?", session=session, state=state)
        rows = self._all(
            f"SELECT {_APPROVAL}, seal FROM approvals{where} ORDER BY asked_at, id",  # noqa: S608
            values,
        )
        return [self._approval(row) for row in rows]

    def end_answers(self) -> None:
        """Let no yes count that was not used: in a state that was put back it may have been."""
        for row in self.approvals(state="approved"):
            self.put_approval(row._replace(state="expired"))

    def overdue_approvals(self, now: float) -> list[ApprovalRow]:
        """Questions whose time is over by now, and that nobody answered, or whose answer nobody used; oldest first."""
        rows = self._all(
            f"SELECT {_APPROVAL}, seal FROM approvals WHERE state IN ('pending', 'approved')"  # noqa: S608
            " AND (expires_at <= ? OR asked_at > ?) ORDER BY asked_at, id",
            (now, now + AHEAD),
        )
        return [self._approval(row) for row in rows]
