"""The process that notifies a person of a question.

``lockgate.gate.approvals.notification_text`` starts it, and nobody waits for it.

::

    /abs/python -I -S /abs/lockgate/gate/approvals/notify_process.py STATE < {"approval": ID, "options": {...}}

It lets go of the process that started it, so that neither that one's end nor a signal to its group ends it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lockgate.store.protocol import Store
    from lockgate.store.rows import ApprovalRow

_BUSY = 20.0
"""Seconds to wait for other processes that use the store: nobody waits for this one."""


def main(state: str) -> None:
    """Detach, tell the person each way that standard input says, and put into the audit what came of it."""
    given = json.loads(sys.stdin.buffer.read())
    os.setsid()  # before anybody stops waiting: what comes next may be a signal to the group that this was in
    if os.fork():
        os._exit(0)
    try:
        for way in ("notify_command", "webhook"):
            # Each by itself: a program that hangs must not keep a server from being told.
            if given["options"].get(way) and not os.fork():
                _tell(state, str(given["approval"]), way, given["options"][way])
                break
    finally:
        os._exit(0)


def _tell(state: str, approval: str, way: str, how: Any) -> None:
    from lockgate.gate.approvals import notification_text, notifiers
    from lockgate.store.opening import open_existing

    store = open_existing(state, busy_seconds=_BUSY)
    row = _open_question(store, approval) if store is not None else None
    if store is None or row is None:
        return
    message = notification_text.message(row)
    if way == "webhook":
        _send_and_note(
            store, row, way, lambda: notifiers.post(how, message, lambda: bool(_open_question(store, approval)))
        )
    else:
        _send_and_note(store, row, way, lambda: notifiers.run_command(how, message))


def _open_question(store: Store, approval: str) -> ApprovalRow | None:
    with store.reading() as tx:
        row = tx.approval(approval)
    return row if row is not None and row.state == "pending" and not row.is_over(store.clock()) else None


def _send_and_note(store: Store, row: ApprovalRow, way: str, send: Callable[[], object]) -> None:
    """Send it, and record whether that worked: else nobody would know why nobody came."""
    from lockgate.core.errors import LockgateError
    from lockgate.core.events import Context
    from lockgate.core.model import Subject
    from lockgate.store.audit.record import event_record

    problem = ""
    try:
        send()
    except LockgateError as error:
        problem = str(error)
    context = Context(row.client, Subject(row.session, row.agent))
    with store.transaction() as tx:
        tx.append_audit(
            store.clock(), event_record(context, "notified", {"approval": row.approval, "by": way, "problem": problem})
        )


if __name__ == "__main__":
    # Appended, so that nothing beside the package can stand in for a module of the standard library.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))))
    main(sys.argv[1])
