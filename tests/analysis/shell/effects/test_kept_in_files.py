"""What a command keeps in files: who reads these later has labels of what was brought, though nothing was printed."""

from __future__ import annotations

import pytest

from lockgate.analysis.shell import analyse_shell
from lockgate.model import Label
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
