"""The machine of a day: a home folder, a fresh copy of somebody's project, and stand-ins for what goes outside."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from days import Day

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
for _folder in (HERE.parent / "containment", ROOT / "tests"):
    if str(_folder) not in sys.path:
        sys.path.append(str(_folder))

import fetching  # noqa: E402
from sources import Source  # noqa: E402

from support.gates import end_gates  # noqa: E402
from support.prepared import give_state  # noqa: E402

_OLD = 2.1
"""Seconds after which the gate takes a file for older than a session."""
_NOT_OF_A_PERSON = {"CI", "PATH", "PYTHONPATH", "PYTHONHASHSEED", "HYPOTHESIS_STORAGE_DIRECTORY"}
_IDENTITY = {
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05Z",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05Z",
}
_LEFT_OUT = {".git", ".venv", "node_modules", "__pycache__", ".pytest_cache", ".ruff_cache"}
_NEEDED: dict[str, Sequence[Callable[[], Path]]] = {
    "python": (fetching.sdists, fetching.tools),
    "npm": (fetching.packages,),
    "go": (fetching.debian,),
}
"""What a project of each group needs from others."""


def fetch(chosen: Iterable[Day]) -> None:
    """Have everything here that days need, before the first of them begins."""
    for group in dict.fromkeys(day.project["group"] for day in chosen):
        for get in _NEEDED[group]:
            get()


class Machine:
    """One run of a day has one, at the same place for every run.

    Args:
        root: A folder that nothing else is in.
        day: What it is for.
    """

    def __init__(self, root: Path, day: Day) -> None:
        self.root, self.day = root, day
        self.home, self.programs = root / "home", root / "bin"
        self._source = Source(dict(day.project), self.home)
        self.project = self._source.place

    def fill(self) -> None:
        """Make everything anew, so that every file is older than the session."""
        shutil.rmtree(self.root, ignore_errors=True)
        for folder in (self.home, self.programs, self.root / "tmp"):
            folder.mkdir(parents=True)
        self._source.fill()
        if self.day.project["group"] == "python":
            self._make_environment()
        if self.day.project["group"] == "npm":
            self._install_modules()
        self._write_stand_ins()
        (self.root / "issue").write_text(self.day.issue)
        self._make_repository()
        give_state(self.home / ".local" / "state" / "lockgate")
        time.sleep(_OLD)

    @property
    def environment(self) -> dict[str, str]:
        """Of the person's shell, in which the client starts."""
        given = {key: value for key, value in self._source.environment.items() if key not in _NOT_OF_A_PERSON}
        go = [fetching.debian() / "usr/lib/go-1.19/bin"] if self.day.project["group"] == "go" else []
        node = shutil.which("node")
        path = [self.programs, *go, *([os.path.dirname(node)] if node else []), "/usr/local/bin", "/usr/bin", "/bin"]
        return {
            **given,
            "PATH": ":".join(dict.fromkeys(map(str, path))),
            "TMPDIR": str(self.root / "tmp"),
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "npm_config_update_notifier": "false",
        }

    def end(self) -> None:
        """End what a day has left running here: the gate, and servers."""
        end_gates(self.root)
        for pid in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError):
                if Path(f"/proc/{pid}/cwd").resolve().is_relative_to(self.root):
                    os.kill(int(pid), signal.SIGKILL)
        for path in Path("/tmp").glob(self.day.temporary or "no such file"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    def tree(self) -> dict[str, bytes]:
        """The files of the project, by name: what the day has made."""
        found = {}
        for parent, folders, files in os.walk(self.project):
            folders[:] = [name for name in folders if name not in _LEFT_OUT]
            for name in files:
                path = Path(parent, name)
                found[str(path.relative_to(self.project))] = path.read_bytes() if path.is_file() else b""
        return found

    # ------------------------------------------------------------ what is in it
    def _make_environment(self) -> None:
        """The project's own environment, with the packages of ``tools.lock``, and Lockgate's own ruff as linter."""
        tools, place = fetching.tools(), self.project / ".venv"
        subprocess.run([tools / "python", "-m", "venv", "--without-pip", str(place)], check=True)
        (packages,) = place.glob("lib/python*/site-packages")
        (below,) = tools.parent.glob("lib/python*/site-packages")
        (packages / "tools.pth").write_text(f"{below}\n{self.project / 'src'}\n")
        program = place / "bin" / "pytest"
        program.write_text(f"#!{place}/bin/python\nimport pytest\n\nraise SystemExit(pytest.main())\n")
        program.chmod(0o755)
        shutil.copy2(ROOT / ".venv" / "bin" / "ruff", place / "bin" / "ruff")

    def _install_modules(self) -> None:
        """As ``npm install`` leaves them, with the links of their programs."""
        packages = fetching.packages()
        (self.project.parent / "node_modules").unlink(missing_ok=True)
        programs = self.project / "node_modules" / ".bin"
        programs.mkdir(parents=True, exist_ok=True)
        for name in self.day.modules:
            if (packages / name).is_dir():
                shutil.copytree(packages / name, self.project / "node_modules" / name, dirs_exist_ok=True)
        if (self.project / "node_modules" / "typescript").is_dir():
            (programs / "tsc").symlink_to("../typescript/bin/tsc")

    def _write_stand_ins(self) -> None:
        """Programs that print what the real ones print, where a command begins so; else they are the real ones."""
        names = dict.fromkeys(when.split()[0] for when, _ in self.day.programs)
        for name in names:
            cases = [(when.partition(" ")[2], text) for when, text in self.day.programs if when.split()[0] == name]
            real = shutil.which(name)
            lines = ["#!/bin/sh", 'case "$*" in']
            for number, (words, text) in enumerate(cases):
                said = self.programs / f".{name}-{number}"
                said.write_text(text)
                stream = " >&2" if name == "git" else ""
                lines.append(f"{_pattern(words)}) cat {shlex.quote(str(said))}{stream}; exit 0 ;;")
            last = f'exec {shlex.quote(real)} "$@"' if real else f'echo "{name}: no such command" >&2; exit 1'
            program = self.programs / name
            program.write_text("\n".join([*lines, "esac", last, ""]))
            program.chmod(0o755)

    def _make_repository(self) -> None:
        (self.home / ".gitconfig").write_text(
            "[user]\n\tname = A Developer\n\temail = dev@example.org\n[advice]\n\tdetachedHead = false\n"
        )
        git = shutil.which("git")
        assert git, "git is needed"

        def run(*words: str) -> None:
            environment = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", **_IDENTITY}
            subprocess.run([git, *words], cwd=self.project, check=True, env=environment, capture_output=True)

        run("init", "--quiet", "--initial-branch=main")
        run("add", "--all")
        run("commit", "--quiet", "--message=Import the project")
        run("commit", "--quiet", "--allow-empty", "--message=Begin the next release")
        run("remote", "add", "origin", self.day.remote)
        run("update-ref", "refs/remotes/origin/main", "HEAD")
        run("config", "branch.main.remote", "origin")
        run("config", "branch.main.merge", "refs/heads/main")


def _pattern(words: str) -> str:
    quoted = shlex.quote(words)
    return f"{quoted}|{quoted}' '*"
