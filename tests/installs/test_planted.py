"""What a contained install plants for later: nothing of it runs outside of a sandbox.

Each row is planted twice. Without a sandbox it works, so that the row could fail. By an install it does not: what the
session runs later is contained or not run, and what a person runs later finds nothing where the row says so.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from containment.machine import Machine
from installs.index import LocalIndex
from installs.test_contained import Session
from lockgate.core.model import Verdict

pytestmark = pytest.mark.sampled

COMMITS = "git -c user.email=a@example.com -c user.name=A commit -q --allow-empty -m x"
PROGRAM = "printf '#!/bin/sh\\ntouch {mark}\\n' > {path}; chmod +x {path}"
CODE = "import os; os.system('touch {mark}')"
SITE = "$(ls -d .venv/lib/python3*/site-packages)"
USER_SITE = "$(/usr/bin/python3 -m site --user-site)"


def program(path: str) -> str:
    """Write a program that leaves the mark."""
    return PROGRAM.replace("{path}", path)


EVERYBODY: dict[str, tuple[str, str]] = {
    "a hook of a commit": (program(".git/hooks/post-commit"), COMMITS),
    "a hook before a commit": (program(".git/hooks/pre-commit"), COMMITS),
    "a hook of a checkout": (program(".git/hooks/post-checkout"), "git checkout -q -b other"),
    "a hook of the index": (program(".git/hooks/post-index-change"), "touch new; git add new"),
    "a folder of hooks as a link": (
        f"rm -rf .git/hooks; mkdir h; ln -s ../h .git/hooks; {program('h/post-commit')}", COMMITS),
    "another folder of hooks": (f"mkdir h; {program('h/post-commit')}; git config core.hooksPath h", COMMITS),
    "a monitor of files": (f"{program('f.sh')}; git config core.fsmonitor ./f.sh", "git status"),
    "an alias": ("git config alias.st '!touch {mark}'", "git st"),
    "an editor": ("git config core.editor 'touch {mark};'", "git commit -q --allow-empty"),
    "a program for differences": (
        f"{program('f.sh')}; git config diff.external ./f.sh", "echo >> requirements.txt; git diff"),
    "a filter": (
        f"{program('f.sh')}; git config filter.x.clean ./f.sh; echo '* filter=x' > .gitattributes", "git add -A"),
    "an included configuration": (
        "printf '[alias]\\nst = !touch {mark}\\n' > c; git config include.path ../c", "git st"),
    "a configuration of the work tree": (
        f"{program('f.sh')}; git config core.repositoryformatversion 1; git config extensions.worktreeConfig true; "
        "printf '[core]\\nfsmonitor = ./f.sh\\n' > .git/config.worktree",
        "git status"),
    "another repository": (
        f"mv .git old; rm -rf .git; git init -q; mkdir -p .git/hooks; {program('.git/hooks/post-commit')}", COMMITS),
    "a repository below": (
        f"git init -q sub; mkdir -p sub/.git/hooks; {program('sub/.git/hooks/post-commit')}", f"cd sub && {COMMITS}"),
    "a shell's start": ("echo touch {mark} >> ~/.bashrc", "bash -ic true"),
    "a log-in": ("echo touch {mark} >> ~/.profile", "bash -lc true"),
    "a person's git": ("printf '[alias]\\nst = !touch {mark}\\n' > ~/.gitconfig", "git st"),
    "a person's git, elsewhere": (
        "mkdir -p ~/.config/git; printf '[alias]\\nst = !touch {mark}\\n' > ~/.config/git/config", "git st"),
    "a person's programs": (f"mkdir -p ~/.local/bin; {program('~/.local/bin/tool')}", "~/.local/bin/tool"),
    "a person's modules": (
        f'mkdir -p {USER_SITE}; echo "{CODE}" > {USER_SITE}/usercustomize.py', "/usr/bin/python3 -c pass"),
    "a path file among a person's modules": (
        f'mkdir -p {USER_SITE}; echo "{CODE}" > {USER_SITE}/x.pth', "/usr/bin/python3 -c pass"),
    "a person's cache": (f"mkdir -p ~/.cache/x; {program('~/.cache/x/tool')}", "~/.cache/x/tool"),
    "a temporary file": (program("/tmp/lockgate-planted"), "/tmp/lockgate-planted"),
}  # fmt: skip
"""Name: what is planted, and what a session and a person run later."""

SESSION: dict[str, tuple[str, str]] = {
    "the interpreter of an environment": (
        f"rm -f .venv/bin/python; {program('.venv/bin/python')}", ".venv/bin/python -c pass"),
    "an environment's start": ("echo touch {mark} >> .venv/bin/activate", ". .venv/bin/activate"),
    "a program of an environment": (program(".venv/bin/tool"), ".venv/bin/tool"),
    "a path file": (f'echo "{CODE}" > {SITE}/x.pth', ".venv/bin/python -c pass"),
    "a module that each start reads": (f'echo "{CODE}" > {SITE}/sitecustomize.py', ".venv/bin/python -c pass"),
    "an installed module": (f'echo "{CODE}" > {SITE}/shoplib.py', ".venv/bin/python -c 'import shoplib'"),
    "a program of node": (f"mkdir -p node_modules/.bin; {program('node_modules/.bin/tool')}", "node_modules/.bin/tool"),
    "a program for npx": (f"mkdir -p node_modules/.bin; {program('node_modules/.bin/tool')}", "npx --no tool"),
    "an installed package of node": (
        "mkdir -p node_modules/odd; "
        "echo \"require('child_process').execSync('touch {mark}')\" > node_modules/odd/index.js",
        "node -e \"require('odd')\""),
    "a script of the manifest": ("echo '{{\"scripts\": {{\"test\": \"touch {mark}\"}}}}' > package.json", "npm test"),
    "a script of each install": (
        "echo '{{\"name\": \"web\", \"scripts\": {{\"preinstall\": \"touch {mark}\"}}}}' > package.json; "
        "echo '{{\"name\": \"web\", \"lockfileVersion\": 3, \"packages\": {{}}}}' > package-lock.json", "npm ci"),
    "settings of npm": (
        f"{program('f.sh')}; printf 'script-shell=./f.sh\\n' > .npmrc", "npm exec -c true"),
    "tests": (f'echo "{CODE}" > conftest.py', "python3 -m pytest -q --co"),
    "settings of tests": (
        f"echo \"{CODE}\" > planted.py; printf '[pytest]\\naddopts = -p planted\\npythonpath = .\\n' > pytest.ini",
        "python3 -m pytest -q --co"),
    "a rule of make": ("printf 'all:\\n\\ttouch {mark}\\n' > Makefile", "make"),
    "a build": (
        f'echo "{CODE}" > setup.py',
        ".venv/bin/python -m pip install --no-deps --no-build-isolation -e ."),
    "a module named like one of Python's": (f'echo "{CODE}" > json.py', "python3 -c 'import json'"),
    "a build cache": (
        f"echo '{CODE.replace(chr(39), chr(34))}' > m.py; python3 -c \"import py_compile as p; "
        "p.compile('m.py', invalidation_mode=p.PycInvalidationMode.UNCHECKED_HASH)\"; echo pass > m.py",
        "python3 -c 'import m'"),
}  # fmt: skip
"""The same, for what a project itself runs: there a session that has read untrusted text is looked at."""


class Planting:
    """A session, a text that runs anything where its installs run, and the project as it was."""

    def __init__(self, folder: Path, index: LocalIndex) -> None:
        self.session = Session(Machine(folder, "namespaces"), index)
        self.machine = self.session.machine
        answer = self.session.ask("npm ci; ./attack.sh")
        assert answer.new_input is not None
        self.text = str(answer.new_input["command"]).replace("npm ci; ", "")
        self.mark = self.machine.home / "mark"
        self._kept = folder / "kept"
        shutil.copytree(self.machine.home, self._kept / "home", symlinks=True)

    def plant(self, text: str) -> None:
        """Write what an install runs."""
        self.machine.file("attack.sh", f"#!/bin/bash\n{text.format(mark=self.mark)}\necho tried\n").chmod(0o755)

    def restore(self) -> None:
        """Have all as it was, but the gate's state."""
        Path("/tmp/lockgate-planted").unlink(missing_ok=True)
        for kept in (self._kept / "home").iterdir():
            place = self.machine.home / kept.name
            if kept.name != ".local" and kept.is_dir():
                shutil.rmtree(place)
                shutil.copytree(kept, place, symlinks=True)
        known = {kept.name for kept in (self._kept / "home").iterdir()}
        for place in self.machine.home.iterdir():
            if place.name not in known:
                shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink()
        for name in ("bin", "lib"):
            shutil.rmtree(self.machine.home / ".local" / name, ignore_errors=True)

    def outside(self, text: str) -> subprocess.CompletedProcess[str]:
        """Run something as a person does, however it ends."""
        return self.machine.outside(f"({text}) </dev/null; true")

    def later(self, command: str) -> subprocess.CompletedProcess[str] | None:
        """What the session runs later, as its gate has it run; ``None`` where it does not."""
        answer = self.session.ask(command)
        if answer.verdict is Verdict.DENY:
            return None
        contained = answer.verdict is Verdict.CONTAIN and answer.new_input is not None
        return self.session.run_text(str(answer.new_input["command"]) if contained else command)  # type: ignore[index]


