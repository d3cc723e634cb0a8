"""The native launcher beside the Python program: what it looks at, what it is told, and what it leaves behind."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from containment.machine import PROGRAM, Machine
from lockgate.clients.wire.resident import answer_in_bytes
from lockgate.containment.host import LAUNCHER
from lockgate.containment.linux.native_launcher import Suspect, entries, suspects
from lockgate.containment.protected_files import survey
from lockgate.core.errors import BadInputError
from lockgate.resources.host_view import AnalysisRules, HostView
from lockgate.resources.protected_paths import PathGuard
from support.answering import answering
from support.stress import examples

pytestmark = pytest.mark.sampled

HOSTILE = (
    b"",
    b"N",
    b"A",
    b"garbage" * 1000,
    b"W\xff\xff\xff\xff",
    answer_in_bytes(b"", b""),
    answer_in_bytes(b"walk 1\0", b""),
    answer_in_bytes(b"walk 1\0" + b"9" * 30 + b"\0", b""),
    answer_in_bytes(b"walk 1\0002\0/\00064\0" + b"1\0some\0\0" * 2, b""),
    answer_in_bytes(b"walk 2\0002\0", b""),
    answer_in_bytes(b"plan 1\0" * 40, b"\0" * 16),
    answer_in_bytes(b"\xff" * 70_000, b"\0" * 70_000),
    answer_in_bytes(b"walk 1\0002\0" + b"x" * 2_000_000, b""),
    b"A\0\xff\xff\xff\xff\xff\xff\xff\xff",
)


@pytest.fixture
def native(tmp_path: Path) -> Iterator[Machine]:
    """A machine with a gate and the launcher, by the kernel's namespaces."""
    machine = Machine(tmp_path, "namespaces", native=True)
    try:
        machine.begin()
        yield machine
    finally:
        machine.end()


# ---------------------------------------------------------------- what it looks at
NAMES = st.sampled_from(
    [
        "a",
        ".env",
        ".github",
        "workflows",
        "settings",
        ".claude",
        "x.pem",
        "hooks",
        ".git",
        "CLAUDE.md",
        "objects",
        "\u017f",
        "info",
    ]
)
PATHS = st.lists(st.lists(NAMES, min_size=1, max_size=5), min_size=1, max_size=12)


@settings(max_examples=examples(60))
@given(PATHS)
def test_what_another_has_seen_comes_to_the_same(
    tmp_path_factory: pytest.TempPathFactory, paths: list[list[str]]
) -> None:
    root = tmp_path_factory.mktemp("walk") / "project"
    root.mkdir()
    for names in paths:
        folder = root.joinpath(*names[:-1])
        if not any(parent.is_file() for parent in (folder, *folder.parents)):
            folder.mkdir(parents=True, exist_ok=True)
            if not (folder / names[-1]).exists():
                (folder / names[-1]).write_text("")
    guard = PathGuard(
        HostView(home=str(root.parent), workspace=str(root), rules=AnalysisRules(protected_paths=("a/**/info",)))
    )
    seen = [
        Suspect("d" if os.path.isdir(path) else "f", path)
        for folder, folders, files in os.walk(root)
        for path in (os.path.join(folder, name) for name in folders + files)
    ]
    expected = {entry.path: entry for entry in survey(str(root), guard)}
    found = {entry.path: entry for entry in entries(str(root), seen, guard)}
    # What git numbers and records by itself is not looked at in a walk; the launcher does not tell of it.
    assert {path: found.get(path) for path in expected} == expected
    assert all("/.git/" in path or "/objects/" in path for path in found.keys() - expected.keys())


@pytest.mark.parametrize(
    "told",
    [b"x", b"fx\0\0", b"r00\0\0f/elsewhere\0\0", b"r00\0\0f/p/../x\0\0", b"r7\0\0", b"r00\0", b"r00\0\0q/p/x\0\0"],
)
def test_what_was_seen_elsewhere_is_refused(told: bytes) -> None:
    with pytest.raises(BadInputError):
        suspects(told, ["/p"])


def test_a_plan_is_the_same_by_either_way(native: Machine) -> None:
    """A file is seen, hidden or protected by the launcher's walk exactly as by the walk of the Python program."""
    native.git()
    for name in (
        ".env",
        "src/.env.local",
        "settings/plugins/a",
        ".vscode/tasks.json",
        "Ünï/.github/x",
        "deep/a/b/c/id_rsa",
    ):
        native.file(name, "the value\n")
    native.write("code/other/.env", "the value\n")
    show = (
        "find . ~ -type f -not -path '*/.git/*' -not -path '*/.cache/*' 2>/dev/null | sort | xargs -d '\\n' head -c 20"
    )
    tries = "; for f in .env .vscode/new .github/x CLAUDE.md ok; do echo x 2>/dev/null > $f && echo wrote $f; done"
    launched = native.run(show + tries)
    assert not native.fell_back
    for path in native.project.glob("*kept-by*"):
        path.rename(native.root / path.name)
    (native.project / "ok").unlink()
    native.native = False
    assert native.run(show + tries).stdout == launched.stdout


# ---------------------------------------------------------------- what it is told
@pytest.mark.parametrize("said", HOSTILE, ids=lambda said: f"{said[:12]!r} {len(said)}")
def test_a_gate_that_says_anything_else_is_done_without(native: Machine, said: bytes) -> None:
    native.end()
    with answering(native.state / "run" / "gate.sock", lambda _: said):
        done = native.run("echo ran; exit 4")
    assert (done.returncode, done.stdout) == (4, "ran\n"), done
    assert native.fell_back


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_a_gate_that_is_gone_is_done_without(native: Machine, number: signal.Signals) -> None:
    assert native.gate is not None
    native.gate.send_signal(number)
    done = native.run("echo ran; exit 4")
    assert (done.returncode, done.stdout) == (4, "ran\n"), done
    assert native.fell_back


