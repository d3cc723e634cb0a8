"""A look at all rows that loosen something, without haste: which of them something else than Lockgate has written.

A decision reads no such row as it stands: see ``SqliteStatements``. Here they are told to a person, and mended by one.
"""

from __future__ import annotations

from lockgate.core.model import Subject
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.files import Sets
from lockgate.store.rows import AgentRow, ApprovalRow, AuditQuery, BriefRow, CallRow, SessionRow
from lockgate.store.sqlite.rollback import KEPT_AT, NEVER
from lockgate.store.sqlite.statements import ADDRESSES, AGENTS, APPROVALS, BRIEFS, CALLS, SESSIONS, SETTINGS, TAINTS
from lockgate.store.sqlite.subject_list import BOUND_PASSAGES, NOES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from lockgate.store.protocol import Transaction
    from lockgate.store.sqlite.statements import SqliteStatements
    from lockgate.store.sqlite.subject_list import RowSetQueries

SEALED = "settings-sealed"
"""The event of the record that tells that an upgrade has sealed the settings; all other rows it could not vouch for."""
_BROKEN = "has no seal that holds"
_COLUMNS = {
    SESSIONS: SessionRow._fields,
    AGENTS: AgentRow._fields,
    CALLS: CallRow._fields,
    BRIEFS: BriefRow._fields,
    ADDRESSES: ("session", "key", "human"),
    SETTINGS: ("name", "value"),
    TAINTS: ("session", "agent", "label", "source", "tool", "call_id", "at", "state", "origin"),
    APPROVALS: ApprovalRow._fields,
}
_SAID = {
    SESSIONS: "how it began",
    AGENTS: "who started it",
    CALLS: "one of its calls",
    BRIEFS: "one of its briefs",
    ADDRESSES: "one of the addresses that it knows",
    TAINTS: "where one of its labels came from",
}
_CACHES = ("config:compiled:", "judge:opinion:", "open-page:", "patterns:kept:", "patterns:pinned:", "trial:")
"""Settings that are found out anew, and that an older version's row must not stand for."""
_LOST = {
    NOES: "no call of it runs, as something else has taken away, changed or put back what a person said no to",
    BOUND_PASSAGES: "the passages of strangers that it has read are not those that were kept",
}
_SETS = {
    Sets.FILE_LABELS: "the files that hold strangers' text",
    Sets.KEPT_FILES: "the files that hold a secret, or code from the network",
    Sets.CANARIES: "the canaries",
    Sets.PACKAGES: "the packages that sessions with untrusted text have installed",
    Sets.ACTS: "the times at which an agent may have written as you",
}
_CHECK = "PRAGMA integrity_check(20)"
"""What SQLite finds wrong, at most so many lines (https://www.sqlite.org/pragma.html#pragma_integrity_check)."""
_TRUST, _TOKEN = "trust:", "dashboard:token:"


def problems(rows: RowSetQueries, tx: Transaction) -> list[tuple[Subject, str]]:
    """Whose rows something else has written, each with what is wrong, for a person."""
    upgraded = _is_upgraded(tx)
    found: dict[tuple[Subject, str], None] = {}
    for table in (*_SAID, SETTINGS):  # questions are held against the audit
        for row in _find_broken(rows, table):
            # Else an older version has written it, whose taints an upgrade has sealed.
            if row[-1] or table == TAINTS or not upgraded:
                subject = _subject(table, row)
                what = f"the setting {str(row[0])[:60]}" if table == SETTINGS else _SAID[table]
                found[subject, f"{what} {_BROKEN}"] = None
    lost = [(Subject(session), _LOST[what]) for session, what in rows.find_lost()]
    return [*found, *lost, *((Subject(""), each) for each in [*_find_lost_settings(rows), *_find_damage(rows)])]


def _find_lost_settings(rows: RowSetQueries) -> list[str]:
    """The sets of settings that are not those that were kept."""
    return [f"{said} are not those that were kept" for prefix, said in _SETS.items() if rows.read_set(prefix) is None]


def _find_damage(rows: SqliteStatements) -> list[str]:
    """What is wrong with the pages of the database, as SQLite tells it: an index may hide rows of its table."""
    told = [str(line) for (line,) in rows._all(_CHECK, ())]
    # A page that is lost holds nothing that is read.
    wrong = [line for line in told if line != "ok" and not line.endswith("never used") and not line.startswith("***")]
    return [f"the database is damaged: {line}" for line in wrong]


