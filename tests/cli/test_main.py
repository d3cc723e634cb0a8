"""What holds for every command, with real processes."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from lockgate.cli.main import _COMMANDS, cli
from support import forked

pytestmark = pytest.mark.sampled


@pytest.mark.parametrize(
    "command",
    ["audit show", "config check", "doctor", "explain ls", "install claude-code --dry-run", "status", "trust"],
)
def test_in_a_folder_that_is_gone(tmp_path: Path, command: str) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD" && exec "$0" -m lockgate ' + command
    done = subprocess.run(
        ["sh", "-c", script, sys.executable], cwd=gone, capture_output=True, text=True, env={"HOME": str(tmp_path)}
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error: the current folder is gone; change to another one\n"


@pytest.mark.parametrize("command", sorted(_COMMANDS))
def test_help_for_each_command(tmp_path: Path, command: str) -> None:
    done = forked.run_text([command, "--help"], cwd=tmp_path, env={"HOME": str(tmp_path), "COLUMNS": "80"})
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(f"Usage: lockgate {command}")
    assert max(map(len, done.stdout.splitlines())) <= 80


def test_a_person_who_tries_the_status_line_is_told_what_it_is_for(tmp_path: Path) -> None:
    master, terminal = pty.openpty()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "lockgate", "statusline"],
            stdin=terminal,
            capture_output=True,
            text=True,
            env={"HOME": str(tmp_path)},
        )
    finally:
        os.close(master)
        os.close(terminal)
    assert done.returncode == 2
    assert "lockgate status" in done.stderr


@pytest.mark.parametrize(
    "command",
    [
        "approvals list",
        "approvals watch --json",
        "approve abc",
        "audit show",
        "audit verify",
        "canary new",
        "canary revoke x",
        "config show",
        "dashboard tokens add x",
        "judge check",
        "patterns list",
        "policy status",
        "policy unpin --all",
        "scan README",
        "serve groups add g --ipc ipc",
        "sessions",
        "status",
        "store status",
        "telemetry metrics",
        "telemetry run",
        "trust --yes",
        "untrust",
    ],
)
def test_a_state_that_cannot_be_used_is_told_and_ends_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "CLAUDECODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    state, project = tmp_path / ".local" / "state" / "lockgate", tmp_path / "project"
    for folder in (state, project):
        folder.mkdir(parents=True)
    (state / "key").write_bytes(b"k" * 32)
    state.chmod(0o777)  # anybody can have put that there
    (project / "README").write_text("hello")
    (project / "lockgate.yaml").write_text("profile: quarantine\n")
    monkeypatch.chdir(project)
    done = CliRunner().invoke(cli, command.split())
    assert (done.exit_code, "others can write to the state folder" in done.output) == (3, True), done.output
    assert isinstance(done.exception, SystemExit)
