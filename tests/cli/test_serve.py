"""``lockgate serve`` and ``lockgate serve groups``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lockgate.cli.main import cli
from lockgate.service.containers.groups import Groups


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_STATE_HOME", raising=False)

    def invoke(*arguments: str) -> Result:
        return CliRunner().invoke(cli, ["serve", *arguments])

    return invoke


def _groups(tmp_path: Path) -> Groups:
    return Groups(str(tmp_path / ".local/state/lockgate"))


def test_a_group_is_added_shown_changed_and_removed(run: Any, tmp_path: Path) -> None:
    ipc = tmp_path / "ipc"
    done = run("groups", "add", "web", "--ipc", str(ipc), "--profile", "cascade", "--json")
    assert done.exit_code == 0, done.output
    said = json.loads(done.output)
    assert [mount["mode"] for mount in said["mounts"]] == ["rw", "ro", "ro"]
    before = _groups(tmp_path).all()["web"]
    assert before.profile == "cascade"
    assert before.secret.hex() not in done.output
    assert before.secret.hex() not in run("groups", "list", "--json").output
    assert (ipc / "web").stat().st_mode & 0o777 == 0o700
    key = ipc / "web" / "secret" / "key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert before.secret.hex() in key.read_text()
    assert run("groups", "token", "web").output.strip() == before.key.token
    assert run("groups", "rotate", "web").exit_code == 0
    after = _groups(tmp_path).all()["web"]
    assert after.secret != before.secret
    assert after.secret.hex() in key.read_text()
    assert run("groups", "remove", "web").exit_code == 0
    assert not _groups(tmp_path).all()
    assert not (ipc / "web").exists()


@pytest.mark.parametrize("name", ["../web", "Web", "web/x", "", "w" * 33])
def test_a_name_that_is_none(run: Any, tmp_path: Path, name: str) -> None:
    assert run("groups", "add", name, "--ipc", str(tmp_path / "ipc")).exit_code == 1
    assert not (tmp_path / "ipc").exists()


def test_a_group_is_added_once(run: Any, tmp_path: Path) -> None:
    assert run("groups", "add", "web", "--ipc", str(tmp_path / "ipc")).exit_code == 0
    assert run("groups", "add", "web", "--ipc", str(tmp_path / "other")).exit_code == 1
    assert run("groups", "add", "api", "--ipc", str(tmp_path / "ipc"), "--profile", "none").exit_code == 2


@pytest.mark.parametrize("act", ["remove", "rotate", "token"])
def test_a_group_that_there_is_not(run: Any, act: str) -> None:
    done = run("groups", act, "web")
    assert done.exit_code == 1
    assert "no group" in done.output


def test_an_agent_can_do_none_of_it(run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLAUDECODE", "1")
    for words in (["groups", "add", "web", "--ipc", str(tmp_path / "ipc")], ["groups", "token", "web"], ["--ipc", "x"]):
        assert run(*words).exit_code == 1
    assert not (tmp_path / "ipc").exists()


def test_what_cannot_be_served(run: Any, tmp_path: Path) -> None:
    assert run().exit_code == 1
    assert run("--listen", "0.0.0.0:1").exit_code == 1
    open_folder = tmp_path / "open"
    open_folder.mkdir()
    open_folder.chmod(0o755)
    done = run("--ipc", str(open_folder))
    assert done.exit_code == 1
    assert "chmod 700" in done.output
