"""A person with many hands, as a process: answers what waits, at random, until it is told to stop.

    python approval_decider.py STATE STOP SEED

Two of them at once also try to answer the same question.
"""

from __future__ import annotations

import os
import random
import sys
import time

from lockgate.core.errors import ApprovalError, StoreError
from lockgate.gate.approvals.answering import answer
from lockgate.store.sqlite.store import SqliteStore

if __name__ == "__main__":
    state, stop, seed = sys.argv[1:]
    choose = random.Random(int(seed))
    store = SqliteStore.open(state, busy_seconds=60.0)
    while not os.path.exists(stop):
        with store.reading() as tx:
            rows = tx.approvals(state="pending")
        # Every fifth is left to expire.
        rows = [row for row in rows if int(row.call_id.rpartition("-")[2]) % 5]
        if not rows:
            time.sleep(0.05)
            continue
        for row in choose.sample(rows, min(8, len(rows))):
            try:
                answer(store, state, row.approval, approve=choose.random() < 0.6, by=f"person {seed}")
            except (ApprovalError, StoreError):
                continue  # the other one was faster, or its time was over
        time.sleep(choose.random() * 0.05)
