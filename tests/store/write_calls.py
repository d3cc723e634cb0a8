"""One of a crowd: note and settle calls of one session, in a process of its own for each event, as hooks do.

Arguments: folder, which writer, how many calls.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable

from lockgate.core.events import Context
from lockgate.core.model import Analysis, Effect, EffectKind, Label, Subject, ToolCall
from lockgate.gate.session import ensure_subject, expect, settle_result
from lockgate.store.opening import open_store
from lockgate.store.protocol import Transaction


def analysis() -> Analysis:
    return Analysis((Effect(EffectKind.INGEST, "a page", "test:page", "it is a test", gives=Label.UNTRUSTED),))


def event(folder: str, act: Callable[[Transaction], object]) -> None:
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            # How long a hook may wait is another question; here nothing may be lost however busy the machine is.
            with open_store(folder, busy_seconds=60).transaction() as tx:
                act(tx)
            code = 0
        finally:
            os._exit(code)
    assert os.waitpid(pid, 0)[1] == 0


def main() -> None:
    folder, writer, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    subject = Subject("s", f"a{writer % 4}" if writer % 4 else "")
    context = Context("test", subject)
    if os.path.exists(os.path.join(folder, "store.json")):
        import psycopg_pool  # noqa: F401 - once, and not by each event
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        call = ToolCall("WebFetch", {}, call_id=f"{writer}-{number}")

        def before(tx: Transaction, call: ToolCall = call) -> None:
            ensure_subject(tx, context, time.time())
            expect(tx, subject, call, analysis(), "0" * 64, time.time())

        def after(tx: Transaction, call: ToolCall = call) -> None:
            settle_result(tx, subject, call, "text", time.time(), digest="0" * 64, fresh=analysis)
            tx.append_audit(time.time(), {"call": call.call_id, "filler": "x" * 1000})

        event(folder, before)
        event(folder, after)
    print("done", flush=True)


main()
