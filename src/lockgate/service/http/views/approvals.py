"""Questions to a person: what the API tells of them, and the answer to one."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Mapping
from typing import Any, Literal

from lockgate.core.errors import ApprovalError
from lockgate.gate.approvals.answering import answer
from lockgate.gate.approvals.questions import WHOLE
from lockgate.service.http.auth.sessions import ApiCaller
from lockgate.service.http.problems import RequestRefused
from lockgate.service.http.schemas import ApprovalState
from lockgate.service.http.schemas.calls import Approval, ApprovalPage, ApprovalSummary
from lockgate.service.http.views import calls, record_values
from lockgate.service.http.views.call_spans import marked
from lockgate.store.protocol import Store, Transaction
from lockgate.store.rows import ApprovalRow
from lockgate.system.folders import Folders

Which = Literal["pending", "past", "all"]


def page(tx: Transaction, now: float, which: Which, session: str, limit: int) -> ApprovalPage:
    """Questions: the oldest first where they wait, else the newest first. ``now`` is the store's time."""
    rows = tx.approvals(session=session)
    waiting = [row for row in rows if state_of(row, now) == "pending"]
    past = [row for row in reversed(rows) if state_of(row, now) != "pending"]
    chosen = {"pending": waiting, "past": past, "all": [*waiting, *past]}[which]
    return ApprovalPage(
        items=[ApprovalSummary(**_summary(row, now)) for row in chosen[:limit]],
        pending=len(waiting),
        now=record_values.instant(now),
    )


def nothing(now: float) -> ApprovalPage:
    """What is told where nothing was ever recorded."""
    return ApprovalPage(items=[], pending=0, now=record_values.instant(now))


def state_of(row: ApprovalRow, now: float) -> ApprovalState:
    """What a question is now: the store is told only when somebody comes for it that its time is over."""
    state: Any = row.state
    return "expired" if state in ("pending", "approved") and row.is_over(now) else state


def find(tx: Transaction | None, approval: str) -> ApprovalRow:
    """The question of an id.

    Raises:
        Refused: There is none.
    """
    row = tx.approval(approval) if tx is not None else None
    if row is None:
        raise RequestRefused(404, "there is no question with this id")
    return row


def digest_of(row: ApprovalRow) -> str:
    """Digest of all that is shown of a question, whatever has become of it; and of what it is bound to."""
    shown = [*row[: row._fields.index("about")], row.about, row.asked_at, row.expires_at]
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(b"lockgate approval shown\n" + text.encode()).hexdigest()


def whole(where: Folders, row: ApprovalRow, now: float) -> Approval:
    """One question with all that a person has to see before they answer. ``now`` is the store's time."""
    about = row.about
    effects = calls.effects(about)
    given = record_values.part(about.get(WHOLE if _is_whole(row) else "input"))
    cwd, tool = record_values.text(about.get("cwd")), record_values.text(about.get("tool"))
    return Approval(
        **_summary(row, now),
        call=marked(where, tool, given, cwd, effects, whole=_is_whole(row)),
        brief=record_values.text(about.get("brief")),
        effects=effects,
        effects_omitted=int(record_values.number(about.get("effects_omitted"))),
        reasons=calls.reasons(about),
        reaches=calls.reaches(about),
        provenance=calls.provenance(about),
        guardrail=calls.guardrail(about),
        labels=record_values.labels(about.get("labels")),
        shown=digest_of(row),
        now=record_values.instant(now),
    )


def _is_whole(row: ApprovalRow) -> bool:
    """Whether all of the call is shown. What is no object is another gate's word, and shows nothing."""
    return isinstance(row.about.get(WHOLE), Mapping)


def _summary(row: ApprovalRow, now: float) -> dict[str, Any]:
    about: Mapping[str, Any] = row.about
    tool = record_values.text(about.get("tool"))
    return {
        "approval": row.approval,
        "state": state_of(row, now),
        "asked_at": record_values.instant(row.asked_at),
        "expires_at": record_values.instant(row.expires_at),
        "decided_at": record_values.moment(row.decided_at),
        "decided_by": row.decided_by,
        "reason": row.reason,
        "client": row.client,
        "session": row.session,
        "agent": row.agent,
        "tool": tool,
        "cwd": record_values.text(about.get("cwd")),
        "summary": calls.one_line(tool, about.get("input")),
        "profile": record_values.text(about.get("profile")),
        "column": record_values.state(about.get("column")),
    }


def approve(store: Store, state: str, approval: str, shown: str, reason: str, caller: ApiCaller) -> ApprovalRow:
    """Let exactly the call run that was shown.

    Args:
        store: The store.
        state: The state folder.
        approval: The question's id.
        shown: The digest of what the person has looked at.
        reason: What they say.
        caller: Who says so.

    Raises:
        Refused: It is not open any more, is not what was shown, or was not shown whole.
    """
    row = _open(store, approval)
    if not hmac.compare_digest(shown, digest_of(row)):
        raise RequestRefused(409, "this is not what was shown: look at it again", code="changed", state="pending")
    if not _is_whole(row):
        raise RequestRefused(
            409, "this call is not kept whole, so that it can only be denied", code="not_whole", state="pending"
        )
    return _answered(store, state, row, caller, approve=True, reason=reason)


def deny(store: Store, state: str, approval: str, reason: str, caller: ApiCaller) -> ApprovalRow:
    """Refuse a call.

    Raises:
        Refused: It is not open any more.
    """
    row = _open(store, approval)
    return _answered(store, state, row, caller, approve=False, reason=reason)


def _open(store: Store, approval: str) -> ApprovalRow:
    with store.reading() as tx:
        row = find(tx, approval)
    if state_of(row, store.clock()) != "pending":
        raise _conflict(row, store.clock())
    return row


def _answered(
    store: Store, state: str, row: ApprovalRow, caller: ApiCaller, *, approve: bool, reason: str
) -> ApprovalRow:
    try:
        return answer(
            *(store, state, row.approval),
            approve=approve,
            by=caller.by,
            reason=reason,
            client="dashboard",
            seen=row.about,
        )
    except ApprovalError as error:
        with store.reading() as tx:
            row = find(tx, row.approval)
        if state_of(row, store.clock()) == "pending":
            raise RequestRefused(409, str(error), code="denied_before", state="pending") from None
        raise _conflict(row, store.clock()) from None


def _conflict(row: ApprovalRow, now: float) -> RequestRefused:
    state = state_of(row, now)
    code = state if state in ("expired", "changed") else "already_decided"
    by = f" by {row.decided_by}" if row.decided_by else ""
    return RequestRefused(409, f"this question is not open any more: it is {state}{by}", code=code, state=state)
