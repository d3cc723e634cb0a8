"""Files whose names no word of a command says: trees of git, folders that are copied whole, names that are made up."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from lockgate.core.model import EffectKind, Label, Verdict
from lockgate.policy.decide import decide
from lockgate.policy.profiles import read_shipped_profiles
from lockgate.resources.host_view import HostView, ScriptFile
from lockgate.shell import analyse_shell
from support.repositories import ORDINARY, Told

HOME, PROJECT = "/home/user", "/home/user/work"
DISK = {**ORDINARY, ".claude/settings.json": "s1", ".github/workflows/ci.yml": "c1", "CLAUDE.md": "i1"}
"""What lies in the project."""
EVIL = {**ORDINARY, ".claude/settings.json": "evil"}
PLAIN = Told(
    PROJECT,
    trees={
        "": DISK,
        "HEAD": DISK,
        "before": DISK,
        "main": {**DISK, "src/new.py": "n1"},
        "src-only": {**DISK, "src/app.py": "a2"},
        "C": {**DISK, ".claude/settings.json": "evil"},
        "C^1": DISK,
        "without": {name: content for name, content in DISK.items() if not name.startswith(".claude/")},
        "instructions": {**DISK, "docs/AGENTS.md": "evil"},
        "whole-folder": {**DISK, ".claude": "link:evil"},
        "deep": {**DISK, "src/.claude/settings.json": "evil"},
        "old": {**DISK, ".github/workflows/ci.yml": "c0"},
        "old^1": {**DISK, ".github/workflows/ci.yml": "c0", "src/app.py": "a0"},
        "main^1": DISK,
        "stash@{0}": {**DISK, "src/app.py": "a3"},
        "stash@{0}^1": DISK,
        "stash@{0}^3": {},
        "stash@{1}": DISK,
        "stash@{1}^1": DISK,
        "stash@{1}^3": {"CLAUDE.md": "evil"},
    },
    disk=DISK,
    bases={("HEAD", name): "before" for name in ("main", "src-only", "C", "old", "instructions")},
    picks={("main", "HEAD"): ("main",), ("C", "HEAD"): (), ("main", "C"): ("C",), ("a", "b"): ("C",)},
)


def verdict(
    command: str, repository: Told | None = PLAIN, copied: Mapping[str, tuple[str, ...]] | None = None
) -> Verdict:
    """What is decided where strangers' text and a secret were read."""
    around = HostView(
        home=HOME,
        workspace=PROJECT,
        variables={"HOME": HOME, "PATH": "/usr/bin:/bin"},
        repository=lambda _: repository,
        is_git_folder=f"{PROJECT}/bare".__eq__,
        copied=None if copied is None else lambda folder: copied.get(folder, ()),
    )
    effects = analyse_shell(command, PROJECT, around).effects
    labels = frozenset({Label.UNTRUSTED, Label.SECRET})
    return decide(effects, labels, read_shipped_profiles()["quarantine"], able=frozenset({Verdict.CONTAIN})).verdict


TREES = [
    "git restore -s C .",
    "git restore --source=C --worktree .",
    "git restore -s C -SW -- .",
    "git restore -s C .claude/",
    "git restore -s C ':/'",
    "git restore -s C '*'",
    "git checkout C -- .",
    "git checkout C .",
    "git checkout C -- ':(glob)**'",
    "git checkout C",
    "git checkout -f C",
    "git checkout --detach C",
    "git checkout -b x C",
    "git switch C",
    "git switch -c x C",
    "git checkout whole-folder",
    "git checkout deep",
    "git checkout without",
    "git reset --hard C",
    "git reset --hard without",
    "git reset --merge C",
    "git reset --keep C",
    "git merge C",
    "git merge --no-ff C",
    "git merge -s subtree main",
    "git merge -X subtree=.claude main",
    "git merge main C",
    "git merge unknown",
    "git cherry-pick C",
    "git cherry-pick main C",
    "git cherry-pick -n C",
    "git cherry-pick a..b",
    "git revert without",
    "git rebase C",
    "git rebase --onto C main",
    "git rebase main C",
    "git rebase --continue",
    "git rebase --abort",
    "git stash apply stash@{1}",
    "git stash pop 1",
    "git stash branch x",
    "git stash -u",
    "git worktree add x C",
    "git worktree add x instructions",
    "git pull . C",
    "git pull ../other main",
    "git read-tree -u C",
    "git read-tree -m -u C",
    "git checkout-index -a",
    "git bisect start C main",
    "git sparse-checkout disable",
    "git am --continue",
    "git am x.patch",
    "git apply x.patch",
    # What runs before it, or beside it, can make the branch another one.
    "git branch -f main C && git checkout main",
    "git update-ref refs/heads/main C; git reset --hard main",
    "git update-ref refs/heads/main C | git checkout main",
    "(sleep 1; git branch -f main C) & git checkout main",
    "cp x .git/refs/heads/main; git checkout main",
    "echo x > .git/refs/heads/main; git checkout main",
    "f() { git branch -f main C; }; f; git checkout main",
    "git reset --soft C; git checkout -f",
    "git symbolic-ref HEAD refs/heads/C; git checkout -f",
    # The last commit whose message has these words.
    "git checkout :/evil",
    "git clone -b C . copy",
    "git clone --branch=instructions . copy",
    "git clone unknown copy",
    "git clone ../a.bundle copy",
    "git clone $dir copy && git clone C copy",
    "git branch -f main C; git clone -b main . copy",
    "git checkout $branch",
    "cd $dir && git checkout main",
    "GIT_INDEX_FILE=x git checkout .",
    "git -c core.worktree=/ checkout main",
    "git --work-tree=. checkout main",
]


