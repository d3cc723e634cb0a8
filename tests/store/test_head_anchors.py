"""The audit's head in a place that the machine does not own."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gate.world import World
from lockgate.core.errors import AuditError
from lockgate.core.model import Label
from lockgate.policy.lockbox.merging import OWNERS
from lockgate.store.audit.git_anchor import GitAnchor
from lockgate.store.audit.pruning import cut
from lockgate.store.files import PUT_BACK
from lockgate.store.sqlite import head_anchors
from lockgate.store.sqlite.head_anchors import HeadAnchors
from lockgate.store.sqlite.rollback import OutsideHead
from lockgate.store.sqlite.store import SqliteStore

BOTH = set(Label)


class Anchored(World):
    """A gate whose state somebody copies, with all that this machine keeps of it, and puts back."""

    @property
    def state(self) -> str:
        return str(self.folder / "state")

    @property
    def remote(self) -> Path:
        return self.folder.parent / "remote.git"

    def head_anchors(self, **changes: Any) -> HeadAnchors:
        anchor = {"kind": "git", "remote": f"file://{self.remote}", "branch": "heads", **changes}
        return HeadAnchors(self.state, str(self.folder / "home"), {"anchors": [anchor]})

    def places(self) -> list[Path]:
        outside = OutsideHead(self.state, self.store.key).places
        return [Path(self.state), *{Path(os.path.dirname(place)) for place in outside}]

    def copy(self) -> None:
        self.store.close()
        for place in self.places():
            shutil.copytree(place, self.folder / "copies" / place.relative_to("/"), dirs_exist_ok=True)
        self.reopen()

    def put_back(self) -> None:
        self.store.close()
        for place in self.places():
            shutil.rmtree(place)
            shutil.copytree(self.folder / "copies" / place.relative_to("/"), place)
        self.reopen()

    def reopen(self) -> None:
        self.store.close()
        self.store = SqliteStore.open(self.state)
        self.gate = self._monitor()

    def reason(self) -> str:
        with self.store.reading() as tx:
            return tx.setting(PUT_BACK) or ""

    def taint(self) -> None:
        self.run("mcp__github__get_issue", {"number": 7}, "please push")


_Made = TypeVar("_Made", bound=Anchored)


def git(*words: str) -> str:
    return subprocess.run(["git", *words], capture_output=True, text=True, check=True).stdout


def make(folder: Path, kind: type[_Made]) -> _Made:
    folder.mkdir(exist_ok=True)
    world = kind(folder)
    world.start()
    return world


@pytest.fixture
def world(tmp_path: Path) -> Anchored:
    git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    return make(tmp_path / "a", Anchored)


def test_all_places_of_this_machine_are_put_back_and_not_the_remote(world: Anchored) -> None:
    assert world.head_anchors().compare() == []
    world.copy()
    world.taint()
    assert world.head_anchors().compare() == []
    world.put_back()
    assert world.labels() == set(), "all that this machine keeps agrees"
    assert world.head_anchors().compare() == []
    assert "heads" in world.reason()
    assert world.labels() == BOTH
    assert len(world.records("put-back")) == 1
    assert world.head_anchors().compare() == []
    assert len(world.records("put-back")) == 1, "told once"
    world.put_back()
    world.head_anchors().compare()
    assert world.labels() == BOTH, "the same copy again"


def test_a_place_that_was_told_before_anything_was_recorded_raises_no_alarm(tmp_path: Path) -> None:
    git("init", "-q", "--bare", str(tmp_path / "remote.git"))
    (tmp_path / "a").mkdir()
    world = Anchored(tmp_path / "a")
    assert world.head_anchors().compare() == []
    world.start()
    world.taint()
    before = world.labels()
    assert world.head_anchors().compare() == []
    assert not world.reason()
    assert world.labels() == before


def test_who_is_killed_before_the_push_raises_no_alarm(world: Anchored) -> None:
    world.head_anchors().compare()
    world.taint()  # and nothing is pushed
    world.reopen()
    before = world.labels()
    assert world.head_anchors().compare() == []
    assert not world.reason()
    assert world.labels() == before


def test_a_remote_that_cannot_be_reached_stops_nobody_and_is_told_later(world: Anchored) -> None:
    lost = world.head_anchors(remote=f"file://{world.folder}/nowhere.git")
    (problem,) = lost.compare()
    assert problem.says.startswith("git file://")
    assert problem.sentence.endswith("; once you have seen to it, run: lockgate doctor")
    assert not world.reason()
    with world.store.reading() as tx:
        assert tx.session("s1")
    now = 1_000_000.0
    assert lost.problems(now) == [problem], "it was never reached"
    world.head_anchors().compare()
    now = time.time()
    shutil.move(world.remote, world.remote.with_suffix(".away"))
    (problem,) = world.head_anchors().compare()
    assert world.head_anchors().problems(now) == []
    assert world.head_anchors().problems(now + 2 * head_anchors.SILENT) == [problem]
    assert world.head_anchors().has_problems(now + 2 * head_anchors.SILENT)
    shutil.move(world.remote.with_suffix(".away"), world.remote)
    assert world.head_anchors().compare() == []
    assert world.head_anchors().all_problems(time.time()) == []
    assert not world.head_anchors().has_problems(time.time()), "it was reached, and the other one is named no more"


def test_a_remote_that_somebody_rewinds_is_told_and_written_anew(world: Anchored) -> None:
    world.head_anchors().compare()
    first = git("-C", str(world.remote), "rev-parse", "heads").strip()
    world.taint()
    world.head_anchors().compare()
    git("-C", str(world.remote), "update-ref", "refs/heads/heads", first)
    (problem,) = world.head_anchors().compare()
    assert "put it back" in problem.says
    assert not world.reason(), "who rewinds it wins nothing"
    assert world.head_anchors().compare() == []
    assert world.head_anchors().problems(time.time()) == [problem]
    assert world.head_anchors().problems(time.time() + head_anchors.TOLD) == []
    git("-C", str(world.remote), "update-ref", "-d", "refs/heads/heads")
    (problem,) = world.head_anchors().compare()
    assert "emptied" in problem.says
    assert problem.mend == "lockgate audit accept"
    assert world.head_anchors().compare() == []
    assert world.head_anchors().problems(time.time()) == [problem]
    world.head_anchors().accept()
    assert world.head_anchors().problems(time.time()) == [], "a person has looked"


def test_what_another_writes_in_our_name_is_no_head(world: Anchored) -> None:
    world.head_anchors().compare()
    place = GitAnchor({"remote": f"file://{world.remote}", "branch": "heads"}, world.state, str(world.folder))
    place.write(world.store.gate[:32], f"9999 {'0' * 64}\n{'0' * 64}\n")
    assert len(world.head_anchors().compare()) == 1
    assert not world.reason()


def test_two_machines_share_one_remote(world: Anchored, tmp_path: Path) -> None:
    SqliteStore.open(str(tmp_path / "b" / "state")).close()  # an installation of its own
    other = make(tmp_path / "b", Anchored)
    for _ in range(2):
        assert world.head_anchors().compare() == []
        assert other.head_anchors().compare() == []
        world.taint()
        other.taint()
    assert len(git("-C", str(world.remote), "ls-tree", "--name-only", "heads").split()) == 2
    world.copy()
    world.bash("ls")
    world.head_anchors().compare()
    world.put_back()
    other.head_anchors().compare()
    world.head_anchors().compare()
    assert world.reason()
    assert not other.reason()


@pytest.mark.parametrize("remote", ["--upload-pack=touch x", "ext::sh -c id", "-x", "http://a/b", "a b", "/a\nb"])
def test_no_remote(world: Anchored, remote: str) -> None:
    with pytest.raises(AuditError):
        GitAnchor({"remote": remote, "branch": "heads"}, world.state, "/")


@pytest.mark.parametrize("branch", ["-f", "a b", "+x:y", "a:b", ""])
def test_no_branch(world: Anchored, branch: str) -> None:
    with pytest.raises(AuditError):
        GitAnchor({"remote": "/a", "branch": branch}, world.state, "/")


def test_a_project_cannot_name_one() -> None:
    assert "audit" in OWNERS


def test_a_gate_tells_at_its_start_and_at_its_end(world: Anchored, monkeypatch: pytest.MonkeyPatch) -> None:
    where = world.head_anchors()
    where.start_comparisons()()
    told = git("-C", str(world.remote), "rev-parse", "heads")
    world.copy()
    world.taint()
    where.start_comparisons()()
    assert git("-C", str(world.remote), "rev-parse", "heads") != told
    world.put_back()
    where.start_comparisons()()
    assert world.reason()


def test_records_that_retention_removed_are_no_alarm(world: Anchored) -> None:
    world.head_anchors().compare()
    world.taint()
    with world.store.transaction() as tx:
        assert cut(tx, world.store.key, tx.audit_head().seq - 1, 1.0, {"event": "pruned"}) > 0
    assert world.head_anchors().compare() == []
    assert not world.reason()


def test_a_project_cannot_lead_git_elsewhere(world: Anchored, monkeypatch: pytest.MonkeyPatch) -> None:
    touched = world.folder / "touched"
    hook = world.folder / "run"
    hook.write_text(f"#!/bin/sh\ntouch {touched}\n")
    hook.chmod(0o700)
    for name in ("GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_EXTERNAL_DIFF", "GIT_PROXY_COMMAND"):
        monkeypatch.setenv(name, str(hook))
    monkeypatch.setenv("PATH", str(world.folder), prepend=os.pathsep)
    hook.rename(world.folder / "git")
    monkeypatch.setenv("GIT_DIR", str(world.folder / "other.git"))
    assert world.head_anchors().compare() == []
    assert not touched.exists()
