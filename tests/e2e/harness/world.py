"""A throw-away machine for one test: home, project, programs, an installation of Lockgate, and the client in it."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from e2e.harness.clients import ROOT, claude_code
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.terminal import SIZE, Terminal
from support.prepared import give_state

KEY = "sk-ant-api03-no-such-key-no-such-key-no-such-key"
CLIENT_VARIABLES = {
    "ANTHROPIC_API_KEY": KEY,
    "DISABLE_AUTOUPDATER": "1",
    "DISABLE_TELEMETRY": "1",
    "DISABLE_ERROR_REPORTING": "1",
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "ENABLE_TOOL_SEARCH": "0",  # else MCP tools hide behind a search tool
    "IS_SANDBOX": "1",  # lets root use --dangerously-skip-permissions
}
"""What Claude Code needs beside the variables of every program, to work without an account."""
_BYPASS = "--dangerously-skip-permissions"
"""The mode with nothing but Lockgate in the way."""
_READY = {
    "bypassPermissions": "bypass permissions on",
    "plan": "plan mode on",
    "acceptEdits": "accept edits on",
    "auto": "auto mode on",
}
"""What the client shows, by permission mode, when it takes a prompt."""
_PATIENCE = 60
"""Seconds for one run of the client; it takes one to four."""
PUSH = "git push https://git.example.com/mirror.git HEAD:main"
_GIT = """#!/bin/sh
# Stands before the real git: a push is written down instead of made.
for word; do
  if [ "$word" = push ]; then echo "$*" >>{pushes}; cat {answer} 2>/dev/null || echo "Everything up-to-date"; exit 0; fi
