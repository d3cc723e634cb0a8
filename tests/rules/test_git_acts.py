"""What a command does to branches, however it is written: found by reading it, in a repository on the branch `work`."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

import lockgate.policy.git.objections as git_rules
from rules.git_world import WORK, acts

TABLE = yaml.safe_load(Path(git_rules.__file__).with_name("git.yaml").read_text("utf-8"))

FORCE = "push(work) force_push(work)"
ALL = "push(*) force_push(*) delete_remote(*)"
MAYBE = "push(*)? force_push(*)? delete_remote(*)?"

PUSHES = {
    # where to
    "git push origin": "push(work)",
    "git push -u origin HEAD": "push(work)",
    "git push origin @": "push(work)",
    "git push origin main": "push(main)",
    "git push origin HEAD:main": "push(main)",
    "git push origin @:main": "push(main)",
    "git push origin work:refs/heads/main": "push(main)",
    "git push origin work:heads/main": "push(main)",
    "git push origin main~2:main": "push(main)",
    "git push origin 3f2a9c1:refs/heads/release/1.0": "push(release/1.0)",
    "git push origin refs/heads/main": "push(main)",
    "git push origin a b c:d": "push(a) push(b) push(d)",
    "git push origin v1.0:refs/tags/v1.0": "push()",
    "git push origin tag main": "push()",
    "git push origin HEAD:refs/for/main": "push()",
    "git push --tags": "push()",
    "git push --tags origin main": "push(main) push()",
    "git push --follow-tags": "push(work)",
    "git push --all": "push(*)",
    "git push --branches origin": "push(*)",
    "git push origin :": "push(*)",
    "git push origin 'refs/heads/*:refs/heads/*'": "push(*)",
    "git push origin 'refs/heads/rel/*'": "push(rel/*)",
    "git push origin ^main work": "push(work)",
    "git push --repo=origin": "push(work)",
    "git push https://example.com/a.git main": "push(main)",
    # by force
    "git push -f": FORCE,
    "git push --force": FORCE,
    "git push --force-with-lease": FORCE,
    "git push --force-with-lease=work:3f2a9c1 origin work": FORCE,
    "git push --force-if-includes --force-with-lease": FORCE,
    "git push --forc": FORCE,
    "git push -fu origin work": FORCE,
    "git push -uf origin work": FORCE,
    "git push -vqfu origin work": FORCE,
    "git push origin work -f": FORCE,
    "git push origin --force work": FORCE,
    "git push origin +work": FORCE,
    "git push origin +HEAD:work": FORCE,
    "git push -o ci.skip -f": FORCE,
    "git push origin +refs/heads/*:refs/heads/*": "push(*) force_push(*)",
    "git push origin +:": "push(*) force_push(*)",
    "git push --mirror": ALL,
    "git push --mirror backup": ALL,
    "git push -o --force origin work": "push(work)",
    "git push --push-option=--force origin work": "push(work)",
    # deleting
    "git push origin :old": "push(old) delete_remote(old)",
    "git push origin +:old": "push(old) force_push(old) delete_remote(old)",
    "git push -d origin old": "push(old) delete_remote(old)",
    "git push origin --delete old other": "push(old) delete_remote(old) push(other) delete_remote(other)",
    "git push --prune origin main": "push(main) delete_remote(*)",
    "git push --dele origin old": "push(old) delete_remote(old)",
    # not at all
    "git push -n": "",
    "git push --dry-run --force origin main": "",
    "git push --help": "",
    "git log --grep 'git push -f'": "",
    "git commit -m 'git push --force origin main'": "",
    "git stash push -m main": "",
    "echo git push -f": "",
    "grep -rn 'git push' .": "",
    "docker push registry.example/main": "",
    "git -C push status": "",
    "git config push.default simple": "",
    # other commands that push
    "git send-pack --force example:a.git main": "push(main) force_push(main)",
    "git send-pack example:a.git": "push(*)",
    "git http-push https://example.com/a.git main": "push(main)",
    "git subtree push --prefix=docs origin pages": "push(pages)",
    "git subtree pull --prefix=docs origin pages": "",
    "git svn dcommit": "push()",
    "git p4 submit": "push()",
    "git svn info": "",
}

WRITTEN = {
    '\'git\' "push" -"f"': FORCE,
    "g=git; $g push -f": FORCE,
    "/usr/bin/git push -f": FORCE,
    "/usr/lib/git-core/git-push -f": FORCE,
    "git-push -f": FORCE,
    "hub push -f": FORCE,
    "\\git push -f": FORCE,
    "command git push -f": FORCE,
    "exec git push -f": FORCE,
    "builtin command git push -f": FORCE,
    "env -i GIT_TRACE=1 git push -f": "push(*) force_push(*)",
    "sudo -u me git push -f": FORCE,
    "nohup nice -n 5 timeout 60 git push -f &": FORCE,
    "sh -c 'git push -f'": FORCE,
    'bash -lc "cd . && git push -f"': FORCE,
    "eval 'git push -f'": FORCE,
    "ls | xargs -I{} git push -f": FORCE,
    "echo -f | xargs git push": FORCE,
    "find . -maxdepth 1 -exec git push -f \\;": FORCE,
    "true && { false || git push -f; }": FORCE,
    "if true; then git push -f; fi": FORCE,
    "for o in -f; do git push $o; done": FORCE,
    "echo $(git push -f)": FORCE,
    "cat <(git push -f)": FORCE,
    'f() { git push "$@"; }; f -f': FORCE,
    "trap 'git push -f' EXIT": FORCE,
    "git push ${X:--f}": f"{MAYBE} push(work)",
    "git -c alias.x='push -f' x": FORCE,
    "git -c alias.x='!git push -f' x": FORCE,
    "git config alias.x 'push -f' && git x": FORCE,
    "git config --global alias.x '!git push -f' && git x": FORCE,
    'python3 -c \'import subprocess; subprocess.run(["git", "push", "-f"])\'': FORCE,
    "git submodule foreach 'git push -f'": FORCE,
    "git rebase -x 'git push -f' main": f"rebase(work) {FORCE}",
    "git --no-pager -c user.name=x push -f": FORCE,
    "$(which git) push -f": FORCE,
    "$GIT push -f": FORCE,
    "$DOCKER build .": "",
    "git -c remote.origin.push=+a:main push": "push(main) force_push(main)",
    "git -c REMOTE.origin.Push=+a:main push": "push(main) force_push(main)",
    "git -c remote.origin.mirror=true push": ALL,
    "git -c push.default=matching push": "push(*)",
    "git config push.default matching; git push": "push(*)",
    "git --git-dir=/other/.git push": "push(*)",
    "GIT_DIR=/other/.git git push": "push(*)",
    # only known when it runs
    "git push $(cat options)": f"{MAYBE} push(work)",
    "cat list | xargs git push": f"{MAYBE} push(*)",
    'git push origin "$(cat branch)"': f"{MAYBE} push(*)",
    "git push origin $BRANCH": "push(*)",
    'git push origin "feature/$TICKET"': "push(feature/*)",
    'git push origin "$(git branch --show-current)"': "push(work)",
    'git push -u origin "$(git rev-parse --abbrev-ref HEAD)"': "push(work)",
    'b=$(git symbolic-ref --short HEAD) && git push origin "$b"': "push(work)",
    'git push origin "$(git rev-parse --abbrev-ref main)"': "push(*)",
    'git branch --show-current; git push origin "$(git rev-parse --abbrev-ref main)"': "push(*)",
    "git $(cat what)": "push(*)? force_push(*)? delete_remote(*)? pull(*)? rebase(*)? rewrite(*)?",
}

LOCAL = {
    "git pull": "pull()",
    "git pull --rebase origin main": "pull() rebase()",
    "git pull -r": "pull() rebase()",
    "git pull --rebase=false": "pull()",
    "git pull --no-rebase --ff-only": "pull()",
    "git pull origin +main:main": "pull() rewrite(main)",
    "git fetch origin": "",
    "git fetch origin main:main": "",
    "git fetch -f origin main:main": "rewrite(main)",
    "git fetch --multiple a b:c": "",
    "git rebase -i HEAD~3": "rebase(work)",
    "git rebase --onto main a b": "rebase(b)",
    "git rebase --root topic": "rebase(topic)",
    "git rebase --continue": "",
    "git commit -m x": "",
    "git commit --amend --no-edit": "rewrite(work)",
    "git commit --am -C HEAD": "rewrite(work)",
    "git commit -m --amend": "",
    "git commit --fixup HEAD~2": "",
    "git reset": "",
    "git reset --hard": "",
    "git reset --hard HEAD": "",
    "git reset HEAD a.py": "",
    "git reset a.py": "",
    "git reset src/": "",
    "git reset HEAD~1": "rewrite(work)",
    "git reset --soft HEAD^": "rewrite(work)",
    "git reset --hard origin/main": "rewrite(work)",
    "git reset 3f2a9c14": "rewrite(work)",
    "git reset --keep v1.2": "rewrite(work)",
    "git filter-branch --env-filter x HEAD": "rewrite(*)",
    "git filter-repo --path src": "rewrite(*)",
    "git fast-import < dump": "rewrite(*)",
    "git branch": "",
    "git branch topic": "",
    "git branch -a --merged main": "",
    "git branch --show-current": "",
    "git branch -D main": "delete(main)",
    "git branch -d a b": "delete(a) delete(b)",
    "git branch -rd origin/main": "",
    "git branch -f main origin/main": "rewrite(main)",
    "git branch -m other": "delete(work)",
    "git branch -m main other": "delete(main)",
    "git branch -M other main": "delete(other) rewrite(main)",
    "git branch -C work main": "rewrite(main)",
    "git checkout main": "",
    "git checkout -b topic": "",
    "git checkout -B main origin/main": "rewrite(main)",
    "git switch -C main": "rewrite(main)",
    "git switch --force-create=main": "rewrite(main)",
    "git worktree add -B main ../x": "rewrite(main)",
    "git worktree add ../x": "",
    "git update-ref refs/heads/main HEAD~3": "rewrite(main)",
    "git update-ref -d refs/heads/main": "delete(main)",
    "git update-ref ORIG_HEAD HEAD": "",
    "git update-ref --stdin": "rewrite(*)",
    "git symbolic-ref refs/heads/main refs/heads/x": "rewrite(main)",
    "git merge main": "",
    "git cherry-pick main": "",
    "git revert HEAD": "",
    "git tag -f v1": "",
    "git stash drop": "",
    "git status && git diff main...HEAD": "",
}

UNREAD = {
    'bash -c "git push $(cat x)"': "push(*)? force_push(*)? delete_remote(*)? push(*)",
    'bash -c "git push origin $BRANCH"': "push(*)",
    'eval "git push -f origin $BRANCH"': "push(*) force_push(*)",
    "git push -f origin main; case x in": "push(main) force_push(main)",
    "if; 'git' push; git commit -m 'x": "",
    "echo 'git push -f' \"$X\"": "",
    "python3 -c \"print('git push -f $X')\"": "",
    'eval "$(ssh-agent -s)" && git push': "push(work)",
    "true; " * 1600 + "git push -f": "push(*) force_push(*)",
}

MOVING = {
    "git checkout -b fix && git commit -am x && git push -u origin HEAD": "push(fix)",
    "git checkout -b fix && git push": "push(fix)",
    "git checkout -b fix; git push": "push(fix) push(work)",
    "git push && git checkout main": "push(work)",
    "git push; git checkout main": "push(work) push(main)",
    "git switch main && git commit --amend": "rewrite(main)",
    "git checkout main && git reset --hard HEAD~1": "rewrite(main)",
    "git switch - && git push": "push(*)",
    "git checkout main\ngit push origin topic": "push(topic)",
    "git symbolic-ref HEAD refs/heads/main && git push": "push(main)",
    "git checkout $(cat x) && git push": "push(work) push(*)",
}


def parsed(text: str) -> set[str]:
    return set(text.split())


@pytest.mark.parametrize(("command", "found"), TABLE["examples"].items())
def test_the_examples_of_the_table_hold(command: str, found: str) -> None:
    assert acts(command) == parsed(found)


@pytest.mark.parametrize(("command", "found"), [*PUSHES.items(), *LOCAL.items()])
def test_a_line_of_git_is_read(command: str, found: str) -> None:
    assert acts(command) == parsed(found)


@pytest.mark.parametrize(("command", "found"), WRITTEN.items())
def test_a_line_of_git_is_found_wherever_and_however_it_stands(command: str, found: str) -> None:
    assert acts(command) == parsed(found)


@pytest.mark.parametrize(("command", "found"), UNREAD.items(), ids=range(len(UNREAD)))
def test_what_cannot_be_read_is_looked_at(command: str, found: str) -> None:
    assert acts(command) == parsed(found)


@pytest.mark.parametrize(("command", "found"), MOVING.items())
def test_the_current_branch_follows_what_was_checked_out(command: str, found: str) -> None:
    assert acts(command) == parsed(found)


def test_a_script_that_is_run_is_looked_into() -> None:
    moving = {f"{WORK}/deploy.sh": "git checkout topic\ngit push\n"}
    assert acts("./deploy.sh", scripts=moving) == parsed("push(topic) push(work)")
    assert acts("./deploy.sh", scripts={f"{WORK}/deploy.sh": "#!/bin/sh\ngit push -f\n"}) == parsed(FORCE)
    assert acts("bash deploy.sh main", scripts={f"{WORK}/deploy.sh": 'git push origin "$1"\n'}) == parsed("push(main)")


SETTINGS = {
    "a remote that is a mirror": ("git push", {"remote.origin.mirror": "true"}, ALL),
    "that is another remote": ("git push", {"remote.backup.mirror": "true"}, "push(work)"),
    "which is named": ("git push backup", {"remote.backup.mirror": "true"}, ALL),
    "which is the branch's": ("git push", {"remote.b.mirror": "true", "branch.work.remote": "b"}, ALL),
    "a refspec": ("git push", {"remote.origin.push": "+HEAD:main"}, "push(main) force_push(main)"),
    "a refspec that one on the line stands for": ("git push origin x", {"remote.origin.push": "+HEAD:main"}, "push(x)"),
    "all that match": ("git push", {"push.default": "matching"}, "push(*)"),
    "the upstream": (
        "git push",
        {"push.default": "upstream", "branch.work.merge": "refs/heads/main"},
        "push(work) push(main)",
    ),
    "the upstream, by name only": ("git push", {"branch.work.merge": "refs/heads/main"}, "push(work)"),
    "an upstream that the same command sets": (
        "git branch -u origin/main && git push",
        {"push.default": "upstream"},
        "push(work) push(*)",
    ),
    "an upstream that a setting of the same command is": (
        "git config branch.work.merge refs/heads/main && git -c push.default=upstream push",
        {},
        "push(work) push(main)",
    ),
    "an upstream that a new branch gets from where it begins": (
        "git checkout -b fix origin/main && git push",
        {"push.default": "upstream"},
        "push(fix) push(*)",
    ),
    "a new branch without an upstream": ("git checkout -b fix && git push", {"push.default": "upstream"}, "push(fix)"),
    "a branch that there is": ("git switch fix/a && git push", {"push.default": "upstream"}, "push(fix/a)"),
    "an alias": ("git yolo", {"alias.yolo": "push --force"}, FORCE),
    "an alias with words": ("git p origin main", {"alias.p": "push"}, "push(main)"),
    "an alias of an alias": ("git q", {"alias.q": "p -f", "alias.p": "push"}, FORCE),
    "an alias that is shell": ("git yolo", {"alias.yolo": "!git add . && git push -f"}, FORCE),
    "an alias with quotes that do not end": (
        "git yolo",
        {"alias.yolo": "push 'x"},
        "push(*)? force_push(*)? delete_remote(*)? pull(*)? rebase(*)? rewrite(*)?",
    ),
    "an alias of itself": ("git p", {"alias.p": "p"}, ""),
    "an alias that no longer counts": ("git status", {"alias.status": "push -f"}, ""),
    "no alias": ("git frobnicate", {}, ""),
}


@pytest.mark.parametrize(("command", "settings", "found"), SETTINGS.values(), ids=SETTINGS)
def test_what_the_repository_is_set_to_counts(command: str, settings: dict[str, str], found: str) -> None:
    assert acts(command, settings=tuple(settings.items())) == parsed(found)
