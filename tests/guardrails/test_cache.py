"""The compiled library: made once, loaded often, never stale, never another's."""

from __future__ import annotations

import os
import random
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import hyperscan
import pytest
import re2

from lockgate.configuration.layers.files import digest_of, trust_name
from lockgate.configuration.pattern_library import cache, layers
from lockgate.configuration.pattern_library import compile as making
from lockgate.configuration.pattern_library.cache import Artefact
from lockgate.configuration.pattern_library.compiled import load
from lockgate.core.errors import NotCompiledError, PatternError, StoreError
from lockgate.core.version import PACKAGE_FOLDER
from lockgate.patterns.engine.matcher import Matcher
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.folders import Folders
from support.prepared import open_new

pytestmark = pytest.mark.slow

SHIPPED = '{"patterns": {"input": {"keys": {"mode": "warn", "rules": [{"type": "k", "pattern": "acme_[a-z]{8}"}]}}}}'
OURS = "patterns: {input: {keys: {mode: block}}}\n"
LAX = "patterns: {input: {keys: {mode: 'off'}}}\n"


class Machine:
    """A home, a project, a state."""

    def __init__(self, root: Path) -> None:
        self.where = Folders(str(root / "home"), str(root / "state"), str(root / "config"))
        self.project = root / "work"
        for folder in (root / "home", root / "config", self.project):
            folder.mkdir()
        self.ours = root / "config" / "patterns.yaml"
        self.theirs = self.project / "lockgate.patterns.yaml"
        self.folder = root / "state" / "patterns"
        self.store = open_new(self.where.state)

    def load(self, workspace: str = "", **options: float) -> Artefact:
        return load(self.store, self.where, workspace or str(self.project), **options)

    def trust(self, path: Path) -> None:
        with self.store.transaction() as tx:
            tx.put_setting(trust_name(str(path)), digest_of(path.read_bytes()))

    def artefacts(self) -> list[Path]:
        return sorted(self.folder.glob("*.artefact"))


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Machine]:
    shipped = tmp_path / "shipped.json"
    shipped.write_text(SHIPPED)
    for module in (cache, layers):
        monkeypatch.setattr(module, "SHIPPED", str(shipped))
    made = Machine(tmp_path.resolve())
    yield made
    made.store.close()


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """One entry for each time that patterns are compiled."""
    made: list[int] = []
    compiled = making.compile_artefact

    def counted(library: object) -> bytes:
        made.append(1)
        return compiled(library)  # type: ignore[arg-type]

    monkeypatch.setattr(making, "compile_artefact", counted)
    return made


def modes(artefact: Artefact) -> dict[str, int]:
    matcher = Matcher(artefact.head, hyperscan, lambda: re2, artefact.database)
    return {group[0]: group[3] for group in matcher.header["groups"]}


def states(artefact: Artefact) -> list[str]:
    return [layer.state for layer in artefact.layers if layer.state != "absent"]


# ---------------------------------------------------------------- freshness


def test_it_is_compiled_once_and_then_loaded(machine: Machine, compilations: list[int]) -> None:
    first = machine.load()
    assert machine.load() == first
    assert len(compilations) == 1


