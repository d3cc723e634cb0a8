"""One resident gate under load: how many decisions a second, how soon, whether each is right, whether the audit holds.

::

    python evals/load/run.py [--sessions 50] [--questions 30000] [--rate N] [--json FILE]

Without ``--rate`` so many sessions ask as fast as they are answered. With it, questions come at that rate whether or
not there are answers, and what each waits counts from when it was due. Each question has the verdict that it must get.
Everything is on this machine, in a folder that is thrown away.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import Any

from lockgate.cli.bench.run import gates, stories
from lockgate.cli.bench.run.load import Load, LoadResult
from lockgate.cli.bench.run.stories import BenchRequest, Client
from lockgate.store.audit.chain import verify_store
from lockgate.store.opening import open_store
from lockgate.system.folders import Folders


def one_after_another(client: Client, first: int, count: int) -> Iterator[BenchRequest]:
    """The questions of whole sessions, one session after another."""
    for number in range(first, first + count):
        yield from stories.session(client, f"s{number:06d}")


def side_by_side(client: Client, sessions: int, beside: int) -> Iterator[BenchRequest]:
    """The questions of many sessions, so many beside each other, each one's in order."""
    lanes = [one_after_another(client, lane * sessions, sessions // beside) for lane in range(beside)]
    for row in zip_longest(*lanes):
        yield from (question for question in row if question is not None)


def audit_of(where: Folders) -> dict[str, Any]:
    """Whether the audit chain holds, and how many records it has."""
    store = open_store(where.state)
    try:
        with store.reading() as tx:
            found = verify_store(tx, store.key)
            return {"holds": found.ok, "records": tx.audit_head().seq}
    finally:
        store.close()


def told(seen: LoadResult, gate: gates.BenchGate, spent: float) -> dict[str, Any]:
    """What is to be said of a load on one gate."""
    status = gate.status()
    return {
        "seconds": round(seen.seconds, 2),
        "answered": seen.answered,
        "per_second": round(seen.rate),
        "client_p50_ms": round(seen.wait(0.5), 3),
        "client_p99_ms": round(seen.wait(0.99), 3),
        "gate_p50_ms": status["p50_ms"],
        "gate_p99_ms": status["p99_ms"],
        "gate_processor_ms": round(spent / max(seen.answered, 1) * 1000, 3),
        "memory_mb": status["memory_mb"],
        "verdicts": dict(seen.verdicts),
        "wrong": len(seen.wrong),
        "declined": seen.declined,
        "asked_late": seen.late,
    }


def measure(sessions: int, questions: int, rate: float) -> dict[str, Any]:
    """Load one gate."""
    with tempfile.TemporaryDirectory(prefix="lockgate-load-") as folder:
        where = gates.folders_in(folder)
        gates.prepare(where)
        with gates.run_gate(where) as gate:
            each = max(questions // len(stories.STORY) // sessions, 1)
            if rate:
                asked = list(side_by_side(gate.client, each * sessions, sessions))
                before = gate.processor_seconds()
                seen = Load([gate.path]).open(asked, rate)
            else:
                sources = [list(one_after_another(gate.client, lane * each, each)) for lane in range(sessions)]
                before = gate.processor_seconds()
                seen = Load([gate.path]).run_closed(sources)
            found = told(seen, gate, gate.processor_seconds() - before)
        found["audit"] = audit_of(where)
        for wrong in sorted(set(seen.wrong))[:5]:
            print(wrong, file=sys.stderr)
        return found


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--questions", type=int, default=30_000)
    parser.add_argument("--rate", type=float, default=0.0, help="questions a second; 0: as fast as they are answered")
    parser.add_argument("--json", help="a file for the figures")
    given = parser.parse_args(words)
    found = measure(given.sessions, given.questions, given.rate)
    found["load"] = os.getloadavg()[0]
    text = json.dumps(found, indent=2)
    print(text)
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            file.write(text + "\n")
    return 0 if not found["wrong"] and not found["declined"] and found["audit"]["holds"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
