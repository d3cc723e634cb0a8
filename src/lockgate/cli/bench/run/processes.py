"""Measures whole processes in turns: ``/bin/true``, the interpreter, hooks alone, hooks with a gate."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from lockgate.cli.bench.run import contained, gates
from lockgate.cli.bench.run.costs import Cost, Series
from lockgate.containment.host import try_again
from lockgate.core.errors import LockgateError
from lockgate.system.folders import Folders

COMMAND = "git status --short && grep -rn 'def main' src | head -20"
RESULT = {"stdout": "src/main.py:1:def main", "stderr": "", "interrupted": False, "isImage": False}
_SCRIPT = 'for f in src/*.py; do [[ -f $f ]] && wc -l "$f" >>"/tmp/lines.$USER"; done'
_REFUSED = "lockgate approve 1"


class Program(NamedTuple):
    """A program to run in a process of its own."""

    name: str
    what: str
    argv: list[str]
    payload: Mapping[str, Any] | None = None
    """What a hook is given; each run is a call of its own."""
    alone: bool = False
    """Whether it decides by itself, where it is a hook."""
    again: bool = False
    """Whether it runs twice in a row, and the second run counts: the processor then still has what it needs at hand."""
    both: bool = False
    """Whether the first of two runs is told too: by then the processor had the code and data of other programs."""


def measure(folder: str, like: Folders, rounds: int, progress: Callable[[int], None]) -> list[Series]:
    """Run all programs so many times, in turns.

    Args:
        folder: An empty folder.
        like: A prepared installation.
        rounds: How many times.
        progress: Told after each round.

    Raises:
        LockgateError: One of them fails, or no gate comes up.
    """
    cold, warm = (gates.folders_in(os.path.join(folder, name)) for name in ("cold", "warm"))
    for where in (cold, warm):
        gates.prepare_like(where, like)
    with gates.run_gate(warm):
        programs = _programs(cold, warm)
        costs: list[list[Cost]] = [[] for _ in programs]
        for number in range(rounds + 1):
            for taken, program in zip(costs, programs, strict=True):
                taken += [_run(program, f"{number:06d}{turn}", folder) for turn in "ab"[: 1 + program.again]]
            progress(1)
    return [series for taken, program in zip(costs, programs, strict=True) for series in _series(program, taken)]


def _series(program: Program, costs: list[Cost]) -> Iterator[Series]:
    """What is told of a program. Its first round does not count: it compiles modules, and reads files from the disk."""
    runs = 1 + program.again
    counted = costs[runs:]
    yield Series(program.name, program.what, counted[runs - 1 :: runs])
    if program.both:
        yield Series(f"{program.name}-first", f"{program.what}, after other programs", counted[::runs])


def _run(program: Program, number: str, home: str) -> Cost:
    # Nothing else of this process's environment: PYTHONDONTWRITEBYTECODE in it would have every run compile anew.
    env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": home}
    if program.alone:
        env["LOCKGATE_RESIDENT"] = "off"
    payload = b"" if program.payload is None else _number(program.payload, number)
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
            raise LockgateError(f"{program.name} failed: {told.read(400).decode(errors='replace')}")
    return Cost(wall * 1000, (usage.ru_utime + usage.ru_stime) * 1000)


def _number(payload: Mapping[str, Any], number: str) -> bytes:
    return json.dumps({**payload, "tool_use_id": f"toolu_{payload['session_id']}_{number}"}).encode()


def _programs(cold: Folders, warm: Folders) -> list[Program]:
    from lockgate.clients.hook.answer import PROGRAM
    from lockgate.clients.hook.native import usable

    python, script = sys.executable, PROGRAM
    by_python = [python, "-I", "-S", script]
    bare = [python, "-I", "-S", "-c", "pass"]
    native = usable(script)
    command = ("Bash", {"command": COMMAND})

    def ask_program(name: str, what: str, call: tuple[str, Mapping[str, str]], **more: Any) -> Program:
        return Program(name, what, [*by_python, *_options(cold)], _payload(name, cold, call, **more), alone=True)

    def send_program(name: str, what: str, client: list[str]) -> Program:
        argv = [*client, *_options(warm)]
        return Program(name, what, argv, _payload(name, warm, command), again=True, both=True)

    programs = [
        Program("true", "/bin/true: starting any process", [shutil.which("true") or "/bin/true"], again=True),
        Program("interpreter", "python -I -S -c pass: the bare interpreter", bare, again=True),
        send_program("warm", "hook that asks the resident gate", by_python),
        ask_program("pre", "hook by itself, before an everyday command", command),
        ask_program("pre-script", "hook by itself, before a loop", ("Bash", {"command": _SCRIPT})),
        ask_program(
            "pre-read", "hook by itself, before a file is read", ("Read", {"file_path": f"{cold.home}/project/a.py"})
        ),
        ask_program("refused", "hook by itself, a command that is refused", ("Bash", {"command": _REFUSED})),
        ask_program(
            "post",
            "hook by itself, after a command",
            command,
            session_id="pre",  # that very call has come back
            hook_event_name="PostToolUse",
            tool_response=RESULT,
        ),
    ]
    if native:
        client = [native, "--python", python, "--script", script]
        programs.insert(3, send_program("warm-native", "native hook that asks the resident gate", client))
    # Twice in a row, like the shortest ones: none is to be charged with what another program left behind.
    return programs + [Program(*told, again=True) for told in contained.programs(warm, try_again(warm.state))]


def _options(where: Folders) -> list[str]:
    return ["claude-code", "--home", where.home, "--state", where.state, "--config", where.config]


def _payload(name: str, where: Folders, call: tuple[str, Mapping[str, str]], **more: Any) -> dict[str, Any]:
    project = os.path.join(where.home, "project")
    return {
        "session_id": name,  # each its own, so that none meets another's labels
        "transcript_path": os.path.join(where.home, f"{name}.jsonl"),
        "cwd": project,
        "hook_event_name": "PreToolUse",
        "permission_mode": "default",
        "tool_name": call[0],
        "tool_input": call[1],
        **more,
    }
