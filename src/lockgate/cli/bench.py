"""``lockgate bench``: what the gate costs, as ratios from one interleaved run on this machine."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import click

_COMMAND = "git status --short && grep -rn 'def main' src | head -20"


class Series(NamedTuple):
    """One measured thing; milliseconds."""

    name: str
    what: str
    times: list[float]

    @property
    def median(self) -> float:
        """The median in milliseconds."""
        return statistics.median(self.times)

    @property
    def spread(self) -> tuple[float, float]:
        """First and third quartile in milliseconds."""
        if len(self.times) < 2:
            return self.times[0], self.times[0]
        low, _, high = statistics.quantiles(self.times, n=4)
        return low, high


def _payload(event: str, folder: str, call: int, **more: Any) -> bytes:
    body = {
        "session_id": "bench",
        "transcript_path": os.path.join(folder, "bench.jsonl"),
        "cwd": folder,
        "hook_event_name": event,
        "permission_mode": "default",
        "tool_name": "Bash",
        "tool_input": {"command": _COMMAND, "description": "look around"},
        "tool_use_id": f"toolu_{call:06d}",
    }
    return json.dumps({**body, **more}).encode()


def _run(argv: list[str], stdin: bytes, env: dict[str, str]) -> float:
    begun = time.perf_counter()
    done = subprocess.run(argv, input=stdin, capture_output=True, env=env, check=False)  # noqa: S603 - our own programs
    elapsed = (time.perf_counter() - begun) * 1000
    if done.returncode != 0:
        raise click.ClickException(f"{argv[0]} failed: {done.stderr.decode(errors='replace')[:400]}")
    return elapsed


def _processes(folder: str) -> list[tuple[str, str, Callable[[int], tuple[list[str], bytes]]]]:
    from lockgate import hook

    python = os.path.realpath(sys.executable)
    state, config = os.path.join(folder, "state"), os.path.join(folder, "config")
    gate = [python, "-I", "-S", os.path.abspath(hook.__file__), "claude-code"]
    gate += ["--home", folder, "--state", state, "--config", config]
    answer = {"stdout": "src/main.py:1:def main", "stderr": "", "interrupted": False, "isImage": False}
    return [
        ("true", "/bin/true: starting any process", lambda _: ([shutil.which("true") or "/bin/true"], b"")),
        (
            "interpreter",
            "python -I -S -c pass: the bare interpreter",
            lambda _: ([python, "-I", "-S", "-c", "pass"], b""),
        ),
        ("pre", "whole hook, cold process, PreToolUse", lambda n: (gate, _payload("PreToolUse", folder, n))),
        (
            "post",
            "whole hook, cold process, PostToolUse",
            lambda n: (gate, _payload("PostToolUse", folder, n, tool_response=answer)),
        ),
    ]


def _measure_processes(rounds: int, progress: Callable[[int], None]) -> list[Series]:
    with tempfile.TemporaryDirectory(prefix="lockgate-bench-") as folder:
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": folder}
        kinds = _processes(folder)
        found = [Series(name, what, []) for name, what, _ in kinds]
        for number in range(rounds + 1):
            for series, (_, _, make) in zip(found, kinds, strict=True):
                argv, stdin = make(number)
                elapsed = _run(argv, stdin, env)
                if number:  # the first round creates the store and warms the file cache
                    series.times.append(elapsed)
            progress(1)
        return found


def _measure_inside(rounds: int) -> list[Series]:
    from lockgate.analysis import analyse
    from lockgate.analysis.surroundings import Surroundings
    from lockgate.model import ToolCall

    around = Surroundings(home="/home/user", workspace="/home/user/project")
    commands = {
        "check-short": ("analysis of one everyday command, in process", _COMMAND),
        "check-3kb": ("analysis of a 3 KB command, in process", " && ".join(["git log --oneline | head -5"] * 110)),
    }
    found = []
    for name, (what, command) in commands.items():
        call = ToolCall("Bash", {"command": command}, "/home/user/project")
        analyse(call, around)
        times = []
        for _ in range(rounds):
            begun = time.perf_counter()
            analyse(call, around)
            times.append((time.perf_counter() - begun) * 1000)
        found.append(Series(name, what, times))
    return found


def _report(found: list[Series], rounds: int) -> dict[str, Any]:
    base = next(series for series in found if series.name == "interpreter").median
    rows = [
        {
            "name": series.name,
            "what": series.what,
            "median_ms": round(series.median, 3),
            "quartiles_ms": [round(value, 3) for value in series.spread],
            "ratio_to_interpreter": round(series.median / base, 2),
        }
        for series in found
    ]
    return {"rounds": rounds, "python": sys.version.split()[0], "platform": sys.platform, "rows": rows}


@click.command()
@click.option("--rounds", default=40, show_default=True, type=click.IntRange(3, 2000), help="Interleaved rounds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def bench(rounds: int, as_json: bool) -> None:
    """Measure what the gate costs, in one interleaved run.

    Ratios are to the bare interpreter (python -I -S -c pass), so that they mean the same on a slow machine.
    """
    with click.progressbar(
        length=rounds + 1, label="measuring", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        found = _measure_processes(rounds, bar.update)
    found += _measure_inside(rounds)
    report = _report(found, rounds)
    if as_json:
        click.echo(json.dumps(report, indent=2))
        return
    click.echo(f"{'what':48} {'median':>10} {'quartiles':>20} {'ratio':>7}")
    for row in report["rows"]:
        low, high = row["quartiles_ms"]
        spread = f"{low:.2f} .. {high:.2f}"
        click.echo(f"{row['what']:48} {row['median_ms']:>7.2f} ms {spread:>20} {row['ratio_to_interpreter']:>6.2f}x")