@pytest.mark.parametrize("command", TREES)
@pytest.mark.parametrize("told", [True, False], ids=["told", "nobody-knows"])
def test_a_revision_that_can_hold_anything_is_not_put_there(command, told):
    assert verdict(command, PLAIN if told else None) >= Verdict.CONTAIN


HONEST = [
    "git checkout main",
    "git checkout -",
    "git checkout -b topic",
    "git checkout -b topic main",
    "git checkout -b fix/$(date +%Y%m%d)",
    "git checkout main -- src",
    "git checkout main -- .",
    "git checkout -- .",
    "git checkout .",
    "git checkout src/app.py",
    "git checkout -- src/app.py",
    "git switch main",
    "git switch -c topic",
    "git restore .",
    "git restore src/app.py",
    "git restore --staged .",
    "git restore -s main -- src tests",
    "git reset --hard main",
    "git reset --hard",
    "git reset --soft C",
    "git reset C",
    "git reset HEAD src/app.py",
    "git merge main",
    "git merge --no-ff -m 'Merge it' src-only",
    "git merge --continue",
    "git merge -X ours main",
    "git cherry-pick main",
    "git cherry-pick --no-commit main",
    "git cherry-pick --quit",
    "git revert main",
    "git rebase main",
    "git rebase -i main",
    "GIT_SEQUENCE_EDITOR=: git rebase -i --autosquash main",
    "git stash",
    "git stash push -m 'half done' -- src",
    "git stash pop",
    "git stash apply stash@{0}",
    "git stash list",
    "git stash drop",
    "git stash show -p",
    "git worktree add ../x main",
    "git worktree add -b topic .worktrees/topic main",
    "git worktree add ../x -b topic",
    "git worktree list",
    "git checkout -f",
    "git checkout -- :/src",
    "git clone . copy",
    "git clone -b main . copy",
    "git clone -b C . /tmp/copy",
    "git clone --bare -b C . copy.git",
    "git clone --no-checkout -b C . copy",
    "git status && git merge main",
    "git log --oneline -3; git checkout main",
    "git merge main 2>&1 | tail -5",
    "cd src && git checkout main",
    "git pull",
    "git pull origin main",
    "git commit -am work",
    "git commit --amend --no-edit",
    "git bisect log",
    "git sparse-checkout list",
    "git tag v1 C",
    "git branch -D C",
]


@pytest.mark.parametrize("command", HONEST)
def test_ordinary_work_is_let_be(command):
    trees = {**PLAIN.trees, "@{-1}": DISK}
    assert verdict(command, PLAIN._replace(trees=trees)) is Verdict.ALLOW


def test_another_repository_brings_all_that_it_holds():
    """What lies in the project is trusted there; what another one holds is not, though it is the same."""
    other = PLAIN._replace(root=f"{PROJECT}/other")
    assert verdict("git clone other copy", other) is Verdict.DENY
    assert verdict("git clone -b without other copy", other) is Verdict.DENY
    assert verdict("git clone -b unknown other copy", other) is Verdict.ASK
    trees = {"HEAD": ORDINARY}
    assert verdict("git clone other copy", other._replace(trees=trees)) is Verdict.ALLOW
    assert verdict("cp -r x other; git clone other copy", other._replace(trees=trees)) >= Verdict.CONTAIN


