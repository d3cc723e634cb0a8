"""Everything that can break a gate, again and again, while agents work: is an answer ever wrong, is anything lost?

::

    python evals/faults/run.py [--minutes 10] [--agents 10] [--only WORD] [--seed N] [--json FILE]

Agents run real hooks through sessions of which every verdict is known (``lockgate.cli.bench.run.stories``). Meanwhile
each fault in turn is injected and mended: first on a host with a store of its own, on a small file system of its own
(in a mount namespace, which needs root or user namespaces), then on two hosts that share a PostgreSQL server. After
each turn the stores are looked at. Exits with 1 where an answer was less strict than it had to be, a label or a record
is missing, or a chain does not hold.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))

from agents import Agents
from book import Book
from breaking import OWN_STORE, of_database
from faults import Injected
from world import Host

from support.postgres import Server, running
from support.prepared import give_state
from support.shared_states import share

DISK = "512m"
_INSIDE = "FAULTS_INSIDE"
"""Set in the mount namespace."""
_PATIENCE = 30.0
_SHARED = 0.3
"""The share of the time that is for the hosts with a shared store."""


def comes_back(hosts: Sequence[Host]) -> None:
    """Wait until every host's gate answers."""
    until = time.monotonic() + _PATIENCE
    while not all(host.answers() for host in hosts):
        if time.monotonic() > until:
            raise TimeoutError("a gate does not come back")
        time.sleep(0.05)


def turn(fault: Injected, hosts: Sequence[Host], book: Book, chance: random.Random) -> None:
    """Inject a fault some times, and look at what the stores hold."""
    line = book.turn(fault.name)
    for _ in range(fault.times):
        with fault.inject(chance.choice(hosts), chance, book):
            line.injected += 1
            time.sleep(fault.lasts)
        time.sleep(0.2)
    comes_back(hosts)
    readers, answered = book.known()
    for host in hosts:
        holds, lost, recorded = host.looked_at(readers)
        line.chains.append(holds)
        line.lost |= lost
        answered -= recorded  # by the host that was asked
    line.unrecorded |= answered


def rounds(faults: Sequence[Injected], hosts: Sequence[Host], book: Book, until: float, seed: int) -> None:
    """Every fault once, and again in another order while there is time."""
    chance = random.Random(seed)
    began = time.monotonic()
    order = list(faults)
    while True:
        for fault in order:
            turn(fault, hosts, book, chance)
            print(f"{time.monotonic() - began:4.0f} s: {fault.name}", file=sys.stderr, flush=True)
            if time.monotonic() > until and all(each.name in book.lines for each in faults):
                return
        chance.shuffle(order)


@contextmanager
def host_with_its_own_store(folder: Path) -> Iterator[list[Host]]:
    """A host whose state is on a small file system."""
    host = Host(folder / "own")
    host.state.mkdir(mode=0o700)
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK},mode=700", "lockgate-faults", str(host.state)]
    subprocess.run(mount, check=True)
    give_state(folder / "prepared")
    shutil.copytree(folder / "prepared", host.state, dirs_exist_ok=True)
    try:
        with host:
            comes_back([host])
            yield [host]
    finally:
        subprocess.run(["umount", "--lazy", str(host.state)], check=True)


@contextmanager
def hosts_that_share(folder: Path, server: Server) -> Iterator[list[Host]]:
    """Two hosts, each with a gate, on one database."""
    hosts = [Host(folder / name) for name in ("north", "south")]
    for host in hosts:
        give_state(host.state)
    share([host.state for host in hosts], server.url(server.store_database()))
    with hosts[0], hosts[1]:
        comes_back(hosts)
        yield hosts


def measure(given: argparse.Namespace, book: Book) -> None:
    """Break everything, for so long."""
    began, seconds = time.monotonic(), given.minutes * 60
    with tempfile.TemporaryDirectory(prefix="lockgate-faults-") as name, running() as server:
        folder = Path(name)
        parts = (
            (OWN_STORE, host_with_its_own_store(folder), 1 - _SHARED),
            (of_database(server), hosts_that_share(folder, server), 1.0),
        )
        for mark, (some, made, share_of_time) in zip("os", parts, strict=True):
            faults = [fault for fault in some if given.only in fault.name]
            if not faults:
                continue
            book.begin(faults[0].name)
            with made as hosts, Agents(hosts, book, mark, given.agents):
                rounds(faults, hosts, book, began + seconds * share_of_time, given.seed)


def main(words: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=10.0, help="each fault is injected at least once")
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--only", default="", help="only faults with this in their name")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", help="a file for the figures")
    given = parser.parse_args(words)
    if not os.environ.get(_INSIDE):
        unshare = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        return subprocess.run([*unshare, sys.executable, __file__, *words], env={**os.environ, _INSIDE: "1"}).returncode
    book = Book()
    try:
        measure(given, book)
    finally:
        print(book.table())
    if given.json:
        Path(given.json).write_text(f"{book.figures()}\n", encoding="utf-8")
    for name, line in book.lines.items():
        for what in (*line.wrong[:3], *sorted(line.lost)[:3], *sorted(line.unrecorded)[:3]):
            print(f"{name}: {what}", file=sys.stderr)
    return 0 if all(line.fine for line in book.lines.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
