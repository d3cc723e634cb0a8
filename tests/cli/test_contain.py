"""``lockgate contain``: a person runs a command as an agent's is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support import forked


@pytest.fixture
def home(tmp_path: Path) -> Path:
    project = tmp_path / "home" / "project"
    (project / ".git").mkdir(parents=True)
    (project / ".env").write_text("KEY=geheim\n")
    return tmp_path / "home"


def _lockgate(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run_text(arguments, cwd=home / "project", env={"HOME": str(home), "PATH": "/usr/bin:/bin"})


def test_output_and_exit_status_are_the_commands(home: Path) -> None:
    done = _lockgate(home, "contain", "--", "sh", "-c", "cat .env; echo made > made; echo said; exit 7")
    assert (done.returncode, done.stdout) == (7, "said\n")
    assert (home / "project" / "made").read_text() == "made\n"


def test_options_belong_to_the_command(home: Path) -> None:
    assert _lockgate(home, "contain", "echo", "-n", "--help", "a  b").stdout == "--help a  b"


def test_the_workspace_can_be_named(home: Path) -> None:
    (home / "other").mkdir()
    done = _lockgate(home, "contain", "--workspace", str(home / "other"), "sh", "-c", "touch ../other/in made")
    assert done.returncode != 0
    assert (home / "other" / "in").exists()
    assert not (home / "project" / "made").exists()


def test_what_cannot_be_contained_is_not_run(home: Path) -> None:
    done = _lockgate(home, "contain", "--workspace", str(home), "touch", "made")
    assert done.returncode == 125
    assert "not run" in done.stderr
    assert not (home / "project" / "made").exists()


def test_a_program_that_is_not_there_is_told_like_a_shell_tells_it(home: Path) -> None:
    done = _lockgate(home, "contain", "--", "no-such-program", "-x")
    assert (done.returncode, done.stderr) == (127, "lockgate: no-such-program: no such program\n")


def test_no_command_is_wrong_usage(home: Path) -> None:
    assert _lockgate(home, "contain").returncode == 2
