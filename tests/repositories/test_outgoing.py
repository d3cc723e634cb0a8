"""Which files a push sends, held against what git itself has."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from lockgate.gate.host.repositories import repository
from lockgate.gate.host.repositories.repository import find_outgoing

_WHO = {
    f"GIT_{who}_{what}": f"{what.lower()}@x.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
}


def git(folder: Path, *words: str) -> str:
    environ = {**os.environ, **_WHO, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", "-C", str(folder), *words], env=environ, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def commit(folder: Path, **files: str) -> None:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git(folder, "add", "-A", "-f")
    git(folder, "commit", "-qm", "x")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with one commit that its remote has."""
    server, folder = tmp_path / "server", tmp_path / "project"
    git(tmp_path, "init", "-q", "--bare", str(server))
    git(tmp_path, "init", "-q", "-b", "main", str(folder))
    commit(folder, README="a", src__a="a", src__b="b")
    git(folder, "remote", "add", "origin", str(server))
    git(folder, "push", "-q", "-u", "origin", "main")
    return folder


def sent(project: Path, remote: str = "", revision: str = "HEAD") -> dict[str, str] | None:
    return find_outgoing(str(project), str(project.parent), remote, revision)


def test_nothing_is_sent_that_the_other_side_has(project: Path) -> None:
    assert sent(project) == {}


def test_only_what_is_new_is_sent_under_the_name_that_git_gives_to_it(project: Path) -> None:
    commit(project, src__c__d="secret", README="b")
    names = ("README", "src/c/d")
    assert sent(project) == {name: git(project, "rev-parse", f"HEAD:{name}") for name in names}


def test_what_a_later_commit_removes_is_sent_too(project: Path) -> None:
    commit(project, secret="x")
    git(project, "rm", "-q", "secret")
    git(project, "commit", "-qm", "y")
    assert list(sent(project) or ()) == ["secret"]


def test_a_new_branch_sends_what_no_branch_of_the_remote_has(project: Path) -> None:
    git(project, "checkout", "-qb", "topic")
    commit(project, new="x")
    assert list(sent(project, "origin", "topic") or ()) == ["new"]


def test_the_folders_of_many_commits_are_compared_once(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(6):
        commit(project, a__deep__file="x", b__changed=str(number))
    listed = Counter[str]()
    before = repository.GitRepository._list

    def counted(self: repository.GitRepository, tree: str) -> list[tuple[int, str, str]]:
        listed[tree] += 1
        return before(self, tree)

    monkeypatch.setattr(repository.GitRepository, "_list", counted)
    assert set(sent(project) or ()) == {"a/deep/file", "b/changed"}
    assert listed[git(project, "rev-parse", "HEAD:a")] == 1


def test_of_a_push_of_very_many_files_nothing_is_told(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repository, "_MOST_SENT", 3)
    commit(project, x="1", y="2", z="3")
    assert set(sent(project) or ()) == {"x", "y", "z"}
    commit(project, more="4")
    assert sent(project) is None


def test_a_stash_is_looked_into(project: Path) -> None:
    (project / "README").write_text("changed")
    git(project, "stash", "-q")
    assert list(sent(project, "origin", "stash@{0}") or ()) == ["README"]


def test_an_unknown_remote_has_nothing(project: Path) -> None:
    assert set(sent(project, "https://e.example/x") or ()) == {"README", "src/a", "src/b"}


def test_where_there_is_no_repository_nothing_can_be_told(tmp_path: Path) -> None:
    assert find_outgoing(str(tmp_path), str(tmp_path), "", "HEAD") is None


def test_a_revision_that_is_none_sends_nothing(project: Path) -> None:
    assert sent(project, "origin", "nothing-of-this-name") is None
