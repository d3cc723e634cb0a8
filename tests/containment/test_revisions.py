"""Commands of git that fill the work tree change no place that matters where they are contained, and work as ever."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from containment.machine import Machine

pytestmark = pytest.mark.sampled

SETTINGS = ".claude/settings.json"
HISTORY = """
git init -q -b main && git config user.email a@example.com && git config user.name A
mkdir -p .claude src && echo '{}' > .claude/settings.json && seq 20 > src/app && echo read > README
git add -A && git commit -q -m base
git checkout -q -b topic && seq 2 21 > src/app && echo new > src/new && git add -A && git commit -q -m topic
git checkout -q -b more main && echo more > more && git add -A && git commit -q -m more
git checkout -q main && echo own > own && git add -A && git commit -q -m own
"""
EVIL = """
blob=$(echo '{"evil": 1}' | git hash-object -w --stdin)
in=$(printf '100644 blob %s\\tsettings.json\\n' $blob | git mktree)
more() { printf '040000 tree %s\\t.claude\\n100644 blob %s\\tCLAUDE.md\\n' $in $blob; }
tree=$( (git ls-tree HEAD | grep -v .claude; more) | git mktree)
git branch C $(git commit-tree -p HEAD -m evil $tree)
"""
ATTACKS = [
    "git restore -s C .",
    "git restore -s C -SW .",
    "git checkout C -- .",
    "git checkout -f C",
    "git merge C",
    "git reset --hard C",
    "git cherry-pick C",
    "git rebase C",
    "git read-tree -m -u C",
    "git read-tree C && git checkout-index -a -f",
    "git archive C | tar x",
    "git worktree add x C && cp -r x/. .",
    "git diff HEAD C | git apply",
    "git reset -q C && git stash",
]
HONEST = [
    "git merge -q --no-edit topic",
    "git merge -q --ff-only topic || git merge -q --no-edit more",
    "echo changed >> src/app && git stash -q && git stash pop -q",
    "echo changed >> src/app && git stash -q && git checkout -q topic && git checkout -q - && git stash pop -q",
    "git checkout -q -b other && echo x > x && git add x && git commit -q -m x",
    "git switch -q topic && git switch -q -",
    "git cherry-pick topic more",
    "git revert --no-edit HEAD",
    "git rebase -q topic",
    "git rebase -q -x 'sleep 0.4' topic",
    "git reset -q --hard topic",
    "git restore -s topic src && git commit -q -am restored",
    "git checkout topic -- src && git status --short",
    "git bisect start main main~1 && git bisect reset",
    "rm README && git restore README",
]
STATE = "git log --format=%s%T --all; git status --short; git stash list | wc -l; ls -A; cat src/app"


def copied(machine: Machine) -> Path:
    """The project once more."""
    other = Path(shutil.copytree(machine.project, machine.root / "other", symlinks=True))
    beside(machine, other, "git status")  # git knows its files by more than their contents
    return other


def beside(machine: Machine, folder: Path, command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a copy of the project, and not contained."""
    argv = ["/bin/bash", "-c", command]
    return subprocess.run(argv, cwd=folder, env=machine.environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("command", ATTACKS)
def test_no_revision_gets_to_a_place_that_matters(machine: Machine, command: str) -> None:
    machine.outside(HISTORY)
    machine.outside(EVIL)
    other = copied(machine)
    before = (machine.project / SETTINGS).read_text()
    machine.run(command)
    assert (machine.project / SETTINGS).read_text() == before
    assert not (machine.project / "CLAUDE.md").exists()
    # Without the sandbox it is changed: what is tried here does something.
    beside(machine, other, command)
    assert (other / SETTINGS).read_text() != before or (other / "CLAUDE.md").exists()


@pytest.mark.parametrize("command", HONEST)
def test_ordinary_work_comes_to_the_same(machine: Machine, command: str) -> None:
    machine.environment |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z")
    machine.outside(HISTORY)
    other = copied(machine)
    outside, contained = beside(machine, other, command), machine.run(command)
    assert contained.returncode == outside.returncode == 0, (contained, outside)
    assert contained.stdout == outside.stdout
    assert machine.outside(STATE).stdout == beside(machine, other, STATE).stdout


STOPS = [
    ("git rebase -q clash", "git checkout --theirs src/app && git add -A && GIT_EDITOR=true git rebase --continue"),
    ("git rebase -q clash", "git rebase --abort"),
    (
        "git cherry-pick clash more",
        "git checkout --theirs src/app && git add -A && git -c core.editor=true cherry-pick --continue",
    ),
]
CLASH = """
git checkout -q -b clash main && seq 3 22 > src/app && git commit -q -am clash && git checkout -q -
echo else > src/app && git commit -q -am other
"""
EXEC = "mkdir -p .git/rebase-merge; echo 'exec ./x' >> .git/rebase-merge/git-rebase-todo"


@pytest.mark.parametrize(("begin", "go_on"), STOPS)
def test_what_stops_for_a_conflict_goes_on(machine: Machine, begin: str, go_on: str) -> None:
    machine.environment |= dict.fromkeys(("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"), "2026-01-01T00:00:00Z")
    machine.outside(HISTORY + CLASH)
    other = copied(machine)
    assert machine.run(begin).returncode == beside(machine, other, begin).returncode != 0
    assert machine.run(go_on).returncode == beside(machine, other, go_on).returncode == 0
    assert machine.outside(STATE).stdout == beside(machine, other, STATE).stdout


@pytest.mark.parametrize(
    "before",
    ["true", "git rebase -q clash || true", "mkdir .git/rebase-merge && echo noop > .git/rebase-merge/git-rebase-todo"],
)
def test_steps_that_run_commands_are_taken_out_of_force(machine: Machine, before: str) -> None:
    machine.outside(HISTORY + CLASH)
    machine.outside(before)
    ended = machine.run(EXEC)
    assert not (machine.project / ".git/rebase-merge/git-rebase-todo").exists(), ended
    assert "kept-by-lockgate" in ended.stderr


SWAP = "git status --short; mv .git/rebase-merge .git/old; mv .git/prepared .git/rebase-merge"


@pytest.mark.parametrize("before", ["noop", "exec true"])
def test_prepared_steps_are_taken_out_of_force(machine: Machine, before: str) -> None:
    machine.outside(HISTORY)
    machine.file(".git/prepared/git-rebase-todo", "exec ./x\n")
    machine.outside(f"mkdir .git/rebase-merge && echo {before} > .git/rebase-merge/git-rebase-todo")
    ended = machine.run(SWAP)
    assert not (machine.project / ".git/rebase-merge/git-rebase-todo").exists(), ended
    assert "kept-by-lockgate" in ended.stderr


@pytest.mark.parametrize("folder", [".git/worktrees/rebase-merge-2/rebase-merge", ".git/modules/a/b/rebase-merge"])
def test_steps_of_work_trees_and_submodules_are_taken_out_of_force(machine: Machine, folder: str) -> None:
    machine.outside(HISTORY)
    machine.outside(f"mkdir -p {folder} && echo noop > {folder}/git-rebase-todo")
    ended = machine.run(f"echo 'exec ./x' >> {folder}/git-rebase-todo")
    assert not (machine.project / folder / "git-rebase-todo").exists(), ended
    assert "kept-by-lockgate" in ended.stderr


def test_a_persons_own_steps_stay(machine: Machine) -> None:
    machine.outside(HISTORY + CLASH)
    machine.outside("git rebase -q -x true clash || true")
    machine.run("echo more >> README")
    assert (machine.project / ".git/rebase-merge/git-rebase-todo").exists()
