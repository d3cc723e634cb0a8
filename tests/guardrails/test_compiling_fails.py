"""A library that cannot be compiled: each call says why, nothing is begun over and over, and builds keep their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from adapters.payloads import tool
from guardrails.test_cache import SHIPPED, Machine
from hook.process import Told, run
from lockgate.configuration.pattern_library import attempts, cache, layers
from lockgate.configuration.pattern_library import compile as making
from lockgate.core.errors import NotCompiledError, PatternError
from lockgate.core.version import PACKAGE_FOLDER
from support.builds import Build
from support.prepared import give_empty

pytestmark = pytest.mark.slow

CALL = tool("PreToolUse", "Bash", {"command": "ls"})
AT_IT = "is being compiled: try again"
_SECONDS = 60.0


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    shipped = tmp_path / "shipped.json"
    shipped.write_text(SHIPPED)
    for module in (cache, layers):
        monkeypatch.setattr(module, "SHIPPED", str(shipped))
    return Machine(tmp_path.resolve())


def _stand_in(machine: Machine, monkeypatch: pytest.MonkeyPatch, does: str) -> Path:
    """Have another program run in the place of the process that compiles; gives the file in which it counts."""
    program, log = machine.project / "ahead.py", machine.project / "log"
    source = os.path.dirname(PACKAGE_FOLDER)
    begins = _BEGINS.format(log=str(log), source=source, shipped=cache.SHIPPED)
    program.write_text(begins + does)
    monkeypatch.setattr(making, "AHEAD", str(program))
    return log


_BEGINS = """
import os, sys
open({log!r}, 'a').write('x')
sys.path.append({source!r})
from lockgate.configuration.pattern_library import cache, layers
cache.SHIPPED = layers.SHIPPED = {shipped!r}
"""
FAILS = """
from lockgate.configuration.pattern_library import compile, compile_process
def failing(_): raise {error}
compile.compile_artefact = failing
sys.exit(compile_process.main(sys.argv[1:]))
"""


def _wait(machine: Machine) -> None:
    """Until no process compiles."""
    until = time.monotonic() + _SECONDS
    while attempts.is_going_on(str(machine.folder)):
        assert time.monotonic() < until
        time.sleep(0.02)


@pytest.mark.parametrize(
    ("does", "says"),
    [
        (FAILS.format(error="OSError(12, 'Cannot allocate memory')"), "too little memory"),
        (FAILS.format(error="ImportError(name='hyperscan')"), "the library hyperscan cannot be loaded"),
        (FAILS.format(error="compile.StoreError('there is no room in X')"), "there is no room in X"),
        ("os.kill(os.getpid(), 9)", "was ended before it was done: there may be too little memory"),
    ],
)
def test_what_fails_is_said_and_not_begun_again_at_once(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, does: str, says: str
) -> None:
    log = _stand_in(machine, monkeypatch, does)
    with pytest.raises(NotCompiledError, match=AT_IT):
        machine.load(seconds=0.0)
    _wait(machine)
    for _ in range(3):
        with pytest.raises(PatternError, match=f"cannot be compiled: .*{says}"):
            machine.load(seconds=0.0)
    assert log.read_text() == "x"
    monkeypatch.setattr(making, "AGAIN", 0.0)
    with pytest.raises(NotCompiledError, match=f"cannot be compiled: .*{says}.*; it is being compiled again"):
        machine.load(seconds=0.0)
    _wait(machine)
    assert log.read_text() == "xx"
    assert machine.load(), "by a process that has the time"
    monkeypatch.setattr(making, "AGAIN", 3600.0)
    machine.ours.write_text("patterns: {input: {keys: {mode: block}}}\n")
    with pytest.raises(NotCompiledError, match=AT_IT):
        machine.load(seconds=0.0)
    _wait(machine)


def test_one_that_waits_hears_of_it(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in(machine, monkeypatch, FAILS.format(error="compile.StoreError('there is no room in X')"))
    began = time.monotonic()
    with pytest.raises(PatternError, match="cannot be compiled: there is no room in X"):
        machine.load(seconds=making._ENOUGH - 1)
    assert time.monotonic() - began < making._ENOUGH / 2


def test_one_that_compiles_itself_leaves_word(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """As an installation does, before it tries its hook."""

    def fails(*_: object) -> bytes:
        raise PatternError("no engine")

    monkeypatch.setattr(making, "compile_artefact", fails)
    with pytest.raises(PatternError, match="no engine"):
        machine.load()
    with pytest.raises(PatternError, match="cannot be compiled: no engine"):
        machine.load(seconds=0.0)


def test_what_another_build_lacks_is_not_said(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    _stand_in(machine, monkeypatch, "os.kill(os.getpid(), 9)")
    with monkeypatch.context() as patch, pytest.raises(NotCompiledError):
        patch.setattr(making, "name_build", lambda: "another")
        machine.load(seconds=0.0)
    _wait(machine)
    _stand_in(machine, monkeypatch, "")
    with pytest.raises(NotCompiledError, match=AT_IT):
        machine.load(seconds=0.0)


# ---------------------------------------------------------------- real hooks
def _build(root: Path, name: str) -> Build:
    """One whose library nobody has compiled."""
    build = Build(root / name, name)
    shutil.rmtree(build.package / "configuration" / "pattern_library" / "compiled", ignore_errors=True)
    compiler = Path(cache.COMPILERS[0]).relative_to(Path(cache.__file__).parents[2])
    with (build.package / compiler).open("a") as file:
        file.write(f"# {name}\n")
    return build


def _ask(build: Build, root: Path, *before: str) -> Told:
    words = ["claude-code", "--home", str(root), "--state", str(root / "state"), "--config", str(root / "config")]
    return run([*before, sys.executable, "-I", "-S", build.hook, *words], CALL, cwd=root)


def _until_it_runs(build: Build, root: Path) -> None:
    until = time.monotonic() + _SECONDS
    while (told := _ask(build, root)).code:
        assert AT_IT in told.stderr
        assert time.monotonic() < until
        time.sleep(0.2)


def test_two_builds_in_turn(tmp_path: Path) -> None:
    """Each has its own file. What one compiles is not what the other has to compile again."""
    one, two = _build(tmp_path, "one"), _build(tmp_path, "two")
    give_empty(tmp_path / "state")
    _until_it_runs(one, tmp_path)
    _until_it_runs(two, tmp_path)
    for build in (one, two) * 2:
        assert _ask(build, tmp_path).code == 0
    assert len(list((tmp_path / "state" / "patterns").glob("*.artefact"))) == 2


_FULL = """
import json, os, subprocess, sys, time
from lockgate.store.opening import open_store
command, call, state = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
open_store(state).close()
def ask():
    told = subprocess.run(command, input=call, capture_output=True, text=True)
    print(json.dumps([told.returncode, told.stderr]), flush=True)
