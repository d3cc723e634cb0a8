"""Grants one agent all fetches of one host, until its session gets another label.

It is for the client's own tool that reads a page. A command has options that lead elsewhere (``--connect-to``), so each
is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from lockgate.core.errors import ApprovalError
from lockgate.core.model import Label, Subject
from lockgate.core.record import TYPE_CHECKING
from lockgate.gate.approvals.proof import FETCHES, FETCHES_OVER, is_endorsed_since, is_proven
from lockgate.store.rows import ApprovalRow

if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Transaction

_TOOL, _ROW = "WebFetch", "fetch"
_HOST = re.compile(r"https://((?:[a-z0-9-]{1,63}\.)+[a-z0-9-]{1,63})/", re.ASCII)
"""No port, no user and no other spelling of a host: what is not plainly this host is asked about."""


def host_of(tool: str, given: Mapping[str, Any], rows: Collection[str]) -> str:
    """The host of a call that does nothing but read a page of it; empty for any other.

    Args:
        tool: The tool.
        given: Its input.
        rows: The rows of the table for which the call is asked about.
    """
    url = given.get("url")
    found = _HOST.match(url) if tool == _TOOL and isinstance(url, str) and set(rows) == {_ROW} else None
    return found[1] if found else ""


NO_FETCH = "this is no question about a page alone, or the session knows a secret: approve it once"
"""Why a question cannot be answered for all fetches of a host."""


def host_in(row: ApprovalRow) -> str:
    """The host whose fetches a question can be answered for; empty where it cannot."""
    about, whole = row.about, row.about.get("whole")
    reasons = about.get("reasons")
    rows = {str(each.get("row")) for each in reasons if isinstance(each, dict)} if isinstance(reasons, list) else set()
    if not isinstance(whole, Mapping) or Label.SECRET in _labels(about):
        return ""
    return host_of(str(about.get("tool")), whole, rows)


def for_all(row: ApprovalRow) -> ApprovalRow:
    """The question with a yes to all fetches of its host.

    Raises:
        ApprovalError: It is about something else than a page, or the session knows a secret.
    """
    host = host_in(row)
    if not host:
        raise ApprovalError(NO_FETCH)
    return row._replace(about={**row.about, FETCHES: {"host": host, "labels": sorted(_labels(row.about))}})


def is_granted(
    tx: Transaction, subject: Subject, host: str, labels: Collection[Label], approvers: Mapping[str, Any] | None
) -> bool:
    """Whether a person has said yes to all fetches of a host by this subject, which has the same labels as then.

    Where the configuration names approvers, it has to be one of them.
    """
    if not host or Label.SECRET in labels:
        return False
    wanted = {"host": host, "labels": sorted(labels)}
    given = (row for row in _list_used_approvals(tx, subject.session) if row.agent == subject.agent)
    same = (row for row in given if row.about.get(FETCHES) == wanted)
    return any(is_proven(tx, row, approvers) and not is_endorsed_since(tx, row) for row in same)


def end(tx: Transaction, session: str) -> None:
    """End all such yeses of a session: the labels for which they were said are others now.

    What each was said for stays, as its record is bound to that.
    """
    for row in _list_used_approvals(tx, session):
        tx.put_approval(row._replace(about={**row.about, FETCHES_OVER: True}))


def _list_used_approvals(tx: Transaction, session: str) -> Sequence[ApprovalRow]:
    rows = tx.approvals(session=session, state="used")
    return [row for row in rows if FETCHES in row.about and FETCHES_OVER not in row.about]


def _labels(about: Mapping[str, Any]) -> set[str]:
    found = about.get("labels")
    return {str(each) for each in found} if isinstance(found, list) else {str(Label.SECRET)}
