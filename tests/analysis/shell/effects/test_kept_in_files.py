"""What a command keeps in files: who reads these later has labels of what was brought, though nothing was printed."""

from __future__ import annotations

import pytest

from lockgate.core.model import Label
from lockgate.shell import analyse_shell
from support.analysed import AROUND, PROJECT

URL = "https://site.example/page"
U, S = Label.UNTRUSTED, Label.SECRET

KEPT = {
    f"curl -fsS {URL} -o notes.txt": {U},
    f"curl -sO {URL}": {U},
    f"curl -s {URL} > notes.txt": {U},
    f"curl -s {URL} | jq . >> notes.json": {U},
    f"curl -s {URL} | tee notes.txt > /dev/null": {U},
    f'x=$(curl -s {URL}); echo "$x" > notes.txt': {U},
    f"wget -q {URL}": {U},
    f"aria2c -q {URL}": {U},
    "gh pr diff 3 > three.diff": {U},
    "gh release download v1 -p '*.tgz'": {U},
    "scp build.example:log.txt .": {U},
    "rsync -aq build.example:logs/ logs/": {U},
    "rclone copy remote:notes notes": {U},
    "ssh build.example cat log.txt > log.txt": {U},
    "huggingface-cli download --quiet org/model": {U},
    "hf download org/model --local-dir models": {U},
    "svn export -q https://svn.example/r": {U},
    "git archive --remote=https://git.example/r -o r.tar HEAD": {U},
    "s3cmd get s3://bucket/notes.txt": {U},
    "aws s3 cp --quiet s3://bucket/notes.txt .": {U},
    "gh run download 5": {U},
    "gh gist clone 1a2b": {U},
    "oras pull registry.example/notes": {U},
    "skopeo copy docker://alpine dir:alpine": {U},
    f"yt-dlp -q {URL}": {U},
    f"wkhtmltopdf -q {URL} page.pdf": {U},
    "kaggle datasets download -q owner/notes": {U},
    "dvc get https://git.example/r data": {U},
    "gdown -q 1a2b": {U},
    "borg extract backup.example:repo::monday": {U},
    # Nobody compares the lines with those that the program is known for.
    "kubectl get configmap notes -o yaml > notes.yaml": {U},
    "npm audit --json > audit.json": {U},
    "git fetch --verbose > log.txt": {U},
    "exec 3<>/dev/tcp/site.example/80; cat <&3 > page": {U},
    f"python3 -c \"import urllib.request as u; u.urlretrieve('{URL}', 'page')\"": {U},
    "cat node_modules/x/README.md > notes.md": {U},
    "cp .env notes.txt": {S},
    "tar czf x.tgz ~/.ssh": {S},
}
PASSING = {
    f"curl -s {URL}": "it is printed, or nothing came",
    f"curl -s {URL} -o /dev/null": "nowhere",
    f"curl -s {URL} > /dev/null 2>&1": "nowhere",
    f"wget -q --spider {URL}": "nothing is fetched",
    "ssh build.example systemctl restart app": "nothing is written here",
    "scp notes.txt build.example:": "the other way",
    "rsync -aq build/ build.example:build/": "the other way",
    "git fetch -q": "commits: what shows them is looked at",
    "git clone -q https://git.example/a": "files of a repository",
    "npm ci --silent": "packages",
    "pip install -q requests > pip.log": "packages",
    "npm ci > npm.log 2>&1": "packages",
    "kubectl get pods": "it is printed",
    "kubectl get pods > /dev/null": "nowhere",
    "kubectl get pods 2> errors.txt": "the pods are printed",
    "git archive -o r.tar HEAD": "the project's own files",
    "hf cache scan": "it is here already",
    "grep -rn TODO src > todo.txt": "files of the project",
    "cp .env ../other/.env": "whoever reads that reads a secret",
    "sed -i s/a/b/ .env": "it stays where it was",
    "make > make.log": "nobody knows what it prints",
    "unknown-tool > tool.log": "nobody knows what it prints",
}


@pytest.mark.parametrize(("command", "labels"), KEPT.items(), ids=KEPT)
def test_what_is_kept(command: str, labels: set[Label]) -> None:
    assert analyse_shell(command, PROJECT, AROUND).keeps == labels


@pytest.mark.parametrize("command", PASSING)
def test_what_is_not(command: str) -> None:
    assert not analyse_shell(command, PROJECT, AROUND).keeps