def test_what_is_not_what_the_gate_writes_runs_nothing(native: Machine) -> None:
    for words in ([], ["--python", "python", "--script", PROGRAM, "--shell", "touch made"], ["--shell", "touch made"]):
        done = subprocess.run([LAUNCHER, *words], cwd=native.project, capture_output=True, check=False)
        assert done.returncode == 125
    assert not (native.project / "made").exists()


def test_another_installations_gate_plans_nothing(native: Machine) -> None:
    argv = native.argv("echo ran")
    argv[argv.index(PROGRAM)] = f"{os.path.dirname(PROGRAM)}/../lockgate/contain.py"
    assert native._run(argv).stdout == "ran\n"
    assert native.fell_back


# ---------------------------------------------------------------- while it runs, and afterwards
def test_the_gate_may_end_while_a_command_runs(native: Machine) -> None:
    made = "mkdir -p .github/workflows; echo evil > .github/workflows/x.yml; mkdir plain; exit 3"
    running = subprocess.Popen(
        native.argv(f"while ! test -e go; do sleep 0.05; done; {made}"),
        cwd=native.project,
        env=native.environment,
        stderr=subprocess.PIPE,
        text=True,
    )
    time.sleep(1)
    native.end()
    (native.project / "go").touch()
    _, said = running.communicate(timeout=60)
    assert running.returncode == 3, said
    assert "kept-by-lockgate" in said
    assert not (native.project / ".github").exists()


def test_again_and_again_is_ended(native: Machine) -> None:
    done = native.run("while :; do mkdir .github 2>/dev/null; sleep 0.02; done")
    assert "it was ended" in done.stderr
    assert not (native.project / ".github").exists()


def test_one_that_waits_costs_nothing(native: Machine) -> None:
    native.git()
    running = subprocess.Popen(native.argv("touch ready; sleep 3"), cwd=native.project, env=native.environment)
    while not (native.project / "ready").exists():
        time.sleep(0.05)
    time.sleep(0.5)
    ours = native.launchers(b"lockgate-contain")
    assert len(ours) >= 2, "the process that the client waits for, and the supervisor"
    before = [_switches(pid) for pid in ours]
    time.sleep(1.5)
    assert [_switches(pid) for pid in ours] == before, "none of them woke up"
    assert running.wait(60) == 0


def _switches(pid: int) -> str:
    return next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("voluntary"))


def test_many_at_once(native: Machine) -> None:
    command = "echo $$ > out.$N; sleep 0.2; exit $N"
    running = [
        subprocess.Popen(native.argv(command), cwd=native.project, env={**native.environment, "N": str(number)})
        for number in range(16)
    ]
    assert [each.wait(120) for each in running] == list(range(16))
    assert len(list(native.project.glob("out.*"))) == 16


@pytest.mark.parametrize("seed", range(6))
def test_whoever_is_killed_leaves_nothing(native: Machine, seed: int) -> None:
    """At a random moment: the process that the client waits for, its supervisor, all of them, or the gate."""
    chance = random.Random(seed)
    mounts = Path("/proc/self/mountinfo").read_text().count("\n")
    loop = "mkdir -p sub/.github; while sleep 0.02; do date > alive; done"
    running = subprocess.Popen(native.argv(loop), cwd=native.project, env=native.environment, start_new_session=True)
    time.sleep(chance.uniform(0, 0.3))
    ours = native.launchers(b"lockgate-contain")
    victims = {0: [running.pid], 1: ours[-1:], 2: ours}[seed % 3]
    if seed == 5:
        native.end()
    for pid in victims:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
    if seed % 3 == 1:
        os.kill(running.pid, signal.SIGTERM)
    running.wait(20)
    deadline = time.monotonic() + 20
    while native.launchers(b"lockgate-contain") or _is_alive(native):
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.05)
    assert Path("/proc/self/mountinfo").read_text().count("\n") == mounts


def test_a_supervisor_that_is_killed_leaves_no_place(native: Machine) -> None:
    loop = "mkdir -p sub/deep/er/.github; touch ready; sleep 60"
    running = subprocess.Popen(native.argv(loop), cwd=native.project, env=native.environment)
    while not (native.project / "ready").exists():
        time.sleep(0.02)
    for pid in native.launchers(b"lockgate-contain"):
        if pid != running.pid and os.getsid(pid) != os.getsid(0):
            os.kill(pid, signal.SIGKILL)
    assert running.wait(20) == 125
    assert not (native.project / "sub/deep/er/.github").exists()
    assert (native.project / "sub/deep/er/.github.kept-by-lockgate").exists()


def _is_alive(machine: Machine) -> bool:
    path = machine.project / "alive"
    if not path.exists():
        return False
    before = path.stat().st_mtime_ns
    time.sleep(0.3)
    return path.stat().st_mtime_ns != before


def test_the_socket_and_the_launcher_are_out_of_reach(native: Machine) -> None:
    tries = f"ls -A {native.state}; echo x >> {LAUNCHER} || mv {LAUNCHER} x; rm -f {LAUNCHER}"
    before = Path(LAUNCHER).stat()
    connect = "import os, socket, sys; os.chdir(sys.argv[1]); socket.socket(1).connect('gate.sock')"
    done = native.run(f'{tries}; python3 -c "{connect}" {native.state}/run')
    assert "gate.sock" not in done.stdout
    assert "FileNotFoundError" in done.stderr
    assert Path(LAUNCHER).stat().st_mtime_ns == before.st_mtime_ns