def test_a_work_tree_that_cannot_be_told_is_asked_about():
    """In the sandbox its `.git` would be moved aside, or its folder could not be made."""
    assert verdict("git worktree add x unknown") is Verdict.ASK
    assert verdict('d=$(mktemp -d) && git worktree add "$d/x" main') is Verdict.CONTAIN


def test_a_file_that_is_there_already_is_nothing_new():
    assert verdict("git checkout old") is Verdict.DENY  # another version of what its continuous integration runs
    # That side has not touched it: what lies there stays.
    trees = {**PLAIN.trees, "before": {**DISK, ".github/workflows/ci.yml": "c0"}}
    assert verdict("git merge old", PLAIN._replace(trees=trees)) is Verdict.ALLOW
    assert verdict("git cherry-pick old") is Verdict.ALLOW


def test_a_folder_that_was_given_another_name_draws_files_after_it():
    """What the other side adds to ``x`` a merge puts where this side has moved ``x``."""
    base = {**DISK, "x/a": "1"}
    ours = {**DISK, ".claude/hooks/a": "1"}
    theirs = {**base, "x/settings.json": "evil"}
    trees = {"before": base, "HEAD": ours, "": ours, "topic": theirs}
    told = Told(PROJECT, trees, {**DISK, ".claude/hooks/a": "1"}, {("HEAD", "topic"): "before"})
    assert verdict("git merge topic", told) is Verdict.CONTAIN


def test_what_was_changed_and_not_committed_is_not_what_a_checkout_writes():
    mine = {**DISK, "CLAUDE.md": "mine"}
    assert verdict("git checkout main", PLAIN._replace(disk=mine)) is Verdict.ALLOW
    assert verdict("git checkout -f main", PLAIN._replace(disk=mine)) is Verdict.DENY
    assert verdict("git reset --hard", PLAIN._replace(disk=mine)) is Verdict.DENY
    assert verdict("git stash", PLAIN._replace(disk=mine)) is Verdict.DENY


def test_a_clean_session_is_let_do_it():
    around = HostView(home=HOME, workspace=PROJECT, repository=lambda _: PLAIN)
    for command in ("git checkout C", "git restore -s C .", "git merge unknown", "rename 's/a/b/' x"):
        effects = analyse_shell(command, PROJECT, around).effects
        assert (
            decide(effects, frozenset(), read_shipped_profiles()["quarantine"], able=frozenset()).verdict
            is Verdict.ALLOW
        )


# ---------------------------------------------------------------- folders that are copied or moved
FOLDERS = {
    f"{PROJECT}/evil": ("a.py", ".claude", ".claude/settings.json"),
    f"{PROJECT}/notes": ("sub", "sub/CLAUDE.md"),
    f"{PROJECT}/src": ("app.py", "lib", "lib/x.py"),
    f"{PROJECT}/bare": ("HEAD", "objects", "refs", "config"),
    "/tmp/x": ("CLAUDE.md",),
    "/tmp/src": ("app.py",),
}
COPIES = [
    "cp -r evil/. .",
    "cp -rT evil .",
    "cp -R evil/* .",
    "cp -a evil/.c* .",
    "cp -r evil other",
    "cp -r -t other evil",
    "cp -r notes/. .",
    "cp -r notes/* docs",
    "cp -r notes docs",
    "cp -r evil x && cp -r x/. .",
    "mv evil x; cp -r x/. .",
    "rsync -a evil/ .",
    "rsync -a evil/ ./sub/",
    "rsync -a evil .",
    "mv evil/* .",
    "mv notes/* .",
    "mv evil x",
    "ditto evil x",
    "git mv evil x",
    "cp -r /tmp/src .",
    "cp -r /tmp/x/. .",
    "cp /tmp/x/* .",
    "mv /tmp/x/* .",
    "ls /tmp/x | xargs -I{} cp /tmp/x/{} .",
    "python3 -c \"import shutil; shutil.copytree('evil', 'x')\"",
    "python3 -c \"import os; os.rename('notes', 'docs')\"",
    "cp -r $dir/. .",
    "mv bare bare2; cd bare2; git status",
    "cp -r bare bare3; git -C bare3 status",
    "cp -r bare/. x && git -C x log",
    "mkdir x; cp -r bare/* x; git -C x log",
    "ln -s bare x; cd x; git status",
    "mv bare a && mv a b && git -C b status",
]


@pytest.mark.parametrize("command", COPIES)
def test_a_folder_with_names_that_matter_is_not_copied_unseen(command):
    assert verdict(command, copied=FOLDERS) >= Verdict.CONTAIN


