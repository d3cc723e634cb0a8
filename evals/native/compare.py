"""What a hook costs by each client, in one interleaved run: ``python evals/native/compare.py [--rounds N] [--json]``.

Each round starts every program once, in an order of its own. Ratios are to ``/bin/true`` of the same round, so that
what else the machine does meanwhile weighs on both sides. See docs/native-client.md.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from lockgate import hook
from lockgate.clients.common.hook_command import HookLaunch, either_client, hook_command, native_file
from lockgate.clients.hook.native import problem
from lockgate.system.folders import Folders

HOOK = os.path.abspath(hook.__file__)
ECHO = """
import hashlib, os, pathlib, socket, sys
key = pathlib.Path(sys.argv[1]).parent.parent.joinpath("key").read_bytes()
listening = socket.socket(socket.AF_UNIX)
listening.bind(sys.argv[1])
listening.listen(64)
while True:
    connection, _ = listening.accept()
    heard = connection.recv(1 << 20)
    while len(heard) < 18 or len(heard) < 18 + sum(int.from_bytes(heard[at:at + 4], "big") for at in (10, 14)):
        heard += connection.recv(1 << 20)
    said = b"A" + bytes(9)
    proof = hashlib.blake2b(heard + said, key=key, person=b"lockgate answer", digest_size=32)
    connection.sendall(said + proof.digest())
    connection.close()
"""
"""A gate that decides nothing: what is left is the client."""
PAYLOAD = {
    "transcript_path": "/nowhere.jsonl",
    "hook_event_name": "PreToolUse",
    "permission_mode": "default",
    "tool_name": "Bash",
    "tool_input": {"command": "git status --short && grep -rn 'def main' src | head -20"},
}


class Program(NamedTuple):
    """A program to start."""

    what: str
    argv: list[str]
    resident: str = "on"


def programs(folder: Path) -> list[Program]:
    """What is compared. The folders ``echo`` and ``real`` hold states with a gate that listens."""
    python, native = sys.executable, native_file(HOOK)

    def clients(state: Path, what: str) -> Iterator[Program]:
        given = ["claude-code", "--home", str(folder), "--state", str(state), "--config", str(folder / "config")]
        yield Program(f"Python client, {what}", [python, "-I", "-S", HOOK, *given])
        yield Program(f"native client, {what}", [native, "--python", python, "--script", HOOK, *given])

    launch = HookLaunch(python, HOOK, Folders(str(folder), str(folder / "real"), str(folder / "config")))
    installed = [
        Program(f"{name} client, as an agent client starts it", ["/bin/sh", "-c", hook_command(each, "PreToolUse")])
        for name, each in zip(("Python", "native"), either_client(launch), strict=True)
    ]
    alone = [program._replace(resident="off") for program in clients(folder / "alone", "without a gate")]
    return [
        Program("/bin/true", ["/bin/true"]),
        Program("interpreter: python -I -S -c pass", [python, "-I", "-S", "-c", "pass"]),
        *clients(folder / "echo", "a gate that decides nothing"),
        *clients(folder / "real", "the resident gate"),
        *installed,
        *alone,
    ]


def run(program: Program, payload: bytes) -> tuple[float, float]:
    """Start a program, wait for its end: milliseconds by the clock, and of processor time of its own."""
    env = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "LOCKGATE_RESIDENT": program.resident}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told:
        given.write(payload)
        given.seek(0)
        actions = [(os.POSIX_SPAWN_DUP2, given.fileno(), 0)]
        actions += [(os.POSIX_SPAWN_DUP2, told.fileno(), stream) for stream in (1, 2)]
        begun = time.perf_counter()
        process = os.posix_spawn(program.argv[0], program.argv, env, file_actions=actions)
        _, status, usage = os.wait4(process, 0)
        wall = time.perf_counter() - begun
        if status:
            told.seek(0)
            sys.exit(f"{program.what} failed: {told.read(600).decode(errors='replace')}")
    return wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000


@contextmanager
def gates(folder: Path) -> Iterator[None]:
    """Both gates, for as long as they are needed."""
    (folder / "echo" / "run").mkdir(parents=True)
    socket = folder / "echo" / "run" / "gate.sock"
    key = folder / "echo" / "key"
    key.write_bytes(bytes(32))
    key.chmod(0o600)
    echo = subprocess.Popen([sys.executable, "-I", "-S", "-c", ECHO, str(socket)])
    real = folder / "real" / "run" / "gate.sock"
    where = ["--home", str(folder), "--state", str(folder / "real"), "--config", str(folder / "config")]
    (folder / "real").mkdir(mode=0o700)
    program = Path(HOOK).parent / "service" / "resident" / "process.py"
    resident = subprocess.Popen([sys.executable, "-I", "-S", str(program), *where])
    try:
        until = time.monotonic() + 60
        while not (socket.exists() and real.exists()):
            if time.monotonic() > until:
                sys.exit("the gates do not come up")
            time.sleep(0.05)
        yield
    finally:
        for process in (echo, resident):
            process.send_signal(signal.SIGTERM)
            process.wait(20)


def measure(rounds: int) -> list[dict[str, object]]:
    """Run everything, and come back with a row for each program."""
    with tempfile.TemporaryDirectory(prefix="lockgate-native-") as name:
        folder = Path(name)
        with gates(folder):
            compared = programs(folder)
            costs: dict[str, list[tuple[float, float]]] = {program.what: [] for program in compared}
            for number in range(rounds + 3):
                for program in random.sample(compared, len(compared)):
                    more = {"session_id": "s", "cwd": name, "tool_use_id": f"t{number}-{len(costs[program.what])}"}
                    cost = run(program, json.dumps({**PAYLOAD, **more}).encode())
                    if number >= 3:  # the first rounds make the store, and warm what the system keeps of files
                        costs[program.what].append(cost)
    return [row(program.what, costs[program.what], costs[compared[0].what]) for program in compared]


def row(what: str, costs: list[tuple[float, float]], bases: list[tuple[float, float]]) -> dict[str, object]:
    """Median, quartiles and the median of each round's ratio."""
    found: dict[str, object] = {"what": what}
    for place, clock in enumerate(("wall", "processor")):
        times = [cost[place] for cost in costs]
        low, _, high = statistics.quantiles(times, n=4)
        ratios = [cost[place] / base[place] for cost, base in zip(costs, bases, strict=True) if base[place]]
        found[clock] = {
            "median_ms": round(statistics.median(times), 3),
            "quartiles_ms": [round(low, 3), round(high, 3)],
            "ratio_to_true": round(statistics.median(ratios), 2),
        }
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if problem(HOOK):
        sys.exit(f"the native client cannot be measured: {problem(HOOK)}; run: make setup")
    rows = measure(given.rounds)
    if given.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'':46}{'clock: median':>16}{'quartiles':>18}{'true = 1':>10}{'processor: median':>20}{'true = 1':>10}")
    for each in rows:
        wall, processor = each["wall"], each["processor"]
        assert isinstance(wall, dict)
        assert isinstance(processor, dict)
        low, high = wall["quartiles_ms"]
        print(
            f"{each['what']!s:46}{wall['median_ms']:>13.2f} ms{f'{low:.2f} .. {high:.2f}':>18}"
            f"{wall['ratio_to_true']:>10.2f}{processor['median_ms']:>17.2f} ms{processor['ratio_to_true']:>10.2f}"
        )


if __name__ == "__main__":
    main()
