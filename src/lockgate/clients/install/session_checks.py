"""Checks from logs and audit whether the gate's hooks ran in every session of the last days."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

from lockgate.clients.common.guarded_sessions import GateRecords, UnguardedSession, find_unguarded_sessions
from lockgate.clients.common.session_logs import READS, SessionLog, session_logs
from lockgate.clients.install import other_checks
from lockgate.clients.install.claude_settings_view import CheckContext, DoctorCheck
from lockgate.core.display_text import visible
from lockgate.core.errors import LockgateError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.audit.bodies import body_of
from lockgate.store.rows import AuditQuery
from lockgate.system.timestamps import local_time

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

_DAY = 86400.0
"""Seconds."""
_PAGE = 10_000
_NAME = "sessions"


def session_checks(seen: CheckContext, days: float) -> list[DoctorCheck]:
    """Each session of the last days that ran calls without the gate; where there is none, what was compared.

    Calls from before the audit's first record are not looked at: the gate was not there yet.
    """
    try:
        recorded = _read_records(seen.folders.state, days)
    except LockgateError as error:
        return [DoctorCheck(_NAME, "warn", f"nobody can tell: {error}", "mend the state first")]
    if recorded is None:
        return [DoctorCheck(_NAME, "ok", "nothing is recorded yet, so there is nothing to compare with")]
    since, known = recorded
    logs = list(session_logs(seen.folders.home, seen.environ, since))
    unguarded = [_check_of(session, seen) for session in find_unguarded_sessions(logs, known)]
    return unguarded or [DoctorCheck(_NAME, "ok", _summarise(logs))]


def _read_records(state: str, days: float) -> tuple[float, GateRecords] | None:
    """From when on the audit can be compared, and what it knows since; ``None`` where nothing was recorded yet.

    Raises:
        LockgateError: The state cannot be read.
    """
    from lockgate.store.opening import open_existing

    store = open_existing(state)
    if store is None:
        return None
    with closing(store), store.reading() as tx:
        first = tx.audit(limit=1)
        since = max(store.clock() - days * _DAY, first[0].at) if first else store.clock()
        return since, _read_gate_records(tx, since)


def _read_gate_records(tx: Transaction, since: float) -> GateRecords:
    calls: set[tuple[str, str]] = set()
    times: dict[str, list[float]] = {}
    before = 0
    while rows := tx.find_audit(AuditQuery(since=since), before=before, limit=_PAGE):
        for row in rows:
            about = body_of(row.body)
            session = str(about.get("session", ""))
            calls.add((session, str(about.get("call", ""))))
            times.setdefault(session, []).append(row.at)
        before = rows[-1].seq
    return GateRecords(frozenset(calls), {session: sorted(at) for session, at in times.items()})


def _summarise(logs: list[SessionLog]) -> str:
    count = Counter(client for client, _ in {(log.client, log.session) for log in logs})
    said = ", ".join(f"{client} {count[client]}" for client in READS if count[client])
    return f"each call of the clients' own logs is in the audit; sessions: {said or 'none'}"


def _check_of(session: UnguardedSession, seen: CheckContext) -> DoctorCheck:
    where = f" on {session.surface}" if session.surface else ""
    folder = f" in {session.folder}" if session.folder else ""
    says = (
        f"{session.client}{where}: {session.calls} of {session.of} calls ran without the gate, the last at"
        f" {local_time(session.last, seconds=False, day=True)}{folder} (session {session.session})"
    )
    return DoctorCheck(_NAME, "fail", visible(says, 600), _mend(session.client, seen))


def _mend(client: str, seen: CheckContext) -> str:
    registered = seen.has_hooks if client == "claude-code" else client in dict(other_checks.find_guarded(seen))
    if not registered:
        return f"run: lockgate install {client}"
    return "hooks were off, or not trusted, where it ran: docs/clients.md, Where hooks do not run"
