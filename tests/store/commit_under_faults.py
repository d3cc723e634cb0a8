"""Writes labels and records while its database comes and goes. Arguments: state folder, name, seconds.

Each write that was answered is told on standard output, at once; a refusal as ``!`` and its reason.
"""

from __future__ import annotations

import sys
import time

from lockgate.core.errors import StoreError
from lockgate.core.model import Label, Subject, Taint
from lockgate.store.opening import open_store
from lockgate.store.rows import SessionRow


def main() -> None:
    folder, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
    store = open_store(folder, busy_seconds=1.0)
    until = time.monotonic() + seconds
    number = 0
    while time.monotonic() < until:
        number += 1
        call = f"{name}-{number}"
        try:
            with store.transaction() as tx:
                seen = tx.session("s") or SessionRow("s")
                tx.put_session(seen._replace(seen_at=seen.seen_at + 1))
                tx.add_taints(Subject("s"), [Taint(Label.UNTRUSTED, "x", "Bash", call, 1.0)])
                tx.append_audit(store.clock(), {"call": call, "filler": "x" * 500})
            print(call, flush=True)
        except StoreError as error:
            print(f"! {error}", flush=True)
            time.sleep(0.01)
    store.close()


main()
