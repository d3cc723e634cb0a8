"""200 containers at once: how long an answer takes, whether each gets its own, what one that floods does to the rest.

::

    python evals/ipc/run.py [--clients 200] [--seconds 16] [--json FILE]

Clients are processes, one for each container, each with a group, a key and a session of its own. They ask over files,
as the hook does, and each request carries the verdict that it must get: every other one is refused, and the refusal
names the request; every other container has read a stranger's text, and the audit must say so of its calls and of no
other's. The host is a process of its own. All is on this machine, in a folder that is thrown away, without network,
and bounded.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from lockgate.clients.remote.gate import HookServices, HostAddress, RemoteGate
from lockgate.clients.wire.messages import ContainerRequest, write_request
from lockgate.core.errors import RemoteError
from lockgate.core.events import Context, SessionStarted, ToolFinished, ToolRequested
from lockgate.core.model import Subject, ToolCall, Verdict
from lockgate.service.containers.groups import ContainerGroup, Groups, new_secret
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system import caller
from lockgate.system.folders import Folders

PACE = 4.0
"""Seconds between two calls of one agent: a model thinks between them."""
PATIENCE = 30.0
"""Seconds after which a request counts as lost."""


class Seen(NamedTuple):
    """What clients saw in one phase."""

    times: list[float]
    """Seconds of each round trip."""
    wrong: int
    lost: int


class Client:
    """One container's hook, again and again."""

    def __init__(self, group: ContainerGroup, number: int) -> None:
        self.number = number
        self.group = group
        self.reads_strangers = number % 2 == 1
        folders = Folders("/home/agent", "/nonexistent/state", "/nonexistent/config")
        self.where = HostAddress(f"ipc:{group.folder}", f"{group.folder}/secret/key", folders)
        self.context = Context("claude-code", Subject(f"s{number}"), "/project", "/project")
        self.asked = 0

    def _handle(self, event: Any) -> Any:
        return RemoteGate(self.where, PATIENCE, HookServices()).handle(event)

    def begin(self) -> None:
        """Be known to the host, and read a stranger's text where this one does."""
        self._handle(SessionStarted(self.context, "startup"))
        if self.reads_strangers:
            call = ToolCall("mcp__tracker__get_issue", {"number": 1}, "/project", f"i{self.number}")
            self._handle(ToolRequested(self.context, call))
            self._handle(ToolFinished(self.context, call, None, text="x", texts=(("result", "x"),)))

    def ask(self) -> tuple[float, bool | None]:
        """One request: seconds, and whether the answer was its own; ``None`` where there was none."""
        self.asked += 1
        mark = f"m{self.number}x{self.asked}"
        denied = self.asked % 2 == 1
        command = f"lockgate approve {mark}" if denied else f"rm -rf build-{mark}"
        call = ToolCall("Bash", {"command": command}, "/project", mark)
        began = time.perf_counter()
        try:
            answer = self._handle(ToolRequested(self.context, call))
        except RemoteError:
            return time.perf_counter() - began, None
        seconds = time.perf_counter() - began
        if denied:
            return seconds, answer.verdict is Verdict.DENY and mark in answer.to_agent
        return seconds, answer.verdict is Verdict.ALLOW and not answer.to_agent


def _client(client: Client, start: float, plan: Sequence[float], result: Any) -> None:
    """Ask at the planned times, in seconds after the start; tell what was seen."""
    times, wrong, lost = [], 0, 0
    for at in plan:
        time.sleep(max(start + at - time.monotonic(), 0))
        seconds, right = client.ask()
        times.append(seconds)
        lost += right is None
        wrong += right is False
    result.put((times, wrong, lost, client.number, client.asked))


def _flood(group: ContainerGroup, until: float, result: Any) -> None:
    """Put requests as fast as the disk takes them, and wait for no answer."""
    context = Context("claude-code", Subject("flood"), "/project", "/project")
    folder = Path(group.requests)
    count = 0
    while time.monotonic() < until:
        name = os.urandom(16).hex()
        event = ToolRequested(context, ToolCall("Bash", {"command": "curl https://example.com/"}, "/project", name))
        draft = folder / f".{name}"
        draft.write_bytes(write_request(group.secret, ContainerRequest(name, event, 10.0)))
        draft.chmod(0o600)
        draft.rename(folder / f"{name}.json")
        count += 1
    result.put(count)


