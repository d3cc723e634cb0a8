"""``lockgate install claude-code --managed``: what every user runs is root's, and is taken out without a trace."""

from __future__ import annotations

import json
import os
import stat
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lockgate.cli import install
from lockgate.cli.install import every_user
from lockgate.cli.main import cli
from lockgate.clients.install import claude
from lockgate.configuration.pattern_library import cache
from lockgate.configuration.pattern_library.compiled import load
from lockgate.core.errors import InstallError
from lockgate.store.opening import open_store
from lockgate.system.folders import Folders, folders


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def managed(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The administrator's folder on a machine whose root is whoever runs the tests."""
    folder = home / "etc"
    monkeypatch.setattr(claude, "find_managed_folder", lambda: str(folder))
    monkeypatch.setattr(every_user, "check", lambda started, *, dry_run: None)
    # The user database would name the real home folder of whoever runs the tests.
    monkeypatch.setattr(install, "folders", lambda environ=None: folders())
    return folder


@pytest.mark.parametrize("how", [("--managed",), ("--scope", "managed")], ids=" ".join)
def test_they_stand_in_a_file_that_all_can_read(managed: Path, how: tuple[str, ...]) -> None:
    done = run("install", "claude-code", *how)
    assert done.exit_code == 0, done.output
    file = managed / "managed-settings.d/lockgate.json"
    command = json.loads(file.read_text())["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    assert '--home "$h" --state "$h/.local/state/lockgate"' in command
    assert str(managed.parent) not in command.replace(str(file), "")
    modes = [stat.S_IMODE(place.stat().st_mode) for place in (managed, file.parent, file)]
    assert modes == [0o755, 0o755, 0o644]


def test_they_are_taken_out_without_a_trace(managed: Path) -> None:
    managed.mkdir()
    run("install", "claude-code", "--managed")
    done = run("uninstall", "claude-code", "--managed")
    assert done.exit_code == 0, done.output
    assert list(managed.iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [("codex", "--managed"), ("--all", "--managed"), ("claude-code", "--managed", "--statusline")],
    ids=" ".join,
)
def test_what_cannot_be_is_refused(managed: Path, arguments: tuple[str, ...]) -> None:
    assert run("install", *arguments).exit_code in (1, 2)
    assert not managed.exists()


def test_the_patterns_of_every_user_are_compiled(managed: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that nobody's first call is blocked until theirs are: each finds what root has compiled, and may read it."""
    beside = home / "beside"
    monkeypatch.setattr(cache, "BESIDE", str(beside))
    before = os.umask(0o077)
    try:
        done = run("install", "claude-code", "--managed")
    finally:
        os.umask(before)
    assert done.exit_code == 0, done.output
    user = Folders(str(home / "user"), str(home / "user" / "state"), str(home / "user" / "config"))
    with closing(open_store(user.state)) as store:
        assert load(store, user, "", seconds=0.0).digest
    (artefact,) = beside.iterdir()
    assert [stat.S_IMODE(place.stat().st_mode) for place in (beside, artefact)] == [0o755, 0o644]
    artefact.chmod(0o600)
    run("install", "claude-code", "--managed")
    assert stat.S_IMODE(artefact.stat().st_mode) == 0o644, "one that set-up has made is for its owner alone"


def test_patterns_that_cannot_be_compiled_are_told(managed: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (home / "file").touch()
    monkeypatch.setattr(cache, "BESIDE", str(home / "file" / "beside"))
    done = run("install", "claude-code", "--managed")
    assert done.exit_code == 0, done.output
    assert "Each user's first calls are blocked until theirs are compiled" in done.output


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program in folders that only its owner can write."""
    folder = tmp_path / "opt"
    folder.mkdir(mode=0o755)
    file = folder / "hook.py"
    file.touch(mode=0o644)
    return file


def test_a_program_of_root_alone_may_serve_everyone(program: Path) -> None:
    every_user.check([str(program)], dry_run=False, root=os.geteuid())


@pytest.mark.parametrize("others", [0o002, 0o020], ids=["others", "group"])
def test_a_program_that_others_can_change_may_not(program: Path, others: int, monkeypatch: pytest.MonkeyPatch) -> None:
    program.parent.chmod(0o755 | others)
    if others == 0o020:
        os.chown(program.parent, -1, _other_group())
        program.parent.chmod(0o755 | others)
    with pytest.raises(InstallError, match="can be written by others than root, and every user would run it"):
        every_user.check([str(program)], dry_run=False, root=os.geteuid())


def test_a_link_to_what_others_can_change_may_not(program: Path, tmp_path: Path) -> None:
    link = tmp_path / "link.py"
    link.symlink_to(program)
    program.parent.chmod(0o777)
    with pytest.raises(InstallError, match="can be written by others"):
        every_user.check([str(link)], dry_run=False, root=os.geteuid())


def test_a_program_of_a_user_may_not(program: Path) -> None:
    if os.geteuid() == 0:
        os.chown(program, 12345, -1)
    with pytest.raises(InstallError, match="belongs to user"):
        every_user.check([str(program)], dry_run=True, root=os.geteuid() + 1)


def test_only_root_registers(program: Path) -> None:
    with pytest.raises(InstallError, match="run this with sudo"):
        every_user.check([str(program)], dry_run=False, root=os.geteuid() + 1)


def _other_group() -> int:
    """A group of this process that is not root's."""
    return next((group for group in os.getgroups() if group), 1)