def test_nothing_is_parsed_where_nothing_has_changed(machine: Machine) -> None:
    machine.ours.write_text(OURS)
    machine.load()
    program = (
        "import sys; from lockgate.configuration.pattern_library import cache, compiled, layers\n"
        "from lockgate.store.sqlite.store import SqliteStore; from lockgate.system.folders import Folders\n"
        "cache.SHIPPED = layers.SHIPPED = sys.argv[4]\n"
        "compiled.load(SqliteStore.open(sys.argv[2]), Folders(*sys.argv[1:4]), sys.argv[5])\n"
        "heavy = {'yaml', 'jsonschema', 'hyperscan', 're2', 'subprocess', 'fcntl', 'typing', 'hashlib', 'contextlib'}\n"
        "print(sorted(heavy & set(sys.modules)))"
    )
    words = [*machine.where, cache.SHIPPED, str(machine.project)]
    folder = os.path.dirname(PACKAGE_FOLDER)
    done = subprocess.run(
        [sys.executable, "-S", "-c", program, *words],
        env={"PYTHONPATH": folder},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_workspaces_with_the_same_patterns_share_a_file(machine: Machine, compilations: list[int]) -> None:
    other = machine.project.parent / "other"
    other.mkdir()
    assert machine.load().digest == machine.load(str(other)).digest
    assert len(machine.artefacts()) == len(compilations) == 1


def test_a_changed_file_counts_at_once(machine: Machine) -> None:
    assert modes(machine.load()) == {"keys": 1}
    machine.ours.write_text(OURS)
    assert modes(machine.load()) == {"keys": 3}
    machine.ours.unlink()
    assert modes(machine.load()) == {"keys": 1}


def test_artefacts_that_belong_to_nothing_are_removed(machine: Machine) -> None:
    machine.load()
    machine.ours.write_text(OURS)
    machine.load()
    assert len(machine.artefacts()) == 1
    with machine.store.reading() as tx:
        assert len(tx.settings(cache.PINNED)) == 1


# ---------------------------------------------------------------- trust, last good content


def test_a_project_may_only_tighten_until_it_is_trusted(machine: Machine) -> None:
    machine.ours.write_text(OURS)
    machine.theirs.write_text(LAX)
    artefact = machine.load()
    assert (modes(artefact), states(artefact)) == ({"keys": 3}, ["valid", "untrusted"])
    assert "it can only tighten" in artefact.notes[0]
    machine.trust(machine.theirs)
    artefact = machine.load()
    assert (modes(artefact), states(artefact)) == ({"keys": 0}, ["valid", "valid"])
    machine.theirs.write_text(LAX + "# another byte\n")
    assert modes(machine.load()) == {"keys": 3}


@pytest.mark.parametrize("broken", ["patterns: [", "patterns: {input: {keys: {mode: none}}}\n", "\0"])
def test_the_last_good_content_stands_in_for_a_broken_file(machine: Machine, broken: str) -> None:
    machine.ours.write_text(OURS)
    machine.load()
    machine.ours.write_text(broken)
    artefact = machine.load()
    assert (modes(artefact), states(artefact)) == ({"keys": 3}, ["last good"])
    assert [problem.file for problem in artefact.problems] == [str(machine.ours)]
    machine.ours.unlink()
    machine.load()
    machine.ours.write_text(broken)
    artefact = machine.load()
    assert (modes(artefact), states(artefact)) == ({"keys": 1}, ["invalid"])


def test_a_pipe_in_a_files_place_is_a_problem_and_no_wait(machine: Machine) -> None:
    os.mkfifo(machine.ours)
    assert "not a regular file" in machine.load().problems[0].problem


# ---------------------------------------------------------------- the file


def test_nobody_else_can_read_or_write_it(machine: Machine) -> None:
    machine.load()
    assert stat.S_IMODE(machine.folder.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in machine.folder.iterdir()] == [0o600, 0o600]


@pytest.mark.parametrize("damage", ["gone", "empty", "cut", "bit", "link"])
def test_what_is_damaged_is_compiled_again(machine: Machine, compilations: list[int], damage: str) -> None:
    good = machine.load()
    (path,) = machine.artefacts()
    data = path.read_bytes()
    path.unlink()
    if damage == "empty":
        path.write_bytes(b"")
    elif damage == "cut":
        path.write_bytes(data[:-1])
    elif damage == "bit":
        path.write_bytes(data[:100] + bytes([data[100] ^ 1]) + data[101:])
    elif damage == "link":
        (path.parent / "elsewhere").write_bytes(data)
        path.symlink_to(path.parent / "elsewhere")
    again = machine.load()
    assert modes(again) == modes(good)
    assert (len(compilations), path.is_symlink()) == (2, False)
    machine.load()
    assert len(compilations) == 2


@pytest.mark.parametrize("left", [b"", b"\0" * 4096, b"[]\n", b'{"format": 3}\n', b'{"database": "x"}\n'])
def test_what_a_power_cut_left_beside_the_code_is_passed_over(
    machine: Machine, compilations: list[int], monkeypatch: pytest.MonkeyPatch, left: bytes
) -> None:
    machine.load()
    (path,) = machine.artefacts()
    monkeypatch.setattr(cache, "BESIDE", str(machine.project))
    (machine.project / path.name).write_bytes(left)
    path.unlink()
    with machine.store.transaction() as tx:
        for setting in tx.settings(cache.PINNED):
            tx.put_setting(setting, None)
    assert modes(machine.load())
    assert len(compilations) == 2


def test_the_hash_is_computed_only_of_another_file(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[int] = []
    digest = cache.digest

    def counted(*parts: bytes) -> str:
        hashed.append(1)
        return digest(*parts)

    good = machine.load()
    monkeypatch.setattr(cache, "digest", counted)
    assert (machine.load(), hashed) == (good, [])
    (path,) = machine.artefacts()
    data = path.read_bytes()
    path.unlink()
    path.write_bytes(data)
    assert (machine.load(), machine.load(), hashed) == (good, good, [1])
    path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    assert machine.load() == good
    assert path.read_bytes() == data, "made anew"


def test_it_is_compiled_anew_on_demand(machine: Machine, compilations: list[int]) -> None:
    machine.load()
    machine.load(unlike=machine.load().digest)
    assert len(compilations) == 2


def test_a_folder_that_others_can_write_to_is_refused(machine: Machine) -> None:
    machine.folder.mkdir(mode=0o777)
    machine.folder.chmod(0o777)
    with pytest.raises(StoreError, match="others can write"):
        machine.load()


def test_a_full_disk_is_an_error_and_leaves_nothing(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    good = machine.load()

    def full(source: str, target: str) -> None:
        raise OSError(28, "No space left on device")

    machine.ours.write_text(OURS)
    with monkeypatch.context() as patch:
        patch.setattr(making.os, "replace", full)
        with pytest.raises(StoreError, match=r"there is no room in .*: free some space"):
            machine.load()
    assert [path.suffix for path in machine.folder.iterdir() if path.name != "lock"] == [".artefact"]
    machine.ours.unlink()
    assert machine.load() == good


# ---------------------------------------------------------------- several processes


def test_a_hook_without_time_has_it_done_and_says_so(machine: Machine) -> None:
    with pytest.raises(PatternError, match="try again"):
        machine.load(seconds=0.0)
    until = time.monotonic() + 60
    while cache.ready(machine.store, machine.where, str(machine.project)) is None and time.monotonic() < until:
        time.sleep(0.05)  # the other process keeps what is really shipped, which is another file here
        with machine.store.reading() as tx:
            done = tx.settings(cache.KEPT)
        if done:
            break
    assert done, "compiled, or taken from beside the code"


def test_one_that_waits_too_long_for_another_says_so(machine: Machine) -> None:
    machine.folder.mkdir(mode=0o700)
    with making.hold_lock(str(machine.folder), 0.0), pytest.raises(PatternError, match="try again"):
        making.make(machine.store, machine.where, str(machine.project), until=time.monotonic() + 0.05)


_LATE = 9


def _in_child(machine: Machine, times: int = 1, seconds: float = 60.0) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            store = SqliteStore.open(machine.where.state, busy_seconds=30)
            good = load(store, machine.where, str(machine.project), seconds=seconds)
            for _ in range(times - 1):
                load(store, machine.where, str(machine.project), unlike=good.digest)
            status = 0
        except PatternError:
            status = _LATE
        finally:
            os._exit(status)
    return pid


def test_of_many_at_once_one_compiles(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    log = machine.project / "log"
    compiled = making.compile_artefact

    def noted(library: object) -> bytes:
        with log.open("a") as file:
            file.write("x")
        return compiled(library)  # type: ignore[arg-type]

    monkeypatch.setattr(making, "compile_artefact", noted)
    children = [_in_child(machine) for _ in range(8)]
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 8
    assert log.read_text() == "x"


_STAND_IN = """
import sys
with open({log!r}, "a") as file:
    file.write("x")
sys.path.append({source!r})
from lockgate.configuration.pattern_library import compile_process as ahead, cache, layers
cache.SHIPPED = layers.SHIPPED = {shipped!r}
sys.exit(ahead.main(sys.argv[1:]))
"""


def test_of_fifty_hooks_without_time_one_has_it_compiled(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that come while it is compiled say so; nothing is started twice, and nothing goes on for ever."""
    log, program = machine.project / "log", machine.project / "ahead.py"
    source = os.path.dirname(PACKAGE_FOLDER)
    program.write_text(_STAND_IN.format(log=str(log), source=source, shipped=cache.SHIPPED))
    monkeypatch.setattr(making, "AHEAD", str(program))
    children = [_in_child(machine, seconds=0.1) for _ in range(50)]
    assert {os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children} <= {0, _LATE}
    with making.hold_lock(str(machine.folder), time.monotonic() + 60):
        assert log.read_text() == "x"
    assert modes(machine.load(seconds=0.0)) == {"keys": 1}
    until = time.monotonic() + 60
    while (left := _processes(machine.where.state)) and time.monotonic() < until:
        time.sleep(0.05)
    assert left == []


def test_a_process_that_goes_on_keeps_no_dead_child(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    program, mark = machine.project / "ahead.py", machine.project / "child"
    program.write_text(f"import os; open({str(mark)!r}, 'w').write(str(os.getpid()))")
    monkeypatch.setattr(making, "AHEAD", str(program))
    with pytest.raises(NotCompiledError):
        machine.load(seconds=0.0)
    until = time.monotonic() + 60
    while not mark.exists() or not mark.read_text() or _is_there(int(mark.read_text())):
        assert time.monotonic() < until
        time.sleep(0.02)


def _is_there(process: int) -> bool:
    """Whether a process runs, or has ended and its parent has not asked how."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def _processes(word: str) -> list[str]:
    """The command lines of processes that have a word in them."""
    told = subprocess.run(["ps", "-axww", "-o", "command="], capture_output=True, text=True, check=True)
    return [line for line in told.stdout.splitlines() if word in line]


def test_a_killed_writer_leaves_nothing_that_is_taken_for_an_artefact(machine: Machine) -> None:
    wanted = modes(machine.load())
    chance = random.Random(1)
    for _ in range(40):
        child = _in_child(machine, times=10_000)
        time.sleep(chance.random() * 0.03)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert modes(machine.load()) == wanted
    machine.load(unlike=machine.load().digest)
    assert sorted(path.suffix for path in machine.folder.iterdir()) == ["", ".artefact"]
