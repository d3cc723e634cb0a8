"""Searches the audit for decisions, for a bounded time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from lockgate.core.record import Record
from lockgate.service.http.problems import RequestRefused
from lockgate.service.http.schemas.calls import DecisionDetail, DecisionPage
from lockgate.service.http.views import calls, record_values
from lockgate.store.protocol import Transaction
from lockgate.store.rows import AuditQuery, AuditRow

WINDOW = 10_000
"""Records that are looked at between two looks at the clock."""
SECONDS = 1.0
"""After which a search stops and says where to go on."""
_MOST_RELATED = 50


def page(tx: Transaction, query: AuditQuery, before: int, limit: int, gate: str = "") -> DecisionPage:
    """Decisions that meet a query, newest first.

    Args:
        tx: The transaction.
        query: What they must meet.
        before: Only those with a smaller number, where it is not 0.
        limit: The most.
        gate: Whose, by id; empty for this machine's own.
    """
    found = search(tx, query, before, limit, gate=gate)
    return DecisionPage(
        items=list(map(calls.summary, found.rows)),
        next=found.before if found.before > 1 else None,
        complete=found.complete,
    )


class SearchResult(Record):
    """The outcome of a search."""

    rows: list[AuditRow]
    before: int
    """Where to go on: 1 where nothing is left."""
    complete: bool
    """Whether it did not stop for time."""


def search(
    tx: Transaction, query: AuditQuery, before: int = 0, limit: int = 50, seconds: float = SECONDS, gate: str = ""
) -> SearchResult:
    """Look for records, newest first, a window of the chain at a time.

    Args:
        tx: The transaction.
        query: What they must meet.
        before: Only those with a smaller number, where it is not 0.
        limit: The most.
        seconds: After which to stop.
        gate: Whose, by id; empty for this machine's own.
    """
    found: list[AuditRow] = []
    upper = min(before or 2**62, tx.audit_head(gate=gate).seq + 1)
    until = time.monotonic() + seconds
    while upper > 1 and len(found) < limit:
        if time.monotonic() >= until:
            return SearchResult(found, upper, False)
        lower = max(upper - 1 - WINDOW, 0)
        rows = tx.find_audit(query, after=lower, before=upper, limit=limit - len(found), gate=gate)
        found += rows
        upper = rows[-1].seq if len(found) >= limit else lower + 1
    return SearchResult(found, upper, True)


def whole(tx: Transaction, seq: int, gate: str = "") -> DecisionDetail:
    """One decision with its evidence.

    Raises:
        RequestRefused: There is no decision with this number.
    """
    row, about = find(tx, seq, gate)
    query = AuditQuery(session=record_values.text(about.get("session")), call=record_values.text(about.get("call")))
    return calls.decision(row, list(_find_related(tx, query, seq, gate)))


def find(tx: Transaction, seq: int, gate: str = "") -> tuple[AuditRow, Mapping[str, Any]]:
    """The record of one decision, and what it says.

    Raises:
        RequestRefused: There is no decision with this number.
    """
    row = next(iter(tx.audit(after=seq - 1, limit=1, gate=gate)), None)
    about = record_values.body_of(row.body) if row is not None else {}
    if row is None or row.seq != seq or about.get("event") != "decision":
        raise RequestRefused(404, "there is no decision with this number")
    return row, about


def _find_related(tx: Transaction, query: AuditQuery, seq: int, gate: str) -> Iterator[AuditRow]:
    """Other records about the same call, oldest first: close by, for a call comes back soon."""
    if not query.call:
        return
    after, before = max(seq - WINDOW, 0), seq + WINDOW
    for row in reversed(tx.find_audit(query, after=after, before=before, limit=_MOST_RELATED, gate=gate)):
        if row.seq != seq:
            yield row
