"""Did the gate's hooks run in every session of the last days? The clients' own logs and the audit tell."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from lockgate.clients.common.guarded_sessions import GateRecords, UnguardedSession, unguarded_sessions
from lockgate.clients.common.session_logs import READS, SessionLog, session_logs
from lockgate.clients.install import other_checks
from lockgate.clients.install.claude_settings_view import CheckContext, DoctorCheck, enabled_plugins, hook_commands
from lockgate.core.display_text import visible
from lockgate.core.errors import LockgateError
from lockgate.core.record import TYPE_CHECKING
from lockgate.store.audit.bodies import body_of
from lockgate.store.rows import AuditQuery

if TYPE_CHECKING:
    from lockgate.store.protocol import Transaction

DAY = 86400.0
"""Seconds."""
_PAGE = 10_000
_NAME = "sessions"


def session_checks(seen: CheckContext, days: float) -> Iterator[DoctorCheck]:
    """Each session of the last days that ran calls without the gate; then what each client's logs say in all.

    Calls from before the audit's first record are not looked at: the gate was not there yet.
    """
    found = _compared(seen, days)
    if isinstance(found, DoctorCheck):
        yield found
        return
    logs, bad = found
    yield from (_told(session, seen) for session in bad)
    if not bad:
        yield DoctorCheck(_NAME, "ok", _in_all(logs))


def _compared(seen: CheckContext, days: float) -> tuple[list[SessionLog], list[UnguardedSession]] | DoctorCheck:
    """The logs of some days and the sessions that ran without the gate; or why that cannot be told."""
    from lockgate.store.opening import open_existing

    try:
        store = open_existing(seen.folders.state)
        if store is None:
            return DoctorCheck(_NAME, "ok", "nothing is recorded yet, so there is nothing to compare with")
        try:
            since = store.clock() - days * DAY
            with store.reading() as tx:
                first = tx.audit(limit=1)
                since = max(since, first[0].at) if first else store.clock()
                known = _known(tx, since)
        finally:
            store.close()
    except LockgateError as error:
        return DoctorCheck(_NAME, "warn", f"nobody can tell: {error}", "mend the state first")
    logs = list(session_logs(seen.folders.home, seen.environ, since))
    return logs, unguarded_sessions(logs, known)


def _known(tx: Transaction, since: float) -> GateRecords:
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


def _in_all(logs: list[SessionLog]) -> str:
    count = Counter(client for client, _ in {(log.client, log.session) for log in logs})
    said = ", ".join(f"{client} {count[client]}" for client in READS if count[client])
    return f"each call of the clients' own logs is in the audit; sessions: {said or 'none'}"


def _told(session: UnguardedSession, seen: CheckContext) -> DoctorCheck:
    where = f" on {session.surface}" if session.surface else ""
    folder = f" in {session.folder}" if session.folder else ""
    says = (
        f"{session.client}{where}: {session.calls} of {session.of} calls ran without the gate, the last at"
        f" {_day(session.last)}{folder} (session {session.session})"
    )
    return DoctorCheck(_NAME, "fail", visible(says, 600), _mend(session.client, seen))


def _mend(client: str, seen: CheckContext) -> str:
    if client == "claude-code":
        registered = bool(hook_commands(seen, "PreToolUse") or enabled_plugins(seen))
    else:
        registered = client in dict(other_checks.guarded(seen))
    if not registered:
        return f"run: lockgate install {client}"
    return "hooks were off, or not trusted, where it ran: docs/clients.md, Where hooks do not run"


def _day(at: float) -> str:
    """A time of the last days: ``2026-11-25 14:05``."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
