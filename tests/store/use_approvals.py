"""A gate that wants to use each of many answers. Arguments: state folder, then the ids. Prints those it may use."""

from __future__ import annotations

import sys

from lockgate.core.errors import ApprovalError
from lockgate.core.model import Subject
from lockgate.gate.approvals import questions as approvals
from lockgate.store.opening import open_store


def main() -> None:
    store = open_store(sys.argv[1], busy_seconds=30)
    with store.reading() as tx:
        tx.sessions()
    print("ready", flush=True)
    sys.stdin.readline()
    used = []
    for name in sys.argv[2:]:
        try:
            with store.transaction() as tx:
                row = approvals.settle(
                    tx,
                    name,
                    subject=Subject("s1", "a1"),
                    digest="2" * 64,
                    basis="3" * 64,
                    now=store.clock(),
                    approvers=None,
                )
                tx.append_audit(store.clock(), {"event": "answered", "approval": name, "state": row.state})
        except ApprovalError:
            continue
        if row.state == "used":
            used.append(name)
    store.close()
    print(" ".join(used))


main()
