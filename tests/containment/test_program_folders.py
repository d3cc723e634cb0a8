"""Programs that a contained command puts where others look for them (``PATH``): none is found there afterwards."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from containment.conftest import WAYS
from containment.machine import Machine
from containment.test_rooms import ROOM
from lockgate.containment import rooms

pytestmark = pytest.mark.sampled

PROGRAM = "printf '#!/bin/sh\\necho planted\\n' > {path}; chmod +x {path}"
HELPER = f"mkdir -p .venv/bin; {PROGRAM.format(path='.venv/bin/git')}"
PLANTS = {
    "a program": HELPER,
    "another name": f"mkdir -p .venv/bin; {PROGRAM.format(path='.venv/bin/uname')}",
    "a link to a program": f"{PROGRAM.format(path='x')}; mkdir -p .venv/bin; ln -s ../../x .venv/bin/git",
    "a link that leads nowhere yet": "mkdir -p .venv/bin; ln -s ../../later .venv/bin/git",
    "a hard link": f"{PROGRAM.format(path='x')}; mkdir -p .venv/bin; ln x .venv/bin/git",
    "a renamed file": f"mkdir -p .venv/bin; {PROGRAM.format(path='.venv/bin/x')}; mv .venv/bin/x .venv/bin/git",
    "another folder": f"mv .venv old; mkdir -p new/bin; {PROGRAM.format(path='new/bin/git')}; mv new .venv",
    "a link to a folder": f"mv .venv old; mkdir -p new/bin; {PROGRAM.format(path='new/bin/git')}; ln -s new .venv",
    "a link to the folder itself": (
        f"rm -rf .venv/bin; mkdir new; {PROGRAM.format(path='new/git')}; ln -s ../new .venv/bin"
    ),
    "a link out of the project": "mv .venv old; ln -s /usr .venv",
    "for node": f"mkdir -p node_modules/.bin; {PROGRAM.format(path='node_modules/.bin/git')}",
    "in a folder of tools": f"mkdir -p tools; {PROGRAM.format(path='tools/ls')}",
    "by a process beside it": f"(mkdir -p .venv/bin; sleep 0.3; {PROGRAM.format(path='.venv/bin/git')}) & wait",
}
HELPERS = ("git", "uname", "ls")
HONEST = {
    "a tool": ("mkdir -p .venv/bin; printf x > .venv/bin/black", [".venv/bin/black"]),
    "an interpreter": ("ln -sf /usr/bin/python3 .venv/bin/python3", [".venv/bin/python3"]),
    "a tool of node": ("mkdir -p node_modules/.bin; printf x > node_modules/.bin/tsc", ["node_modules/.bin/tsc"]),
    "a folder": ("mkdir -p tools/test", ["tools/test"]),
    "a file elsewhere": ("mkdir -p src; printf x > src/git", ["src/git"]),
    "an environment made anew": ("rm -rf .venv; mkdir -p .venv/bin; printf x > .venv/bin/pip", [".venv/bin/pip"]),
}


@pytest.fixture(params=WAYS)
def machine(request: pytest.FixtureRequest) -> Iterator[Machine]:
    """A machine whose home folder does not lie in ``/tmp``: there a folder of ``PATH`` is a mount of its own."""
    root = Path(tempfile.mkdtemp(prefix="lockgate-path-", dir="/var/lib" if os.getuid() == 0 else Path.home()))
    way, _, native = request.param.partition(", ")
    machine = Machine(root, way, native=bool(native))
    try:
        machine.begin()
        yield machine
    finally:
        rooms.end(str(machine.state), [ROOM])
        machine.end()
        shutil.rmtree(root, ignore_errors=True)


def _prepare(machine: Machine) -> None:
    (machine.project / ".venv/bin").mkdir(parents=True)
    path = f"{machine.project}/.venv/bin:node_modules/.bin:{machine.project}/tools"
    machine.environment["PATH"] = f"{path}:{machine.environment['PATH']}"
    machine.settle()


def _found(machine: Machine) -> list[str]:
    """What a program of the person's finds that starts another one by its name, in the project."""
    places = [f"{folder}/{name}" for folder in (".venv/bin", "node_modules/.bin", "tools") for name in HELPERS]
    return [place for place in places if os.path.lexists(machine.project / place)]


@pytest.mark.parametrize("name", PLANTS)
def test_none_is_found_afterwards(machine: Machine, name: str) -> None:
    _prepare(machine)
    machine.outside(PLANTS[name])
    assert _found(machine) or name == "a link out of the project"  # it would have been
    for path in (".venv", "old", "new", "x", "node_modules", "tools"):
        machine.outside(f"rm -rf {path}")
    (machine.project / ".venv/bin").mkdir(parents=True)
    done = machine.run(PLANTS[name])
    assert _found(machine) == [], done
    assert ".kept-by-lockgate" in done.stderr
    assert not machine.fell_back


@pytest.mark.parametrize("name", HONEST)
def test_all_else_stays(machine: Machine, name: str) -> None:
    _prepare(machine)
    command, there = HONEST[name]
    done = machine.run(command)
    assert (done.returncode, done.stderr) == (0, "")
    assert [path for path in there if (machine.project / path).exists()] == there


def test_what_was_there_before_stays(machine: Machine) -> None:
    _prepare(machine)
    machine.outside(HELPER)
    done = machine.run("touch other")
    assert (done.returncode, done.stderr) == (0, "")
    assert _found(machine) == [".venv/bin/git"]


def test_an_environment_is_made(machine: Machine) -> None:
    _prepare(machine)
    done = machine.run(
        f"rm -rf .venv && {sys.executable} -m venv --without-pip .venv && .venv/bin/python -c 'print(7)'"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "7\n", "")


def test_where_path_names_no_folder_of_the_project_nothing_is_looked_for(machine: Machine) -> None:
    done = machine.run(HELPER)
    assert (done.returncode, done.stderr) == (0, "")
    assert _found(machine) == [".venv/bin/git"]


def _is_gone(path: Path, within: float) -> bool:
    until = time.monotonic() + within
    while path.exists() and time.monotonic() < until:
        time.sleep(0.05)
    return not path.exists()


@pytest.mark.parametrize("machine", ["namespaces, native"], indirect=True)
def test_what_a_command_leaves_running_puts_none_there(machine: Machine) -> None:
    _prepare(machine)
    started = machine.project / "started"
    # A command that names git leaves nothing running.
    text = f"(sleep 1; {PROGRAM.format(path='.venv/bin/uname')}; touch {started}; sleep 60) >/dev/null 2>&1 &"
    assert machine.run(text, options=(f"--room={ROOM}",)).returncode == 0
    until = time.monotonic() + 20
    while not started.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert started.exists()
    assert _is_gone(machine.project / ".venv/bin/uname", 2.0)


def test_while_a_command_runs_it_is_gone_at_once(machine: Machine) -> None:
    _prepare(machine)
    seen = machine.project / "seen"
    waits = "for i in $(seq 40); do sleep 0.05; [ -e .venv/bin/git ] || break; done"
    done = machine.run(f"{HELPER}; {waits}; echo $i > {seen}")
    assert done.returncode == 0
    assert int(seen.read_text()) < 40
