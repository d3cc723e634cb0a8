"""Questions to a person for the API, and a person's answer to one."""

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
from lockgate.service.http.schemas import ApprovalState, ProblemCode
from lockgate.service.http.schemas.calls import Approval, ApprovalPage, ApprovalSummary
from lockgate.service.http.views import calls, record_values
from lockgate.service.http.views.call_spans import mark_effects
from lockgate.store.protocol import Store, Transaction
from lockgate.store.rows import ApprovalRow
from lockgate.system.folders import Folders

Which = Literal["pending", "past", "all"]


def page(tx: Transaction, now: float, which: Which, session: str, limit: int) -> ApprovalPage:
    """One page of questions. Those that wait stand oldest first, and the others newest first.

    Args:
        tx: The transaction.
        now: The store's time.
        which: Which questions are listed.
        session: The session; empty for all.
        limit: How many questions the page has at most.
    """
    rows = tx.approvals(session=session)
    waiting = [row for row in rows if state_of(row, now) == "pending"]
    past = [row for row in reversed(rows) if state_of(row, now) != "pending"]
    chosen = {"pending": waiting, "past": past, "all": [*waiting, *past]}[which]
    return ApprovalPage(
        items=[ApprovalSummary(**_summary(row, now)) for row in chosen[:limit]],
        pending=len(waiting),
        now=record_values.instant(now),
    )


def empty_page(now: float) -> ApprovalPage:
    """The page of a store that does not exist yet."""
    return ApprovalPage(items=[], pending=0, now=record_values.instant(now))


def state_of(row: ApprovalRow, now: float) -> ApprovalState:
    """The state of a question now. The store learns that one has expired only when somebody asks for it."""
    state: Any = row.state
    return "expired" if state in ("pending", "approved") and row.is_over(now) else state


def find(tx: Transaction | None, approval: str) -> ApprovalRow:
    """The question of an id.

    Raises:
        RequestRefused: There is none.
    """
    row = tx.approval(approval) if tx is not None else None
    if row is None:
        raise RequestRefused(404, "there is no question with this id")
    return row


def digest_of(row: ApprovalRow) -> str:
    """Digest of all that is shown of a question and of what it is bound to. Its state does not count."""
    shown = [*row[: row._fields.index("about")], row.about, row.asked_at, row.expires_at]
    text = json.dumps(shown, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(b"lockgate approval shown\n" + text.encode()).hexdigest()


def whole(where: Folders, row: ApprovalRow, now: float) -> Approval:
    """One question with all that a person has to see before they answer."""
    about = row.about
    effects = calls.effects(about)
    given = record_values.part(about.get(WHOLE if _is_whole(row) else "input"))
    cwd, tool = record_values.text(about.get("cwd")), record_values.text(about.get("tool"))
    return Approval(
        **_summary(row, now),
        call=mark_effects(where, tool, given, cwd, effects, whole=_is_whole(row)),
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
    """Whether the whole call was kept. Another gate may have written something that is no object."""
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
    """Approve exactly the call that was shown.

    Args:
        store: The store.
        state: The state folder.
        approval: The question's id.
        shown: The digest of what the person has looked at.
        reason: What they say.
        caller: Who says so.

    Raises:
        RequestRefused: It is not open any more, is not what was shown, or was not shown whole.
    """
    row = _open(store, approval)
    if not hmac.compare_digest(shown, digest_of(row)):
        raise RequestRefused(409, "this is not what was shown: look at it again", code="changed", state="pending")
    if not _is_whole(row):
        raise RequestRefused(
            409, "this call is not kept whole, so that it can only be denied", code="not_whole", state="pending"
        )
    return _answer(store, state, row, caller, approve=True, reason=reason)


def deny(store: Store, state: str, approval: str, reason: str, caller: ApiCaller) -> ApprovalRow:
    """Refuse a call.

    Raises:
        RequestRefused: It is not open any more.
    """
    row = _open(store, approval)
    return _answer(store, state, row, caller, approve=False, reason=reason)


def _open(store: Store, approval: str) -> ApprovalRow:
    with store.reading() as tx:
        row = find(tx, approval)
    if state_of(row, store.clock()) != "pending":
        raise _conflict(row, store.clock())
    return row


def _answer(
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
    code: ProblemCode = "already_decided" if state not in ("expired", "changed") else state
    by = f" by {row.decided_by}" if row.decided_by else ""
    return RequestRefused(409, f"this question is not open any more: it is {state}{by}", code=code, state=state)
