"""What a person says about git, held against calls: each key, protected branches, layers, what is said of it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lockgate.core.model import Verdict
from lockgate.policy.git.repository import RepositoryFacts, repository, settings_in
from rules.git_world import against

MAIN: dict[str, Any] = {"protected_branches": ["main", "release/*"]}

DECISIONS: list[tuple[dict[str, Any], str, set[tuple[str, str]]]] = [
    ({}, "git push -f origin main", set()),
    ({"push": "allow"}, "git push -f origin main", set()),
    ({"push": "ask"}, "git push", {("rules:git/push", "ask")}),
    ({"push": "deny"}, "git pull", set()),
    ({"push": "deny"}, "git push --tags", {("rules:git/push", "deny")}),
    ({"force_push": "deny"}, "git push", set()),
    ({"force_push": "deny"}, 'git push origin "$(git branch --show-current)"', set()),
    ({"force_push": "deny"}, "git push -u origin HEAD", set()),
    ({"force_push": "deny"}, "git push origin $BRANCH", set()),
    ({"force_push": "deny"}, "git push origin $(cat x)", {("rules:git/force-push", "deny")}),
    (
        {"push": "ask", "force_push": "deny"},
        "git push -f",
        {("rules:git/push", "ask"), ("rules:git/force-push", "deny")},
    ),
    ({"delete_remote": "deny"}, "git push origin :old", {("rules:git/delete-remote", "deny")}),
    ({"delete_remote": "deny"}, "git branch -D old", set()),
    ({"pull": "ask"}, "git pull --rebase", {("rules:git/pull", "ask")}),
    ({"rebase": "deny"}, "git pull --rebase", {("rules:git/rebase", "deny")}),
    ({"rebase": "deny"}, "git commit --amend", set()),
    ({"rewrite": "deny"}, "git commit --amend", {("rules:git/rewrite", "deny")}),
    ({"rewrite": "deny"}, "git rebase main", {("rules:git/rebase", "deny")}),
    ({"rewrite": "deny", "rebase": "allow"}, "git rebase main", set()),
    ({"rewrite": "deny"}, "git reset --hard", set()),
    (MAIN, "git push origin main", {("rules:git/protected", "deny")}),
    (MAIN, "git push origin topic:release/1.0", {("rules:git/protected", "deny")}),
    (MAIN, "git push origin topic", set()),
    (MAIN, "git push", set()),
    (MAIN, "git push origin main:topic", set()),
    (MAIN, "git push origin mainly", set()),
    (MAIN, "git push origin v1:refs/tags/main", set()),
    (MAIN, "git push --all", {("rules:git/protected", "deny")}),
    (MAIN, "git push origin $BRANCH", {("rules:git/protected", "deny")}),
    (MAIN, "git push origin feature/$TICKET", set()),
    (MAIN, "git push origin release/$VERSION", {("rules:git/protected", "deny")}),
    (MAIN, "git branch -D main", {("rules:git/protected", "deny")}),
    (MAIN, "git branch -D topic", set()),
    (MAIN, "git checkout main && git pull --rebase", set()),
    (MAIN, "git checkout main && git merge topic && git commit -m x", set()),
    (MAIN, "git checkout main && git commit --amend", {("rules:git/protected", "deny")}),
    (MAIN, "git checkout main && git push", {("rules:git/protected", "deny")}),
    (MAIN, "git checkout -b fix && git push -u origin HEAD", set()),
    (MAIN, "git rebase main", set()),
    (MAIN, "git rebase topic main", {("rules:git/protected", "deny")}),
    ({**MAIN, "protected": "ask"}, "git push origin main", {("rules:git/protected", "ask")}),
    ({**MAIN, "protected": "allow"}, "git push origin main", set()),
    (
        {**MAIN, "push": "ask"},
        "git push origin main",
        {("rules:git/push", "ask"), ("rules:git/protected", "deny")},
    ),
    ({"push": "deny", "_why": "we review"}, "ls; cat a | grep git; git status", set()),
]


@pytest.mark.parametrize(("rules", "command", "expected"), DECISIONS)
def test_what_is_configured_decides(rules: dict[str, Any], command: str, expected: set[tuple[str, str]]) -> None:
    assert {(each.rule, each.verdict.word) for each in against(command, rules)} == expected


@pytest.mark.parametrize("command", ["git push", "git push origin HEAD", "git commit --amend", "git rebase topic"])
def test_on_a_protected_branch_and_where_the_branch_is_not_known(command: str) -> None:
    assert not against(command, MAIN, branch="work")
    for branch in ("main", "release/2", None):
        assert [each.rule for each in against(command, MAIN, branch=branch)] == ["rules:git/protected"]
    assert not against(command, MAIN, branch="")  # no branch is checked out


def test_each_configuration_that_holds_can_object() -> None:
    found = against("git push -f", {"push": "ask"}, {"force_push": "deny"})
    assert {(each.rule, each.verdict) for each in found} == {
        ("rules:git/push", Verdict.ASK),
        ("rules:git/force-push", Verdict.DENY),
    }


def test_the_reason_says_what_the_line_does_and_who_forbids_it() -> None:
    (found,) = against("true; git push --force origin x", {"force_push": "deny"})
    assert found.reason == (
        "`git push --force origin x` pushes with force, and user lockgate.yaml says `git: force_push: deny`"
    )
    (found,) = against("git push origin main", MAIN)
    assert found.reason == "`git push origin main` changes the branch `main`, which user lockgate.yaml protects"
    (found,) = against("git push origin $(cat x)", {"force_push": "deny"})
    assert "is only known when it runs" in found.reason
    assert "\0" not in found.reason
    (found,) = against("git push origin $B", MAIN)
    assert "name the branch" in found.reason


def test_a_call_with_too_many_lines_of_git_is_refused() -> None:
    found = against("\n".join(f"git push origin b{number}" for number in range(300)), {"force_push": "deny"})
    assert [(each.rule, each.verdict) for each in found] == [("rules:git/too-many", Verdict.DENY)]


# ---------------------------------------------------------------- spellings
QUOTES = st.sampled_from(["{}", "'{}'", '"{}"', "\\{}"])
PREFIXES = st.lists(
    st.sampled_from(["env", "env A=1", "sudo", "sudo -u me", "timeout 9", "nice -n 3", "nohup", "command"]), max_size=2
)
FRAMES = st.sampled_from(
    [
        "{}",
        "cd . && {}",
        "( {} )",
        "{{ {}; }}",
        "if true; then {}; fi",
        "true | {}",
        "X=$({})",
        "! {}",
        "time {}",
        "for i in 1 2; do {}; done",
        "while read l; do {}; done",
        "{} > /dev/null 2>&1 &",
        "f() {{ {}; }}; f",
        "true && {} || false",
    ]
)
PROGRAMS = st.sampled_from(["git", "/usr/bin/git", "git --no-pager", "git -C .", "git -c user.name=a", "hub"])
DANGEROUS = [["-f", "origin", "work"], ["origin", "+work"], ["--force-with-lease", "origin", "work"], ["-qf"]]
HARMLESS = [["origin", "work"], ["-u", "origin", "HEAD"], ["-q"], ["-o", "-f", "origin", "work"]]
EXTRAS = st.lists(st.sampled_from(["-q", "-v", "--progress", "--no-verify", "--atomic", "-u"]), max_size=3)


@st.composite
def lines(draw: st.DrawFn, choices: list[list[str]]) -> str:
    """One push, in some spelling."""
    words = list(draw(st.sampled_from(choices)))
    for extra in draw(EXTRAS):
        words.insert(0, extra)
    spelled = [draw(QUOTES).format(word) if word.isalnum() else draw(st.sampled_from(["{}", "'{}'"])).format(word)
               for word in ["push", *words]]  # fmt: skip
    return draw(FRAMES).format(" ".join([*draw(PREFIXES), draw(PROGRAMS), *spelled]))


@given(lines(DANGEROUS))
def test_no_spelling_of_a_forced_push_is_let_through(command: str) -> None:
    found = against(command, {"force_push": "deny"})
    assert [(each.rule, each.verdict) for each in found] == [("rules:git/force-push", Verdict.DENY)], command


@given(lines(HARMLESS))
def test_no_spelling_of_a_plain_push_is_taken_for_a_forced_one(command: str) -> None:
    assert against(command, {"force_push": "deny", "delete_remote": "deny"}) == [], command


# ---------------------------------------------------------------- the repository
def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_repository_is_read_from_any_folder_in_it(tmp_path: Path) -> None:
    _write(tmp_path / "p/.git/HEAD", "ref: refs/heads/feature/x\n")
    _write(tmp_path / "p/.git/config", '[remote "Origin"]\n\tpush = "+a:main" \n[push]\n\tDefault = matching\n')
    _write(tmp_path / "home/.gitconfig", "[alias] p = push -f\n")
    (tmp_path / "p/a/b").mkdir(parents=True)
    found = repository(str(tmp_path / "p/a/b"), str(tmp_path / "home"))
    assert found == RepositoryFacts(
        "feature/x", (("alias.p", "push -f"), ("remote.Origin.push", "+a:main"), ("push.default", "matching"))
    )


def test_a_linked_work_tree_has_a_branch_of_its_own_and_the_settings_of_the_first(tmp_path: Path) -> None:
    _write(tmp_path / "p/.git/config", "[push]\ndefault=current\n")
    _write(tmp_path / "p/.git/worktrees/w/HEAD", "ref: refs/heads/topic\n")
    _write(tmp_path / "p/.git/worktrees/w/commondir", "../..\n")
    _write(tmp_path / "w/.git", f"gitdir: {tmp_path}/p/.git/worktrees/w\n")
    assert repository(str(tmp_path / "w"), "/none") == RepositoryFacts("topic", (("push.default", "current"),))


def test_without_a_branch_and_without_a_repository(tmp_path: Path) -> None:
    _write(tmp_path / "p/.git/HEAD", "3f2a9c1d00000000000000000000000000000000\n")
    assert repository(str(tmp_path / "p"), "/none").branch == ""
    _write(tmp_path / "p/.git/HEAD", "ref: refs/weird\n")
    assert repository(str(tmp_path / "p"), "/none").branch is None
    os.unlink(tmp_path / "p/.git/HEAD")
    os.mkfifo(tmp_path / "p/.git/HEAD")  # nobody waits for a writer
    assert repository(str(tmp_path / "p"), "/none").branch is None
    assert repository(str(tmp_path / "empty"), "/none").branch is None
    assert repository("", "/none") == RepositoryFacts()


def test_settings_are_read_as_git_writes_them() -> None:
    text = '# a\n[core]\n\tbare\n[Remote "a b"] URL = x ; y\n[alias]\nq = "!sh -c \\"ls\\""\nnot a line\n'
    assert settings_in(text) == [
        ("core.bare", "true"),
        ("remote.a b.url", "x ; y"),
        ("alias.q", '!sh -c "ls"'),
    ]