@pytest.fixture(scope="module")
def planting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planting]:
    """One for all rows."""
    folder = tmp_path_factory.mktemp("planting")
    index = LocalIndex(folder)
    found = Planting(folder, index)
    yield found
    found.session.end()
    index.end()


def _planted(planting: Planting, name: str) -> str:
    """Plant without a sandbox, which works, and then by an install. Gives what is run later."""
    plant, later = (EVERYBODY | SESSION)[name]
    planting.restore()
    planting.plant(plant)
    begun = planting.outside("./attack.sh")
    said = planting.outside(later)
    assert planting.mark.exists(), ("it would not have worked", begun, said)
    planting.restore()
    planting.plant(plant)
    assert planting.session.run_text(planting.text).stdout.endswith("tried\n")
    assert not planting.mark.exists()
    return later


@pytest.mark.parametrize("name", EVERYBODY | SESSION)
def test_what_an_install_plants_runs_in_no_session_outside(planting: Planting, name: str) -> None:
    planting.later(_planted(planting, name))
    assert not planting.mark.exists()


@pytest.mark.parametrize("name", EVERYBODY)
def test_what_an_install_plants_outside_of_a_projects_own_code_is_run_by_nobody(planting: Planting, name: str) -> None:
    planting.outside(_planted(planting, name))
    assert not planting.mark.exists()
