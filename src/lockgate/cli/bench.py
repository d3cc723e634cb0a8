"""``lockgate bench``: what the gate costs, as ratios from one interleaved run on this machine."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import click

_COMMAND = "git status --short && grep -rn 'def main' src | head -20"
_SCRIPT = 'for f in src/*.py; do [[ -f $f ]] && wc -l "$f" >>"/tmp/lines.$USER"; done'
_REFUSED = "lockgate approve 1"
_RESULT = {"stdout": "src/main.py:1:def main", "stderr": "", "interrupted": False, "isImage": False}


class Cost(NamedTuple):
    """What one run took, in milliseconds."""

    wall: float
    cpu: float
    """Of one processor, in the program and in the system for it: what other work on the machine hardly changes."""


class Series(NamedTuple):
    """One measured thing."""

    name: str
    what: str
    costs: list[Cost]

    def median(self, clock: str) -> float:
        """The median in milliseconds, of ``wall`` or ``cpu``."""
        return statistics.median(self._times(clock))

    def quartiles(self, clock: str) -> tuple[float, float]:
        """First and third quartile in milliseconds."""
        times = self._times(clock)
        if len(times) < 2:
            return times[0], times[0]
        low, _, high = statistics.quantiles(times, n=4)
        return low, high

    def _times(self, clock: str) -> list[float]:
        return [getattr(cost, clock) for cost in self.costs]


class Program(NamedTuple):
    """A program to run in a process of its own."""

    name: str
    what: str
    argv: list[str]
    payload: Mapping[str, Any] | None = None
    """What a hook is given; each run is a call of its own."""


def _run(program: Program, number: int, env: dict[str, str]) -> Cost:
    payload = b"" if program.payload is None else _numbered(program.payload, number)
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as told:
        given.write(payload)
        given.seek(0)
        actions = [(os.POSIX_SPAWN_DUP2, given.fileno(), 0)]
        actions += [(os.POSIX_SPAWN_DUP2, told.fileno(), descriptor) for descriptor in (1, 2)]
        begun = time.perf_counter()
        process = os.posix_spawn(program.argv[0], program.argv, env, file_actions=actions)
        _, status, usage = os.wait4(process, 0)
        wall = time.perf_counter() - begun
        if os.waitstatus_to_exitcode(status) != 0:
            told.seek(0)
            raise click.ClickException(f"{program.name} failed: {told.read(400).decode(errors='replace')}")
    return Cost(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000)


def _numbered(payload: Mapping[str, Any], number: int) -> bytes:
    return json.dumps({**payload, "tool_use_id": f"toolu_{payload['session_id']}_{number:06d}"}).encode()


def _programs(folder: str) -> list[Program]:
    from lockgate import hook

    python = sys.executable
    project = os.path.join(folder, "project")
    os.mkdir(project)
    gate = [python, "-I", "-S", os.path.abspath(hook.__file__), "claude-code", "--home", folder]
    gate += ["--state", os.path.join(folder, "state"), "--config", os.path.join(folder, "config")]

    def asked(name: str, what: str, tool: str, tool_input: Mapping[str, str], **more: Any) -> Program:
        payload = {
            "session_id": name,  # each its own, so that none meets another's labels
            "transcript_path": os.path.join(folder, f"{name}.jsonl"),
            "cwd": project,
            "hook_event_name": "PreToolUse",
            "permission_mode": "default",
            "tool_name": tool,
            "tool_input": tool_input,
        }
        return Program(name, what, gate, {**payload, **more})

    return [
        Program("true", "/bin/true: starting any process", [shutil.which("true") or "/bin/true"]),
        Program("interpreter", "python -I -S -c pass: the bare interpreter", [python, "-I", "-S", "-c", "pass"]),
        asked("pre", "whole hook, before an everyday command", "Bash", {"command": _COMMAND}),
        asked("pre-script", "whole hook, before a loop with conditions", "Bash", {"command": _SCRIPT}),
        asked("pre-read", "whole hook, before a file is read", "Read", {"file_path": os.path.join(project, "main.py")}),
        asked("refused", "whole hook, a command that is refused", "Bash", {"command": _REFUSED}),
        asked(
            "post",
            "whole hook, after a command",
            "Bash",
            {"command": _COMMAND},
            session_id="pre",  # that very call has come back
            hook_event_name="PostToolUse",
            tool_response=_RESULT,
        ),
    ]


def _measure_processes(rounds: int, progress: Callable[[int], None]) -> list[Series]:
    with tempfile.TemporaryDirectory(prefix="lockgate-bench-") as folder:
        # Nothing else of this process's environment: PYTHONDONTWRITEBYTECODE in it would have every run compile anew.
        env = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": folder}
        programs = _programs(folder)
        found = [Series(program.name, program.what, []) for program in programs]
        for number in range(rounds + 1):
            for series, program in zip(found, programs, strict=True):
                cost = _run(program, number, env)
                if number:  # the first round creates the store and the compiled modules, and warms the file cache
                    series.costs.append(cost)
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
        costs = []
        for _ in range(rounds):
            wall, cpu = time.perf_counter(), time.process_time()
            analyse(call, around)
            costs.append(Cost((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000))
        found.append(Series(name, what, costs))
    return found


def _measure_gate(rounds: int) -> list[Series]:
    """The gate in this very process, as a program has it that runs an agent."""
    from lockgate import Gate

    given = {"command": _COMMAND}
    check = Series("gate-check", "Gate.check_sync of that command, in process", [])
    finished = Series("gate-finished", "Gate's look at its result, in process", [])
    with tempfile.TemporaryDirectory() as folder, Gate.open(workspace=folder, ephemeral=True, ask="deny") as gate:
        session = gate.session()
        for number in range(rounds + 1):
            name = str(number)
            for series, work in (
                (check, lambda name=name: session.check_sync("Bash", given, call_id=name)),
                (finished, lambda name=name: session.finished_sync("Bash", given, _RESULT, call_id=name)),
            ):
                wall, cpu = time.perf_counter(), time.process_time()
                work()
                if number:  # the first one loads the pattern library
                    cost = Cost((time.perf_counter() - wall) * 1000, (time.process_time() - cpu) * 1000)
                    series.costs.append(cost)
    return [check, finished]


def _report(found: list[Series], rounds: int) -> dict[str, Any]:
    base = next(series for series in found if series.name == "interpreter")
    rows = []
    for series in found:
        row: dict[str, Any] = {"name": series.name, "what": series.what}
        for clock in Cost._fields:
            row[clock] = {
                "median_ms": round(series.median(clock), 3),
                "quartiles_ms": [round(value, 3) for value in series.quartiles(clock)],
                "ratio_to_interpreter": round(series.median(clock) / base.median(clock), 2),
            }
        rows.append(row)
    return {"rounds": rounds, "python": sys.version.split()[0], "platform": sys.platform, "rows": rows}


def _table(report: Mapping[str, Any]) -> list[str]:
    lines = [
        f"{'':46}{'wall clock':>36}{'processor time':>36}",
        f"{'what':46}" + 2 * f"{'median':>11}{'quartiles':>17}   ratio",
    ]
    for row in report["rows"]:
        line = f"{row['what']:46}"
        for clock in Cost._fields:
            figures = row[clock]
            low, high = figures["quartiles_ms"]
            spread = f"{low:.2f} .. {high:.2f}"
            line += f"{figures['median_ms']:>8.2f} ms{spread:>17}{figures['ratio_to_interpreter']:>7.2f}x"
        lines.append(line)
    return lines


@click.command()
@click.option("--rounds", default=40, show_default=True, type=click.IntRange(3, 2000), help="Interleaved rounds.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
def bench(rounds: int, as_json: bool) -> None:
    """Measure what the gate costs, in one interleaved run.

    Ratios are to the bare interpreter (python -I -S -c pass), so that they mean the same on a slow machine; those of
    processor time mean the same on a busy one.
    """
    with click.progressbar(
        length=rounds + 1, label="measuring", file=sys.stderr, hidden=not sys.stderr.isatty()
    ) as bar:
        found = _measure_processes(rounds, bar.update)
    report = _report(found + _measure_inside(rounds) + _measure_gate(rounds), rounds)
    click.echo(json.dumps(report, indent=2) if as_json else "\n".join(_table(report)))