for _ in range(2):
    ask()
    time.sleep(8)
full = open(os.path.join(state, "full"), "wb")
try:
    while full.write(bytes(4096)): full.flush()
except OSError:
    pass
ask()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap")
def test_a_full_disk(tmp_path: Path) -> None:
    """The artefact has more bytes than there are; then there is none left at all."""
    bwrap = shutil.which("bwrap")
    assert bwrap, "bubblewrap is needed: make system"
    build, disk = _build(tmp_path, "one"), tmp_path / "disk"
    disk.mkdir()
    state = str(disk / "state")
    words = ["claude-code", "--home", str(tmp_path), "--state", state, "--config", str(tmp_path / "config")]
    hook = json.dumps([sys.executable, "-I", "-S", build.hook, *words])
    small = [bwrap, "--dev-bind", "/", "/", "--size", "2500000", "--tmpfs", str(disk), "--"]
    environ = {**os.environ, "PYTHONPATH": str(build.package.parent)}
    told = subprocess.run(
        [*small, sys.executable, "-c", _FULL, hook, json.dumps(CALL), state],
        env=environ,
        capture_output=True,
        text=True,
        check=True,
        timeout=100,
    )
    first, second, last = map(json.loads, told.stdout.splitlines())
    assert (first[0], second[0], last[0]) == (2, 2, 2)
    for _, said in (second, last):
        assert "there is no room in" in said
        assert "free some space on that disk" in said
