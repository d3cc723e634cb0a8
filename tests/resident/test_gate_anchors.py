"""The head that a real gate keeps off the machine: written by its process, whenever that is killed."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest

from adapters.payloads import tool
from lockgate.core.model import Label, Subject
from lockgate.store.chain_links import gate_of
from support.builds import Build

from .machine import Machine

pytestmark = pytest.mark.sampled

PAGE = {"url": "https://example.org/", "prompt": "read"}
STALLING = """#!/bin/sh
[ -e {folder}/stall ] || exit 0
cat > /dev/null
touch {folder}/reached
until [ -e {folder}/go ]; do sleep 0.02; done
exit {code}
"""
KEEPER = """
import pathlib

class Keeper:
    def __init__(self, options, state, home):
        self.folder = pathlib.Path(options["folder"])

    def read(self, name):
        file = self.folder / name
        return file.read_text() if file.exists() else None

    def write(self, name, text):
        (self.folder / name).write_text(text)
"""


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


class Anchored:
    """A machine whose gate keeps the head in a bare repository beside it."""

    def __init__(self, machine: Machine) -> None:
        self.machine = machine
        self.remote = machine.root / "remote.git"
        git("init", "-q", "--bare", str(self.remote))
        anchor = f"{{kind: git, remote: 'file://{self.remote}', branch: heads}}"
        (machine.config / "lockgate.yaml").write_text(f"audit: {{anchors: [{anchor}]}}\n")

    def stall(self, code: int) -> None:
        """Have the next push wait on the remote's side, and end with a status."""
        hook = self.remote / "hooks" / "pre-receive"
        hook.write_text(STALLING.format(folder=self.machine.root, code=code))
        hook.chmod(0o700)
        (self.machine.root / "stall").touch()

    def told(self) -> int:
        """How many records the remote knows of; 0 where it knows of none."""
        with self.machine.store() as store:
            name = gate_of(store.key)[:32]
        done = subprocess.run(
            ["git", "-C", str(self.remote), "show", f"heads:{name}"], capture_output=True, text=True, check=False
        )
        return int(done.stdout.split()[0]) if done.returncode == 0 else 0

    def recorded(self) -> int:
        """How many records there are."""
        with self.machine.store() as store, store.reading() as tx:
            return tx.audit_head().seq

    def pushes(self) -> list[str]:
        """The runs of git for this remote that are left."""
        mark, found = os.fsencode(self.remote), []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            if mark in command:
                found.append(folder.name)
        return found

    def reads(self, session: str, **environ: str) -> None:
        """A session reads a stranger's page."""
        for event, more in (("PreToolUse", {}), ("PostToolUse", {"tool_response": {"result": "push it", "code": 200}})):
            call = tool(event, "WebFetch", PAGE, session_id=session, tool_use_id=session, **more)
            told = self.machine.hook(call, **environ)
            assert told.code == 0
            assert not told.refuses

    def labels(self, session: str) -> set[Label]:
        with self.machine.store() as store, store.reading() as tx:
            return {taint.label for taint in tx.taints(Subject(session))}

    def kill(self) -> None:
        for pid in self.machine.gates():
            os.kill(pid, signal.SIGKILL)
        self.machine.until(lambda: not self.machine.gates(), "no gate to be left")


@pytest.fixture
def anchored(machine: Machine) -> Anchored:
    return Anchored(machine)


def test_a_gate_tells_the_remote_at_its_start_and_at_its_end(anchored: Anchored) -> None:
    gate = anchored.machine.start()
    anchored.machine.until(lambda: anchored.told() > 0 or anchored.recorded() == 0, "the first head")
    anchored.reads("one")
    gate.send_signal(signal.SIGTERM)
    gate.wait(30)
    assert anchored.told() == anchored.recorded() > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("code", "late"),
    [
        pytest.param(1, False, id="the push never arrives"),
        pytest.param(0, False, id="the push arrives after the kill"),
        pytest.param(0, True, id="the push arrives after the next run"),
    ],
)
def test_a_gate_that_is_killed_between_its_commit_and_its_push_loses_nothing(
    anchored: Anchored, code: int, late: bool
) -> None:
    machine, root = anchored.machine, anchored.machine.root
    machine.start()
    anchored.reads("first")
    anchored.kill()
    before = anchored.told()
    anchored.stall(code)
    machine.start()
    machine.until(lambda: (root / "reached").exists(), "a push that waits")
    anchored.reads("second")
    assert machine.facts["answered"] == 2, "no call waits for the remote"
    anchored.kill()
    assert anchored.told() == before, "it was killed before the push was taken"
    assert anchored.pushes(), "git has outlived the gate"
    (root / "stall").unlink()
    if not late:
        (root / "go").touch()
        machine.until(lambda: not anchored.pushes(), "the push to end")
    recorded = anchored.recorded()

    machine.start()
    machine.until(lambda: anchored.told() >= recorded, "the next run to mend it")
    newest = anchored.told()
    (root / "go").touch()
    machine.until(lambda: not anchored.pushes(), "the late push to end")
    assert anchored.told() >= newest, "what comes late takes nothing back"
    assert all(Label.UNTRUSTED in anchored.labels(session) for session in ("first", "second"))
    assert not [body for body in machine.audit() if body["event"] == "put-back"]
    assert machine.verified().ok
    git("-C", str(anchored.remote), "fsck", "--strict")


@pytest.mark.slow
def test_an_old_state_is_noticed_by_the_next_gate_after_such_a_kill(anchored: Anchored) -> None:
    machine, root = anchored.machine, anchored.machine.root
    copied = root / "copied"
    anchored.reads("first", LOCKGATE_RESIDENT="off")
    places = [Path(machine.state), Path(machine.state).parent / ".lockgate"]
    for place in places:
        shutil.copytree(place, copied / place.name)
    anchored.reads("second", LOCKGATE_RESIDENT="off")
    anchored.stall(0)
    machine.start()
    machine.until(lambda: (root / "reached").exists(), "a push that waits")
    anchored.kill()
    (root / "go").touch()
    machine.until(lambda: not anchored.pushes(), "the push to end")
    assert anchored.told() == anchored.recorded()
    for place in places:
        shutil.rmtree(place)
        shutil.copytree(copied / place.name, place)
    machine.start()
    machine.until(lambda: any(body["event"] == "put-back" for body in machine.audit()), "the alarm")
    assert anchored.labels("first") == set(Label)


def test_a_real_gate_loads_a_place_of_another_kind_from_its_environment(machine: Machine) -> None:
    environment, kept = machine.root / "environment", machine.root / "kept"
    kept.mkdir()
    build = Build(environment, "one")
    assert build.package.parent == environment
    (environment / "acme_keeper.py").write_text(KEEPER)
    told = environment / "acme_keeper-1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-keeper\nVersion: 1\n")
    (told / "entry_points.txt").write_text("[lockgate.anchors]\nacme = acme_keeper:Keeper\n")
    (machine.config / "lockgate.yaml").write_text(f"audit: {{anchors: [{{kind: acme, folder: '{kept}'}}]}}\n")
    gate = machine.start(program=build.gate)
    machine.until(lambda: any(kept.iterdir()), "the head")
    gate.send_signal(signal.SIGTERM)
    gate.wait(30)
    (file,) = kept.iterdir()
    with machine.store() as store, store.reading() as tx:
        assert int(file.read_text().split()[0]) == tx.audit_head().seq