@pytest.mark.parametrize(
    "command",
    [
        "cp -r src/. lib",
        "cp -r src lib",
        "cp src/* lib",
        "cp src/*.py lib",
        "rsync -a src/ build/",
        "mv src/* lib/",
        "mv src lib",
        "cp -r src/. /tmp/out",
        "cp -r evil /tmp/out",
        "cp /tmp/src/app.py src/",
        "cp -a /tmp/report.md docs/",
        "mv /tmp/report.md docs/",
        "mv /tmp/src/* lib/",
        "cp -r src src2; cd src2; git status",
        "ln -s src x; cd x; git status",
    ],
)
def test_ordinary_folders_are_copied(command):
    assert verdict(command, copied=FOLDERS) is Verdict.ALLOW


@pytest.mark.parametrize(
    "command",
    [
        "cp -P link l2; echo a > l2",
        "cp -a link l2 && cp x l2",
        "cp -R link l2; tee l2 < x",
        "rsync -a link l2; echo a > l2",
        "cp -rP sub /tmp/y; echo a > /tmp/y/link",
        "cp -a link l2; mv l2 l3; echo a > l3",
    ],
)
def test_a_link_leads_on_where_it_was_copied_to(command):
    links = {f"{PROJECT}/link": f"{HOME}/.bashrc", f"{PROJECT}/sub/link": f"{PROJECT}/.git/hooks/pre-commit"}
    around = HostView(home=HOME, workspace=PROJECT, realpath=lambda path: links.get(path, path))
    kinds = {effect.kind for effect in analyse_shell(command, PROJECT, around).effects}
    assert EffectKind.PERSIST in kinds
    plain = HostView(home=HOME, workspace=PROJECT, realpath=lambda path: path)
    kinds = {effect.kind for effect in analyse_shell(command, PROJECT, plain).effects}
    assert EffectKind.PERSIST not in kinds


@pytest.mark.parametrize("command", ["cp -r x/. .", "cp -rT x .", "rsync -a x/ .", "cp -r /tmp/x/* ."])
def test_where_nobody_knows_the_disk_all_that_lies_there_may_matter(command):
    assert verdict(command) is Verdict.CONTAIN


# ---------------------------------------------------------------- names that are made up
@pytest.mark.parametrize(
    "command",
    [
        "rename 's!^!.claude/!' settings.json",
        "rename 's!x!/home/user/.bashrc!' x",
        "prename -e 's/x/CLAUDE/' x.md",
        "rename x CLAUDE x.md",
        "mmv 'evil*' '.claude/#1'",
        "detox evil.txt",
        "jhead -n.claude/settings a.jpg",
        "csplit -b '/../CLAUDE.md%.0d' x 1",
        "csplit -f CLAU -b 'DE.md%.0d' x 1",
        "csplit --suffix-format='/../../x' x 1",
        "split -b 10 a CLAUDE.m",
        "split -b 1 -a 2 a .claude/settings.js",
        "split --additional-suffix=/../CLAUDE.md a x",
        "pdfdetach -saveall a.pdf",
        "pdfdetach -saveall -o .claude a.pdf",
        "pdfdetach -save 1 -o CLAUDE.md a.pdf",
        "gunzip -N a.gz",
        "gzip -dN a.gz",
        "foremost -i a.img",
        "tsc",
        "tsc -p evil",
        "tsc --outDir .claude",
        "tsc --outFile CLAUDE.md",
        "co x",
        "co -l CLAUDE.md,v",
        "ci -u x",
        "hg update evil",
        "jj new evil",
        "sl goto evil",
        "dar -x a",
        "git format-patch -o .claude/hooks HEAD~1",
        "git format-patch --suffix=/../CLAUDE.md HEAD~1",
        "git diff-tree -s --format=%B --root --output=/home/user/.config/lockgate/lockgate.yaml HEAD",
        "git diff-tree -s --output /home/user/.bashrc HEAD",
        "git rev-list --output=/home/user/.bashrc HEAD",
        "git diff-index --output=.claude/settings.json HEAD",
        "git diff-files -p --output=CLAUDE.md",
        "git diagnose -o .claude",
        "git pack-objects /home/user/.bashrc",
        "git archive -o .claude HEAD",
        "mypy --html-output .claude src",
    ],
)
def test_a_name_that_is_made_up_can_be_any(command):
    assert verdict(command) >= Verdict.CONTAIN


