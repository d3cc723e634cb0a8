"""One of a crowd: note and settle calls of one session, opening the store anew for each event, as hooks do.

Arguments: folder, which writer, how many calls.
"""

from __future__ import annotations

import sys
import time

from lockgate.events import Context
from lockgate.model import Analysis, Effect, EffectKind, Label, Subject, ToolCall
from lockgate.session import ensure_subject, expect, finished
from lockgate.store.sqlite import SqliteStore


def analysis() -> Analysis:
    return Analysis((Effect(EffectKind.INGEST, "a page", "test:page", "it is a test", gives=Label.UNTRUSTED),))


def main() -> None:
    folder, writer, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    subject = Subject("s", f"a{writer % 4}" if writer % 4 else "")
    context = Context("test", subject)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(count):
        call = ToolCall("WebFetch", {}, call_id=f"{writer}-{number}")
        store = SqliteStore.open(folder)
        with store.transaction() as tx:
            ensure_subject(tx, context, time.time())
            expect(tx, subject, call, analysis(), "0" * 64, time.time())
        store.close()
        store = SqliteStore.open(folder)
        with store.transaction() as tx:
            finished(tx, subject, call, "text", time.time(), digest="0" * 64, fresh=analysis)
            tx.append_audit(time.time(), {"call": call.call_id})
        store.close()
    print("done", flush=True)


main()
