"""How decisions a second grow with the number of gates: on one PostgreSQL database, and with SQLite in a folder each.

::

    python evals/load/curve.py [--gates 8] [--seconds 4] [--json FILE] [--plot FILE.svg]

Each gate is a process with a state folder and a chain of records of its own, and has a dozen sessions that ask as fast
as they are answered. Every answer is checked, and at the end every chain. The server is started in a folder that is
thrown away, as it is installed by ``scripts/setup_system.sh``, and waits for the disk at each commit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from lockgate.audit.chain import verify_store
from lockgate.benchmark import gates
from lockgate.benchmark.load import Load
from lockgate.benchmark.plot import Curve, curves
from lockgate.benchmark.resident import ready
from lockgate.folders import Folders
from lockgate.store.files import publish
from lockgate.store.opening import ELSEWHERE, open_store

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.postgres import Server

LANES = 12
"""Sessions of each gate."""
_MOST = 3000
DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


def installation(folder: str, number: int, url: str, like: Folders) -> Folders:
    """An installation; with a key of its own on the database, where an address is given.

    Compiling the pattern library takes seconds, and gives the same for all.
    """
    where = gates.folders_in(os.path.join(folder, f"{'shared' if url else 'own'}{number}"))
    if not url:
        gates.prepare_like(where, like)
        return where
    os.makedirs(where.state, mode=0o700)
    shutil.copytree(os.path.join(like.state, "patterns"), os.path.join(where.state, "patterns"))
    publish(os.path.join(where.state, ELSEWHERE), lambda draft: written(draft, json.dumps({"url": url})))
    gates.prepare(where)
    return where


def written(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def measure(where: Sequence[Folders], seconds: float, mark: str) -> dict[str, Any]:
    """Put so many gates under load at once."""
    with ExitStack() as stack:
        running = [stack.enter_context(gates.running(each)) for each in where]
        each = int(_MOST * seconds / len(running) / LANES)
        # A session's id is another one at each measurement: on the database they would go on otherwise.
        sources = [
            ready(gate.client, f"{mark}{len(running)}x{number}x{lane}", each)
            for lane in range(LANES)
            for number, gate in enumerate(running)
        ]
        before = sum(gate.processor_seconds() for gate in running)
        seen = Load([gate.path for gate in running]).closed(sources, time.perf_counter() + seconds)
        spent = sum(gate.processor_seconds() for gate in running) - before
        if seen.wrong:
            raise SystemExit(f"{len(seen.wrong)} wrong answers: {seen.wrong[0]}")
        return {
            "gates": len(running),
            "per_second": round(seen.rate),
            "client_p50_ms": round(seen.wait(0.5), 2),
            "client_p99_ms": round(seen.wait(0.99), 2),
            "gates_processor_ms": round(spent / max(seen.answered, 1) * 1000, 3),
            "declined": seen.declined,
            "load": round(os.getloadavg()[0], 1),
        }


def chains_hold(where: Sequence[Folders]) -> bool:
    """Whether the chains of all gates hold."""
    held = []
    for each in where:
        store = open_store(each.state)
        try:
            with store.reading() as tx:
                held.append(verify_store(tx, store.key).ok)
        finally:
            store.close()
    return all(held)


def curve(most: int, seconds: float, folder: str, url: str) -> list[dict[str, Any]]:
    """From one gate to the most."""
    like = gates.folders_in(os.path.join(folder, "like"))
    if not os.path.isdir(like.state):
        gates.prepare(like)
    where = [installation(folder, number, url, like) for number in range(most)]
    found = []
    for count in range(1, most + 1):
        found.append(measure(where[:count], seconds, "p" if url else "s"))
        print(json.dumps({"store": "PostgreSQL" if url else "SQLite", **found[-1]}), file=sys.stderr, flush=True)
    if not chains_hold(where):
        raise SystemExit("a chain does not hold")
    return found


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--plot", help="a file for the drawing")
    given = parser.parse_args(words)
    folder = tempfile.mkdtemp(prefix="lockgate-load-")
    server = Server(**DURABLE)
    try:
        server.start()
        url = server.url(server.store_database())
        found = {
            "PostgreSQL": curve(given.gates, given.seconds, folder, url),
            "SQLite": curve(given.gates, given.seconds, folder, ""),
            "processors": os.cpu_count(),
        }
    finally:
        server.remove()
        shutil.rmtree(folder, ignore_errors=True)
    text = json.dumps(found, indent=2)
    print(text)
    if given.json:
        written(given.json, text + "\n")
    if given.plot:
        written(given.plot, drawing(found))
    return 0


def drawing(found: dict[str, Any]) -> str:
    """The curves."""
    names = {"PostgreSQL": "PostgreSQL, shared", "SQLite": "SQLite, one each"}
    shown = [Curve(names[store], [(row["gates"], row["per_second"]) for row in found[store]]) for store in names]
    note = f"decisions a second, the audit on; gates, server and load share {found['processors']} processors"
    return curves("Decisions with more gates", note, "gates", shown)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
