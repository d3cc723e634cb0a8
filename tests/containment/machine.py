"""A throw-away machine: a home folder with secrets, a project, and commands that are run contained in it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import lockgate.contain
from lockgate.clients.hook.start_resident import arguments
from lockgate.clients.wire import resident_control as control
from lockgate.containment.host import LAUNCHER, facts_of, write_facts
from lockgate.service.resident.decider import REMEMBER
from lockgate.store.files import read_key
from lockgate.system.folders import Folders

PROGRAM = os.path.abspath(lockgate.contain.__file__)
SECRET = "the-secret-itself"


class Machine:
    """One person's machine, all of it below one folder."""

    def __init__(self, root: Path, way: str, *, native: bool = False) -> None:
        self.native = native
        self.interpreter = sys.executable
        self.gate: subprocess.Popen[bytes] | None = None
        self.root = root.resolve()
        self.home = self.root / "home"
        self.project = self.home / "code" / "project"
        self.state = self.home / ".local" / "state" / "lockgate"
        self.config = self.home / ".config" / "lockgate"
        for folder in (self.project, self.state, self.config):
            folder.mkdir(parents=True)
        self.state.chmod(0o700)
        self.know(way)
        self.environment = {
            "HOME": str(self.home),
            "PATH": f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "LANG": "C.UTF-8",
            "SHELL": "/bin/bash",
        }

    def know(self, way: str, program: str = "/usr/bin/bwrap", problem: str = "") -> None:
        """Let the gate know which way this machine has."""
        known = {"facts": facts_of(), "way": way, "program": program * (way != "namespaces"), "problem": problem}
        known["launcher"] = way * self.native
        known["launched_by"] = LAUNCHER if self.native and way else ""
        read_key(str(self.state))
        write_facts(str(self.state), {**known, "at": time.time()})
        self.settle()

    def settle(self) -> None:
        """Wait until a gate looks anew at what it has looked at."""
        if self.gate is not None:
            time.sleep(REMEMBER + 0.1)

    def begin(self) -> None:
        """Start a gate, where the launcher is to ask one, and what tells that it became the Python program."""
        if not self.native:
            return
        self._stand_in.write_text(f'#!/bin/sh\ntouch {self._fallen}\nexec {self.interpreter} "$@"\n')
        self._stand_in.chmod(0o755)
        where = Folders(str(self.home), str(self.state), str(self.config))
        command = [self.interpreter, *arguments(where)]
        self.gate = subprocess.Popen(command, env=self.environment, cwd="/", stdin=subprocess.DEVNULL)
        assert control.wait_for(str(self.state), 60).answers
        # The gate of a machine that is busy with other tests may be late, most of all for the first question.
        assert any(self.run("true").returncode == 0 and not self.fell_back for _ in range(10)), "it never launches"

    def end(self) -> None:
        """End the gate."""
        if self.gate is not None:
            self.gate.kill()
            self.gate.wait()

    @property
    def _stand_in(self) -> Path:
        return self.root / "python"

    @property
    def _fallen(self) -> Path:
        return self.root / "fell-back"

    @property
    def fell_back(self) -> bool:
        """Whether the launcher became the Python program, since the last time that this was asked."""
        found = self._fallen.exists()
        self._fallen.unlink(missing_ok=True)
        return found

    def write(self, name: str, text: str = SECRET) -> Path:
        """A file below the home folder."""
        path = self.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def file(self, name: str, text: str = "") -> Path:
        """A file in the project."""
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def git(self) -> None:
        """Make the project a repository with one commit."""
        script = "git init -q -b main && git config user.email a@example.com && git config user.name A"
        self.outside(f"{script} && echo one > one.txt && git add one.txt && git commit -q -m one")

    def argv(self, *command: str, options: tuple[str, ...] = ()) -> list[str]:
        """The command line of a contained run; one word is a shell's text."""
        folders = [f"--home={self.home}", f"--state={self.state}", f"--config={self.config}"]
        what = ["--shell", *command] if len(command) == 1 else ["--", *command]
        start = [self.interpreter, "-I", "-S", PROGRAM]
        if self.native:
            start = [LAUNCHER, "--python", str(self._stand_in), "--script", PROGRAM]
        return [*start, *folders, f"--workspace={self.project}", *options, *what]

    def run(self, *command: str, options: tuple[str, ...] = (), **more: Any) -> subprocess.CompletedProcess[str]:
        """Run contained and wait."""
        return self._run(self.argv(*command, options=options), **more)

    def launchers(self, mark: bytes, without: bytes = b"\0\0") -> list[int]:
        """Processes outside of a sandbox whose command line has the mark, and a path of this machine."""
        found = []
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                words = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if mark in words and os.fsencode(str(self.home)) in words and without not in words:
                found.append(int(name))
        return found

    def outside(self, text: str, **more: Any) -> subprocess.CompletedProcess[str]:
        """Run without containment: the control."""
        done = self._run(["/bin/bash", "-c", text], **more)
        assert done.returncode == 0, done
        return done

    def python(self, text: str, *arguments: object, contained: bool = True) -> str:
        """Run a Python program and return what it printed."""
        file = self.root / "home" / "code" / "probe.py"
        file.write_text(text)
        command = [sys.executable, "-I", str(file), *map(str, arguments)]
        done = self._run(self.argv(*command) if contained else command)
        assert done.returncode == 0, done
        return done.stdout.strip()

    def _run(self, argv: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
        settings: dict[str, Any] = {"cwd": self.project, "env": self.environment, "stdin": subprocess.DEVNULL, **more}
        if "input" in settings:
            del settings["stdin"]
        return subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False, **settings)
