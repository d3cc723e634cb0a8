"""Many questions at once, answered by two at random or by nobody, while gates are killed and started again."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from approvers.approval_waiter import call_of, ran
from lockgate.store.audit.chain import verify
from lockgate.store.sqlite.store import SqliteStore
from support.stress import times

HERE = Path(__file__).parent
CALLS = times(125)
GATES = 5
EXPIRE = times(15)
"""Seconds that a person has: time enough for all questions to be open at once on a loaded machine."""
PATIENCE = 300.0


def _start(*arguments: object) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, *map(str, arguments)])


@pytest.mark.stress
def test_each_question_ends_once_and_nothing_runs_unapproved(tmp_path: Path) -> None:
    state, stop = tmp_path / "state", tmp_path / "stop"
    (tmp_path / "config").mkdir()
    config = f"table: {{egress: ask}}\napprovals: {{headless: wait, expire_seconds: {EXPIRE}}}\n"
    (tmp_path / "config" / "lockgate.yaml").write_text(config)
    SqliteStore.open(str(state)).close()
    choose = random.Random(7)
    share = CALLS // GATES
    logs = [tmp_path / f"ran.{gate}" for gate in range(GATES)]

    def gate(number: int) -> subprocess.Popen[bytes]:
        first = number * share
        return _start(HERE / "approval_waiter.py", state, logs[number], first, first + share)

    gates = [gate(number) for number in range(GATES)]
    people: list[subprocess.Popen[bytes]] = []
    kills, most = 0, 0
    try:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and any(process.poll() is None for process in gates):
            waiting = _count(state, "pending")
            most = max(most, waiting)
            if not people and most >= CALLS:
                people = [_start(HERE / "approval_decider.py", state, stop, seed) for seed in (1, 2)]
            if people and kills < 12:
                number = choose.randrange(GATES)
                if gates[number].poll() is None:
                    gates[number].send_signal(signal.SIGKILL)
                    gates[number].wait()
                    gates[number] = gate(number)
                    kills += 1
            time.sleep(0.2)
        assert [process.wait(timeout=5) for process in gates] == [0] * GATES
    finally:
        stop.write_text("")
        for process in (*gates, *people):
            if process.poll() is None and process in gates:
                process.kill()
            process.wait(timeout=60)
    assert most >= CALLS, "all of them waited at once"
    assert kills >= 5
    _hold(state, logs)


def _count(state: Path, kind: str) -> int:
    store = SqliteStore.open(str(state), busy_seconds=60)
    try:
        with store.reading() as tx:
            return len(tx.approvals(state=kind))
    finally:
        store.close()


def _hold(state: Path, logs: list[Path]) -> None:
    """What ran, held against the store and against the audit."""
    store = SqliteStore.open(str(state), busy_seconds=60)
    with store.reading() as tx:
        rows, audit = tx.approvals(), tx.audit()
        assert verify(audit, tx.audit_head(), store.key).ok
    store.close()
    records = [json.loads(row.body) for row in audit]
    runs = Counter(name for log in logs for name in ran(log))
    assert all(count == 1 for count in runs.values()), "nothing ran twice"

    final = {"used", "denied", "expired", "changed"}
    assert {row.state for row in rows} <= final
    used = {row.call_id for row in rows if row.state == "used"}
    # A gate that was killed between the decision and the run has not run it; never the other way round.
    assert set(runs) <= used
    assert used - set(runs) <= _killed_in_between(records, used, set(runs))

    yes = Counter(record["approval"] for record in records if record["event"] == "approve")
    no = Counter(record["approval"] for record in records if record["event"] == "deny")
    assert set(yes.values()) | set(no.values()) <= {1}
    assert not set(yes) & set(no), "one answer to each"
    by_id = {row.approval: row for row in rows}
    for row in rows:
        if row.state == "used":
            assert row.approval in yes
        if row.state == "denied":
            assert row.approval in no
        if row.call_id in runs:
            assert any(each.call_id == row.call_id and each.state == "used" for each in rows)
    ended = Counter(
        record["approval"] for record in records if record["event"] == "answered" and record["state"] == "used"
    )
    assert set(ended.values()) <= {1}, "a yes was used once"
    assert set(ended) == {name for name, row in by_id.items() if row.state == "used"}
    digests = {row.call_id: row.digest for row in rows}
    assert len(set(digests.values())) == CALLS
    assert set(digests) == {call_of(number).call_id for number in range(CALLS)}
    states = Counter(row.state for row in rows)
    assert min(states["used"], states["denied"], states["expired"]) > CALLS // 25, states


def _killed_in_between(records: list[dict[str, object]], used: set[str], ran_ids: set[str]) -> set[str]:
    """Calls that were let run more often than they ran: each was decided again after its gate was started again."""
    decided = Counter(
        str(record["call"]) for record in records if record["event"] == "answered" and record["state"] == "used"
    )
    return {name for name in used - ran_ids if decided[name] == 1}
