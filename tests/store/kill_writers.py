"""Kill writers at random moments and look at what they leave. Arguments: folder, how many."""

from __future__ import annotations

import os
import random
import signal
import sys
import time

from lockgate.core.model import Label, Subject, Taint
from lockgate.store.audit.chain import verify
from lockgate.store.rows import SessionRow
from lockgate.store.sqlite.put_back import _KILLED
from lockgate.store.sqlite.store import SqliteStore

PER_FOLDER = 5
"""So many writers are killed one after another on one folder, so that also leftovers are met and beginnings hit."""


def write(folder: str, writer: int, answers: int) -> None:
    store = SqliteStore.open(folder)
    number = 0
    while True:
        number += 1
        with store.transaction() as tx:
            tx.put_session(SessionRow("s", seen_at=float(number)))
            tx.add_taints(Subject("s"), [Taint(Label.UNTRUSTED, "x", "Bash", f"{writer}-{number}", 1.0)])
            tx.append_audit(1.0, {"call": f"{writer}-{number}", "filler": "x" * random.randrange(3000)})
        os.write(answers, f"{writer}-{number}\n".encode())


def kill_one(folder: str, writer: int) -> list[str]:
    """Start a writer, kill it after a moment, and return what it answered."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            write(folder, writer, writing)
        finally:
            os._exit(1)
    os.close(writing)
    time.sleep(random.random() ** 2 * 0.02)
    os.kill(pid, signal.SIGKILL)
    with os.fdopen(reading) as pipe:
        answered = pipe.read().split("\n")[:-1]
    status = os.waitpid(pid, 0)[1]
    assert os.WIFSIGNALED(status), "the writer failed by itself"
    return answered


def check(folder: str, answered: list[str]) -> None:
    store = SqliteStore.open(folder)
    with store.transaction() as tx:
        rows = tx.audit()
        found = verify(rows, tx.audit_head(), store.key)
        assert found.ok, found
        # One that is killed between its announcement and its commit leaves its label, and a record of that.
        kills = [row for row in rows if '"event":"put-back"' in row.body]
        assert all(_KILLED in row.body for row in kills), "a kill looks like a state that was put back"
        rows = [row for row in rows if row not in kills]
        labelled = {taint.call_id for taint in tx.taints(Subject("s")) if taint.call_id}
        assert tx.label_contradictions() == [], "a kill looks like a forgery"
        recorded = {row.body.split('"call":"', 1)[1].split('"', 1)[0] for row in rows}
    store.close()
    assert labelled == recorded, "a label without its record, or a record without its label"
    assert recorded >= set(answered), f"lost: {set(answered) - recorded}"


def main() -> None:
    top, kills = sys.argv[1], int(sys.argv[2])
    random.seed(1)
    answered: list[str] = []
    total = before = 0
    for writer in range(kills):
        folder = os.path.join(top, f"state{writer // PER_FOLDER}")
        if writer % PER_FOLDER == 0:
            answered = []
        new = kill_one(folder, writer)
        before += not new
        total += len(new)
        answered += new
        check(folder, answered)
    print(f"kills={kills} answered={total} before_any_answer={before}")


main()