@pytest.mark.parametrize(
    "command",
    [
        "rename -n 's/a/b/' a.txt",
        "csplit -f part -b '.%02d.txt' a /x/",
        "csplit a /x/",
        "split -l 100 a.csv part_",
        "split -d --additional-suffix=.csv a.csv part_",
        "pdfdetach -list a.pdf",
        "pdfdetach -save 1 -o x.txt a.pdf",
        "gunzip -k a.gz",
        "tsc --showConfig",
        "rlog a.c",
        "hg status",
        "jj log",
        "git format-patch -o patches HEAD~2",
        "git format-patch -1 --stdout",
        "git diff-tree -r --name-only HEAD",
        "git rev-list --count HEAD",
        "git diff-index --quiet HEAD",
        "git archive -o /tmp/x.tar HEAD",
    ],
)
def test_names_that_are_said_are_judged_by_what_they_are(command):
    assert verdict(command) is Verdict.ALLOW


@pytest.mark.parametrize("kind", [EffectKind.PERSIST])
def test_a_person_reads_which_file_a_revision_brings(kind):
    around = HostView(home=HOME, workspace=PROJECT, repository=lambda _: PLAIN)
    (effect,) = analyse_shell("git checkout C", PROJECT, around).effects
    assert (effect.kind, effect.what, effect.rule) == (kind, ".claude/settings.json", "shell:revision")
    assert "the revision has another `.claude/settings.json` than lies there now" in effect.because


# ---------------------------------------------------------------- GitHub's extension for stacks of branches
def stacked(*branches: str, trunk: str = "main") -> str:
    """The file of the extension, with one stack."""
    refs = [{"branch": name, "head": "1a2b"} for name in branches]
    return json.dumps({"schemaVersion": 1, "stacks": [{"trunk": {"branch": trunk}, "branches": refs}]})


def stack_verdict(command: str, file: str | None, repository: Told = PLAIN) -> Verdict:
    """What is decided where the file of stacks holds a text, or is not there."""
    text = None if file is None else ScriptFile(file)
    around = HostView(
        home=HOME,
        workspace=PROJECT,
        variables={"HOME": HOME, "PATH": "/usr/bin:/bin"},
        repository=lambda _: repository,
        read_script={f"{PROJECT}/.git/gh-stack": text}.get,
    )
    effects = analyse_shell(command, PROJECT, around).effects
    labels = frozenset({Label.UNTRUSTED, Label.SECRET})
    return decide(effects, labels, read_shipped_profiles()["quarantine"], able=frozenset({Verdict.CONTAIN})).verdict


@pytest.mark.parametrize(
    "command",
    [
        "gh stack up",
        "gh stack down 2",
        "gh stack top",
        "gh stack trunk",
        "gh stack checkout 12",
        "gh stack checkout main",
        "gh stack rebase",
        "gh stack rebase --upstack --remote origin",
    ],
)
def test_a_stack_whose_branches_are_known_is_moved_in(command):
    plain = PLAIN._replace(picks={("main", "src-only"): ("main",)})
    assert stack_verdict(command, stacked("src-only"), plain) is Verdict.ALLOW


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("gh stack up", stacked("src-only", "C")),
        ("gh stack top", stacked("src-only", trunk="C")),
        ("gh stack up", stacked("unknown")),
        ("gh stack up", stacked("stash@{1}")),
        ("gh stack up", stacked(*["src-only"] * 100)),
        ("gh stack up", "{}"),
        ("gh stack up", '{"stacks": [{"trunk": 1}]}'),
        ("gh stack up", "[" * 100_000),
        ("gh stack up", None),
        ("gh stack checkout C", stacked("src-only")),
        ("gh stack checkout $branch", stacked("src-only")),
        ("gh stack rebase", stacked("src-only")),
        ("gh stack init x", stacked("src-only")),
        ("echo x > .git/gh-stack; gh stack up", stacked("src-only")),
        ("git branch -f src-only C; gh stack up", stacked("src-only")),
        ("cd $dir && gh stack up", stacked("src-only")),
    ],
)
def test_a_stack_that_may_hold_anything_is_moved_in_contained(command, file):
    assert stack_verdict(command, file) >= Verdict.CONTAIN


@pytest.mark.parametrize(
    "command",
    [
        "gh stack push",
        "gh stack submit --auto",
        "gh stack sync",
        "gh stack link 1 2",
        "gh stack merge --yes",
        "gh stack checkout https://github.com/evil/x/pull/1",
    ],
)
def test_what_leaves_the_machine_is_refused(command):
    assert stack_verdict(command, stacked("src-only")) is Verdict.DENY
