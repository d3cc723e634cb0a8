"""How decisions a second grow with the number of gates: on one PostgreSQL database, and with SQLite in a folder each.

::

    python evals/load/curve.py [--gates 1,2,4,8] [--seconds 4] [--rounds 3] [--json FILE] [--plot FILE.svg]

Each gate is a process with a state folder and a chain of records of its own, and has a dozen sessions that ask as fast
as they are answered. Told is the median of the rounds, and what gates, server and this load used of the processors, so
that it is seen which of them is the limit. Every answer is checked, and at the end every chain. The server is started
in a folder that is thrown away, as it is installed by ``scripts/setup_system.sh``, and waits for the disk at each
commit.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

from lockgate.cli.bench.run import gates
from lockgate.cli.bench.run.load import Load
from lockgate.cli.bench.run.plot import Curve, curves
from lockgate.cli.bench.run.resident import ready
from lockgate.store.audit.chain import verify_store
from lockgate.store.files import ELSEWHERE, publish
from lockgate.store.opening import open_store
from lockgate.system import caller
from lockgate.system.folders import Folders

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from support.postgres import Server

LANES = 12
"""Sessions of each gate."""
_MOST = 3000
DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


class Plan(NamedTuple):
    """What is measured."""

    gates: tuple[int, ...]
    seconds: float
    rounds: int


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


class Spent(NamedTuple):
    """What each side has used of a processor so far, in seconds."""

    gates: float
    server: float
    client: float

    @classmethod
    def so_far(cls, running: Sequence[gates.BenchGate], server: int) -> Spent:
        """As the system tells it; of the server and all of its processes, those too that have ended."""
        return cls(sum(gate.processor_seconds() for gate in running), _family_seconds(server), time.process_time())

    def since(self, before: Spent, answered: int) -> dict[str, float]:
        """Milliseconds for each answer."""
        each = 1000 / max(answered, 1)
        return {
            f"{name}_processor_ms": round((now - then) * each, 3)
            for name, now, then in zip(self._fields, self, before, strict=True)
        }


def _family_seconds(pid: int) -> float:
    """What a process and its children have used of a processor, as the system tells; 0.0 where it does not."""
    if not pid:
        return 0.0
    ticks = 0
    for folder in Path("/proc").glob("[0-9]*"):
        found = caller.process(int(folder.name))
        if found is not None and folder.name == str(pid):
            ticks += found.ticks + found.ticks_of_children
        elif found is not None and found.parent == pid:
            ticks += found.ticks
    return ticks / float(os.sysconf("SC_CLK_TCK"))


def measure(where: Sequence[Folders], plan: Plan, mark: str, server: int) -> dict[str, Any]:
    """Put so many gates under load at once, several times; the median of each figure."""
    with ExitStack() as stack:
        running = [stack.enter_context(gates.run_gate(each)) for each in where]
        rounds = [once(running, plan.seconds, f"{mark}{turn}", server) for turn in range(plan.rounds)]
    found = {name: round(statistics.median(each[name] for each in rounds), 3) for name in rounds[0]}
    return {"gates": len(running), **found, "load": [round(load, 1) for load in os.getloadavg()]}


def once(running: Sequence[gates.BenchGate], seconds: float, mark: str, server: int) -> dict[str, float]:
    """One round of load on gates that run."""
    each = int(_MOST * seconds / len(running) / LANES)
    # A session's id is another one in each round: on the database they would go on otherwise.
    sources = [
        ready(gate.client, f"{mark}x{len(running)}x{number}x{lane}", each)
        for lane in range(LANES)
        for number, gate in enumerate(running)
    ]
    before = Spent.so_far(running, server)
    seen = Load([gate.path for gate in running]).run_closed(sources, time.perf_counter() + seconds)
    spent = Spent.so_far(running, server).since(before, seen.answered)
    if seen.wrong:
        raise SystemExit(f"{len(seen.wrong)} wrong answers: {seen.wrong[0]}")
    return {
        "per_second": round(seen.rate),
        "client_p50_ms": round(seen.wait(0.5), 2),
        "client_p99_ms": round(seen.wait(0.99), 2),
        **spent,
        # All sides together: as many as there are means that the machine is the limit.
        "processors_used": round(sum(spent.values()) * seen.rate / 1000, 2),
        "declined": seen.declined,
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


def curve(plan: Plan, folder: str, url: str, server: int) -> list[dict[str, Any]]:
    """From the fewest gates to the most."""
    like = gates.folders_in(os.path.join(folder, "like"))
    if not os.path.isdir(like.state):
        gates.prepare(like)
    where = [installation(folder, number, url, like) for number in range(max(plan.gates))]
    found = []
    for count in plan.gates:
        found.append(measure(where[:count], plan, "p" if url else "s", server))
        print(json.dumps({"store": "PostgreSQL" if url else "SQLite", **found[-1]}), file=sys.stderr, flush=True)
    if not chains_hold(where):
        raise SystemExit("a chain does not hold")
    return found


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gates", default="1,2,4,8", help="numbers of gates, with commas between")
    parser.add_argument("--seconds", type=float, default=4.0, help="of each round")
    parser.add_argument("--rounds", type=int, default=3, help="of each number of gates; the median is told")
    parser.add_argument("--json", help="a file for the figures")
    parser.add_argument("--plot", help="a file for the drawing")
    given = parser.parse_args(words)
    plan = Plan(tuple(int(count) for count in given.gates.split(",")), given.seconds, given.rounds)
    folder = tempfile.mkdtemp(prefix="lockgate-load-")
    server = Server(**DURABLE)
    try:
        server.start()
        url = server.url(server.store_database())
        found = {
            "PostgreSQL": curve(plan, folder, url, server.pid),
            "SQLite": curve(plan, folder, "", 0),
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