done
exec {git} "$@"
"""


@dataclass
class World:
    """Folders of one test, and what may be done in them."""

    root: Path
    version: str
    arguments: list[str] = field(default_factory=list)
    """Further arguments for the client."""
    client: ClassVar[str] = "claude-code"
    """Its name for ``lockgate install``."""

    def __post_init__(self) -> None:
        for folder in (self.home / ".claude", self.project, self.programs, self.root / "tmp"):
            folder.mkdir(parents=True)
        git = shutil.which("git")
        assert git, "git is needed"
        fake = self.programs / "git"
        pushes, answer = (shlex.quote(str(self.root / name)) for name in ("pushes", "answer"))
        fake.write_text(_GIT.format(pushes=pushes, answer=answer, git=shlex.quote(git)))
        fake.chmod(0o755)
        subprocess.run([git, "init", "--quiet", str(self.project)], check=True, env=self.environment)
        (self.project / "notes.txt").write_text("first line\n")
        give_state(self.home / ".local" / "state" / "lockgate")
        self.set_up_client()

    # ---------------------------------------------------------------- places
    @property
    def home(self) -> Path:
        """HOME of the person, the client and the gate."""
        return self.root / "home"

    @property
    def project(self) -> Path:
        """Where the agent works."""
        return self.root / "project"

    @property
    def programs(self) -> Path:
        """First in PATH."""
        return self.root / "bin"

    @property
    def settings(self) -> Path:
        """The client's user settings."""
        return self.home / ".claude" / "settings.json"

    @property
    def pushes(self) -> list[str]:
        """Command lines of every push that ran."""
        return _lines(self.root / "pushes")

    def let_server_answer(self, text: str) -> None:
        """What every push prints from now on."""
        (self.root / "answer").write_text(text, encoding="utf-8")

    @property
    def mails(self) -> list[str]:
        """Every mail that was sent."""
        return _lines(self.root / "mails")

    @cached_property
    def environment(self) -> dict[str, str]:
        """The whole environment: nothing is inherited."""
        return {
            "PATH": f"{self.programs}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.home),
            "TMPDIR": str(self.root / "tmp"),
            "SHELL": "/bin/bash",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            **CLIENT_VARIABLES,
        }

    # ---------------------------------------------------------------- setting up
    def set_up_client(self) -> None:
        """Answer what the client asks at its first run, and declare the tracker."""
        self._answer_first_run_questions()
        self._declare_mcp_server()

    def _answer_first_run_questions(self) -> None:
        project = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
        answers = {
            "hasCompletedOnboarding": True,
            "theme": "dark",
            "numStartups": 5,
            "customApiKeyResponses": {"approved": [KEY[-20:]], "rejected": []},
            "projects": {str(self.project): project},
        }
        (self.home / ".claude").mkdir(exist_ok=True)
        (self.home / ".claude.json").write_text(json.dumps(answers))

    def _declare_mcp_server(self) -> None:
        server = Path(__file__).with_name("tracker_server.py")
        tracker = {"command": sys.executable, "args": ["-I", str(server), str(self.root / "mails")]}
        file = self.root / "mcp.json"
        file.write_text(json.dumps({"mcpServers": {"tracker": tracker}}))
        self.arguments += ["--mcp-config", str(file)]

    def lockgate(self, *arguments: str, package: Path | None = None) -> str:
        """Run ``lockgate`` as the person would, in a terminal outside the client; ``package`` runs a copy of it."""
        environment = {**self.environment, **({"PYTHONPATH": str(package)} if package else {})}
        command = [sys.executable, "-m", "lockgate", *arguments]
        done = subprocess.run(command, cwd=self.home, env=environment, capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, f"lockgate {' '.join(arguments)}: {done.stdout}{done.stderr}"
        return done.stdout

    def decide_by(self, profile: str) -> None:
        """Have a profile decide, as the person would."""
        config = self.home / ".config" / "lockgate"
        config.mkdir(parents=True, exist_ok=True)
        (config / "lockgate.yaml").write_text(f"profile: {profile}\n")

    def copy_of_lockgate(self) -> Path:
        """A copy of the package that a test may break; install with it as ``package``."""
        target = self.root / "library"
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / "src" / "lockgate", target / "lockgate", ignore=ignored)
        return target

    def use_plugin(self) -> None:
        """Load the project's plugin into the client."""
        self.arguments += ["--plugin-dir", str(ROOT / "plugin")]

    def install(self, package: Path | None = None) -> None:
        """Install Lockgate as a person does; ``package`` is a copy of it."""
        self.lockgate("install", self.client, package=package)

    # ---------------------------------------------------------------- running
    def command(self, model: ScriptedModel, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """Command line and environment of the client."""
        argv = [str(claude_code(self.version)), *self.arguments, *arguments]
        return argv, {**self.environment, "ANTHROPIC_BASE_URL": model.url}

    def run(
        self, model: ScriptedModel, prompt: str = "please go on", *arguments: str, bypass: bool = True
    ) -> dict[str, Any]:
        """Run the client without a terminal until it ends; returns its final message.

        Without ``bypass`` it refuses what it would ask about.
        """
        argv, environment = self.command(
            model, *[_BYPASS] * bypass, "-p", prompt, "--output-format", "json", *arguments
        )
        done = subprocess.run(
            argv,
            cwd=self.project,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
        )
        assert done.returncode == 0, f"the client failed: {done.stdout[-2000:]}{done.stderr[-2000:]}"
        parsed = json.loads(done.stdout)
        final: dict[str, Any] = parsed[-1] if isinstance(parsed, list) else parsed
        return final

    def open(self, model: ScriptedModel, mode: str = "bypassPermissions", size: tuple[int, int] = SIZE) -> Terminal:
        """Open the client in a terminal, in a permission mode, ready for a prompt and with the tracker's tools."""
        listed = self.root / "listed"
        listed.unlink(missing_ok=True)
        # On the command line, because the client writes what it was asked at its first run into the user's settings.
        settings = {
            "skipDangerousModePermissionPrompt": True,
            "showClearContextOnPlanAccept": True,
            # What the client would ask about by itself; Lockgate must not rely on that.
            "permissions": {"allow": ["Bash(git push:*)", "mcp__tracker__fetch_issue"]},
        }
        arguments = ("--settings", json.dumps(settings), "--permission-mode", mode)
        argv, environment = self.command(model, *arguments)
        terminal = Terminal(argv, environment, self.project, size)
        terminal.wait_for(_READY[mode])
        # It takes a prompt before it has its servers' tools, and a call of one that it has not yet reads nothing.
        terminal.wait_until(listed.exists, "the tracker's tools")
        return terminal

    def remembered_settings(self) -> bytes | None:
        """The exact bytes of the user settings."""
        return self.settings.read_bytes() if self.settings.exists() else None


def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if os.path.exists(path) else []