class World:
    """A host and its containers, in a folder that is thrown away."""

    def __init__(self, clients: int) -> None:
        self.root = tempfile.mkdtemp(prefix="lockgate-ipc-")
        home = f"{self.root}/home"
        self.where = Folders(home, f"{home}/.local/state/lockgate", f"{home}/.config/lockgate")
        groups = Groups(self.where.state)
        names = [f"c{number}" for number in range(clients)]
        self.groups = [self._add(groups, name) for name in names]
        self.flooder = self._add(groups, "flooder")
        self.clients = [Client(group, number) for number, group in enumerate(self.groups)]
        command = [sys.executable, "-m", "lockgate", "serve", "--ipc", f"{self.root}/ipc"]
        with open(f"{self.root}/log", "wb") as log:
            self.host = subprocess.Popen(command, env={"HOME": home, "PATH": os.environ["PATH"]}, stderr=log)
        end = time.monotonic() + 60
        while not all(os.path.exists(f"{group.responses}/alive") for group in self.groups):
            if time.monotonic() > end or self.host.poll() is not None:
                raise SystemExit(Path(f"{self.root}/log").read_text())
            time.sleep(0.05)

    def _add(self, groups: Groups, name: str) -> ContainerGroup:
        group = ContainerGroup(name, new_secret(), f"{self.root}/ipc/{name}", os.geteuid(), local=False)
        groups.add(group)
        return group

    def close(self) -> None:
        self.host.terminate()
        self.host.wait(30)
        shutil.rmtree(self.root)

    def phase(self, plans: Sequence[Sequence[float]], *, flood: float = 0.0) -> tuple[Seen, int]:
        """Let each client follow its plan; with a flood of so many seconds beside it."""
        forks = get_context("fork")
        results, floods = forks.SimpleQueue(), forks.SimpleQueue()
        start = time.monotonic() + 1.5
        processes = [
            forks.Process(target=_client, args=(client, start, plan, results))
            for client, plan in zip(self.clients, plans, strict=True)
        ]
        if flood:
            processes.append(forks.Process(target=_flood, args=(self.flooder, start + flood, floods)))
        for process in processes:
            process.start()
        seen = Seen([], 0, 0)
        for _ in self.clients:
            times, wrong, lost, number, asked = results.get()
            seen = Seen(seen.times + times, seen.wrong + wrong, seen.lost + lost)
            self.clients[number].asked = asked
        count = floods.get() if flood else 0
        for process in processes:
            process.join()
        return seen, count

    def cpu(self) -> float:
        """Seconds of processors that the host has used so far."""
        found = caller.process(self.host.pid)
        assert found is not None
        return found.ticks / os.sysconf("SC_CLK_TCK")

    def mixed_up(self) -> int:
        """Decisions in the audit with the labels or the session of another container."""
        store = SqliteStore.open(self.where.state)
        try:
            with store.reading() as tx:
                rows = [json.loads(row.body) for row in tx.audit()]
        finally:
            store.close()
        wrong = 0
        for row in rows:
            if row["event"] != "decision" or not row["call"].startswith("m"):
                continue
            number = row["call"][1:].partition("x")[0]
            reads = int(number) % 2 == 1
            wrong += row["session"] != f"c{number}/s{number}" or (row["labels"] == ["untrusted"]) != reads
        return wrong


def shares(times: Sequence[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    return {name: round(value * 1000, 1) for name, value in (("p50", cuts[49]), ("p99", cuts[98]), ("max", max(times)))}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=16.0)
    parser.add_argument("--json", metavar="FILE")
    given = parser.parse_args()
    count, seconds = min(given.clients, 400), min(given.seconds, 60.0)
    rng = random.Random(1)
    world = World(count)
    report: dict[str, Any] = {"clients": count, "cpus": os.cpu_count()}
    try:
        for client in world.clients:
            client.begin()
        world.clients[0].ask()

        def paced() -> list[list[float]]:
            return [[PACE * turn + PACE * rng.random() for turn in range(int(seconds / PACE))] for _ in world.clients]

        alone = [[index * 0.05 for index in range(100)], *([[]] * (count - 1))]
        phases = {
            "one alone": (alone, 0.0),
            "all at the same instant": ([[index * 5.0 for index in range(3)]] * count, 0.0),
            "each every four seconds": (paced(), 0.0),
            "the same, while one floods": (paced(), seconds),
        }
        for name, (plans, flood) in phases.items():
            used = world.cpu()
            seen, flooded = world.phase(plans, flood=flood)
            ms = round((world.cpu() - used) * 1000 / len(seen.times), 1)
            told = {"requests": len(seen.times), "lost": seen.lost, "wrong": seen.wrong, "host_cpu_ms_each": ms}
            report[name] = {**shares(seen.times), **told}
            if flood:
                report[name]["flooded"] = flooded
            print(name, report[name], flush=True)
        report["mixed up in the audit"] = world.mixed_up()
        print("mixed up in the audit:", report["mixed up in the audit"])
    finally:
        world.close()
    if given.json:
        Path(given.json).write_text(json.dumps(report, indent=1) + "\n")
    failed = sum(each["lost"] + each["wrong"] for each in report.values() if isinstance(each, dict))
    sys.exit(1 if failed or report["mixed up in the audit"] else 0)


if __name__ == "__main__":
    main()
