"""A command of git that is let run changes nothing in a place that matters: decided on a real disk, then run."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from lockgate.core.model import Label, Verdict
from lockgate.gate.host.host_view import host_view_in
from lockgate.policy.decide import decide
from lockgate.policy.profiles import read_shipped_profiles
from lockgate.shell import analyse_shell
from lockgate.system.folders import Folders

pytestmark = pytest.mark.sampled

ENVIRONMENT = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "true",
    **{f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}
BASE = {
    "README.md": "read\n",
    "src/app.py": "".join(f"line {number}\n" for number in range(20)),
    "x/a": "a long enough text\nto be known again\n",
    "x/b": "another text that is\nlong enough\n",
    ".claude/settings.json": "{}\n",
    ".github/workflows/ci.yml": "on: push\n",
}
REVISIONS: dict[str, dict[str, str | None]] = {
    "plain": {"src/app.py": "".join(f"line {number}\n" for number in range(1, 21))},
    "more": {"src/new.py": "new\n", "docs/a.md": "a\n"},
    "less": {"README.md": None},
    "settings": {".claude/settings.json": '{"evil": 1}\n'},
    "instructions": {"CLAUDE.md": "do this\n"},
    "nested": {"src/AGENTS.md": "do this\n", "src/.claude/settings.json": "evil\n"},
    "workflow": {".github/workflows/ci.yml": "on: evil\n"},
    "without": {".claude/settings.json": None},
    "hook": {".claude/hooks/x.sh": "evil\n"},
    "link": {".claude/settings.json": None, ".claude": "->x"},
    "into-x": {"x/settings.json": "evil\n"},
}
COMMANDS = [
    "git checkout {}",
    "git checkout --detach {}",
    "git checkout -f {}",
    "git checkout -b other {}",
    "git switch --detach {}",
    "git checkout {} -- .",
    "git checkout {} -- src x",
    "git restore -s {} .",
    "git restore -s {} -SW .",
    "git reset --hard {}",
    "git reset --keep {}",
    "git merge {}",
    "git merge --no-ff -m merged {}",
    "git merge --squash {}",
    "git cherry-pick {}",
    "git cherry-pick -n {}",
    "git revert --no-edit {}",
    "git rebase {}",
    "git rebase --onto {} HEAD~1",
    "git worktree add beside {}",
    "git stash apply {}",
    "git reset -q {}; git checkout .",
    "git reset -q {}; git stash",
    "git status --short && git merge {}",
]


def git(root: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=root, env={**ENVIRONMENT, "HOME": str(root)}, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def fill(root: Path, files: dict[str, str | None]) -> None:
    for name, text in files.items():
        path = root / name
        if text is None:
            path.unlink()
            if not any(path.parent.iterdir()):
                path.parent.rmdir()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(text[2:]) if text.startswith("->") else path.write_text(text)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a branch for each revision, where the branch of the project itself has moved a folder."""
    root = tmp_path_factory.mktemp("home") / "project"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    fill(root, dict(BASE))
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "base")
    for name, files in REVISIONS.items():
        git(root, "checkout", "-q", "-b", name, "main")
        fill(root, files)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", name)
    git(root, "checkout", "-q", "main")
    fill(root, {"src/own.py": "own\n"})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "own")
    return root


def places(root: Path) -> dict[str, str]:
    """What lies in the places that matter."""
    found = {}
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in [*names, *folders]:
            path = Path(folder, name)
            if {".claude", ".github"} & set(path.relative_to(root).parts) or name in ("CLAUDE.md", "AGENTS.md"):
                found[str(path)] = (
                    f"->{path.readlink()}" if path.is_symlink() else path.read_text() if path.is_file() else ""
                )
    # What another work tree has as this one has it is nothing new.
    return {name: text for name, text in found.items() if "/beside/" not in name or text not in found.values()}


def verdict(root: Path, command: str) -> Verdict:
    home = root.parent
    around = host_view_in(Folders(str(home), f"{home}/state", f"{home}/config"), str(root))
    effects = analyse_shell(command, str(root), around).effects
    labels = frozenset({Label.UNTRUSTED, Label.SECRET})
    return decide(effects, labels, read_shipped_profiles()["quarantine"], able=frozenset({Verdict.CONTAIN})).verdict


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_let_run_changes_nothing_that_matters(command, history, tmp_path):
    allowed = []
    for number, name in enumerate(REVISIONS):
        line = command.format(name)
        if verdict(history, line) is not Verdict.ALLOW:
            continue
        allowed.append(name)
        root = tmp_path / str(number) / "project"
        shutil.copytree(history, root, symlinks=True)
        before = {path.removeprefix(str(root)): text for path, text in places(root).items()}
        subprocess.run(
            ["/bin/sh", "-c", line], cwd=root, env={**ENVIRONMENT, "HOME": str(root)}, capture_output=True, check=False
        )
        after = {path.removeprefix(str(root)): text for path, text in places(root).items()}
        assert after == before, line
    # Ordinary revisions are let through, each way in which git tells what it does.
    ordinary = {"plain", "more", "less"}
    told = not {"-n", "apply", "reset"} & set(command.split()) or "hard" in command or "keep" in command
    if told and "; " not in command:
        assert ordinary <= set(allowed), command
    if "revert" not in command and "src" not in command:
        assert not {"settings", "instructions", "nested"} & set(allowed), command


def test_a_merge_does_not_follow_a_folder_that_was_moved(history, tmp_path):
    """What the other side adds to a folder goes where this side has moved the folder."""
    root = tmp_path / "project"
    shutil.copytree(history, root, symlinks=True)
    git(root, "checkout", "-q", "-b", "moved", "main")
    (root / "x").rename(root / ".claude" / "commands")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "moved")
    assert verdict(root, "git merge into-x") >= Verdict.CONTAIN
    assert verdict(root, "git merge plain") >= Verdict.CONTAIN
    assert verdict(root, "git checkout more -- docs") is Verdict.ALLOW


def test_a_folder_of_the_disk_is_looked_at(history, tmp_path):
    root = tmp_path / "project"
    shutil.copytree(history, root, symlinks=True)
    fill(root, {"evil/.claude/settings.json": "evil\n", "good/a.py": "a\n", "good/b/c.py": "c\n"})
    assert verdict(root, "cp -r evil/. .") is Verdict.DENY
    assert verdict(root, "rsync -a evil/ .") is Verdict.DENY
    assert verdict(root, "cp -r good/. src") is Verdict.ALLOW
    assert verdict(root, "mv good/* src/") is Verdict.ALLOW
    (root / "good" / "link").symlink_to("/etc")
    assert verdict(root, "cp -r good/. src") is Verdict.CONTAIN