def mend_damage(rows: SqliteStatements) -> None:
    """Make indexes anew, where SQLite finds anything wrong."""
    if _find_damage(rows):
        rows._write("REINDEX", ())


def drop(rows: RowSetQueries, tx: Transaction, session: str) -> None:
    """Let nothing of a session stand that something else has written; for an empty name, nothing of the settings."""
    for table in (SETTINGS,) if not session else (CALLS, BRIEFS, ADDRESSES):
        columns = _COLUMNS[table]
        for row in _find_broken(rows, table):
            if table == SETTINGS or row[0 if table != BRIEFS else 1] == session:
                where = " AND ".join(f"{column} IS ?" for column in columns)
                rows._write(f"DELETE FROM {table} WHERE {where}", row[:-1])  # noqa: S608 - columns of ours
    known = tx.session(session)
    if known is not None:
        # As they are read, they are on the safe side; written so, they are sealed.
        tx.put_session(known)
        for agent in tx.agents(session):
            tx.put_agent(agent)


def seal_settings(rows: SqliteStatements, tx: Transaction, now: float) -> None:
    """Seal the settings that an older version has kept, and record that. Nothing is sealed twice.

    What a person has trusted counts where the audit tells of it, and a token has to be made anew.
    """
    if _is_upgraded(tx):
        return
    trusted = _trust_settings(tx)
    # A version that kept a head has said so. Of one that kept none, nothing can be missing.
    kept = [(KEPT_AT, NEVER)] if tx.setting(KEPT_AT) is None else []
    for name, value in [*kept, *rows._all("SELECT name, value FROM settings", ())]:
        is_loose = name.startswith((*_CACHES, _TOKEN)) or (name.startswith(_TRUST) and trusted.get(name) != value)
        tx.put_setting(name, None if is_loose else value)
    _seal_recorded_calls(rows, tx)
    tx.append_audit(now, {"event": SEALED, "client": "", "session": "", "agent": ""})


def _seal_recorded_calls(rows: SqliteStatements, tx: Transaction) -> None:
    """Seal the calls that have come back and of which the audit tells.

    Else a session that goes on would seem to have results of calls that nobody decided on. No more is sealed of them
    than that they were made.
    """
    from lockgate.system.digests import json_object

    told = set()
    for row in tx.find_audit(AuditQuery(event="outcome")):
        body = json_object(row.body) or {}
        told.add((body.get("session"), body.get("call"), body.get("digest")))
    columns = "session, call_id, agent, tool, digest, state, at"
    finished = rows._all(f"SELECT {columns} FROM calls WHERE state NOT IN ('running', 'asked')", ())  # noqa: S608 - ours
    for session, call_id, agent, tool, digest, state, at in finished:
        if (session, call_id, digest) in told:
            tx.put_call(CallRow(session, call_id, agent, tool, digest, state, at=at))


def seal_copied(rows: SqliteStatements, tables: Iterable[str] = _COLUMNS) -> None:
    """Seal all rows as they are: those that a person has had copied from another store, or that are older."""
    for table in tables:
        for row in list(_find_broken(rows, table)):
            where = " AND ".join(f"{column} IS ?" for column in _COLUMNS[table])
            rows._write(f"UPDATE {table} SET seal = ? WHERE {where}", (rows._row_seal(table, row[:-1]), *row[:-1]))  # noqa: S608


def _find_broken(rows: SqliteStatements, table: str) -> Iterator[Any]:
    """The rows of a table without a seal that holds, each with that."""
    for row in rows._all(f"SELECT {', '.join(_COLUMNS[table])}, seal FROM {table}", ()):  # noqa: S608 - columns of ours
        if rows._unseal(table, row) is None:
            yield row


def _subject(table: str, row: Any) -> Subject:
    if table == SETTINGS:
        return Subject("")
    return Subject(str(row[1 if table == BRIEFS else 0]), str(row[1]) if table in (AGENTS, TAINTS) else "")


def _is_upgraded(tx: Transaction) -> bool:
    return bool(tx.find_audit(AuditQuery(event=SEALED), limit=1))


def _trust_settings(tx: Transaction) -> dict[str, str]:
    """The settings that trust project files, as the audit tells of them last."""
    from lockgate.system.digests import json_object

    told = [*tx.find_audit(AuditQuery(event="trust")), *tx.find_audit(AuditQuery(event="untrust"))]
    found = {}
    for row in sorted(told):
        body = json_object(row.body) or {}
        sha256 = str(body.get("sha256")) if body.get("event") == "trust" else ""
        found[f"{_TRUST}{body.get('file')}"] = sha256
    return found
