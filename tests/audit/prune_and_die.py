"""Append, archive and cut without end, to be killed at any moment. Arguments: state folder, folder of archives."""

from __future__ import annotations

import os
import sys

from lockgate.store.audit.archives import archive_name, write_archive
from lockgate.store.audit.pruning import chain_beginning, cut, make_checkpoint
from lockgate.store.sqlite.store import SqliteStore


def main() -> None:
    store = SqliteStore.open(sys.argv[1], busy_seconds=20)
    os.write(1, b"ready\n")
    while True:
        with store.transaction() as tx:
            for number in range(20):
                now = float(tx.append_audit(1.0, {"n": number, "filler": "x" * 2000}).seq)
        with store.reading() as tx:
            through = tx.audit_head().seq - 7
            end = make_checkpoint(tx, store.key, through, now)
            path = os.path.join(sys.argv[2], f"{os.getpid()}-{archive_name(tx.audit_checkpoint().seq + 1, end)}")
            write_archive(path, chain_beginning(tx, through), end)
        os.write(1, f"{path}\n".encode())
        with store.transaction() as tx:
            cut(tx, store.key, through, now, {})
        os.write(1, b"cut\n")


main()
