"""``lockgate serve`` and ``lockgate serve groups``."""

from __future__ import annotations

import json
import os
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


def _file(tmp_path: Path) -> Path:
    return tmp_path / ".local/state/lockgate/groups/web.json"


def _edit(tmp_path: Path, **said: object) -> None:
    """Write a file as a program of the user does that has not the key."""
    _file(tmp_path).write_text(json.dumps({**json.loads(_file(tmp_path).read_text()), **said}))


FORGED = {
    "the profile": {"profile": "observe"},
    "the key": {"secret": "00" * 32},
    "the user": {"uid": 4711},
    "the folder": {"folder": "/elsewhere"},
    "who asks": {"client_asks": True},
    "what may run unasked": {"local": True},
    "a seal that nobody made": {"seal": "0" * 64},
    "no seal": {"seal": ""},
    "a seal that is none": {"seal": 3},
}


@pytest.mark.parametrize("what", FORGED)
def test_nothing_is_decided_for_a_group_that_something_else_has_written(run: Any, tmp_path: Path, what: str) -> None:
    run("groups", "add", "web", "--ipc", str(tmp_path / "ipc"), "--no-local")
    assert set(_groups(tmp_path).all()) == {"web"}
    _edit(tmp_path, **FORGED[what])
    assert _groups(tmp_path).all() == {}
    told = run("groups", "list")
    assert "nothing is decided for it" in told.output
    assert "observe" not in told.output
    assert run("groups", "token", "web").exit_code == 1
    doctor = CliRunner().invoke(cli, ["doctor"]).output
    assert "rotate web" in doctor


def test_a_file_of_another_group_or_installation_is_none(run: Any, tmp_path: Path) -> None:
    run("groups", "add", "web", "--ipc", str(tmp_path / "ipc"))
    run("groups", "add", "loose", "--ipc", str(tmp_path / "ipc"), "--profile", "observe")
    loose = json.loads(_file(tmp_path).with_name("loose.json").read_text())
    _file(tmp_path).write_text(json.dumps({**loose, "name": "web"}))
    assert set(_groups(tmp_path).all()) == {"loose"}
    (tmp_path / ".local/state/lockgate/key").write_bytes(b"k" * 32)
    assert _groups(tmp_path).all() == {}
    (tmp_path / ".local/state/lockgate/key").unlink()
    assert _groups(tmp_path).all() == {}


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 1)])
def test_a_person_says_that_the_file_of_an_older_version_is_right(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, code: int
) -> None:
    run("groups", "add", "web", "--ipc", str(tmp_path / "ipc"), "--profile", "cascade")
    before = _groups(tmp_path).all()["web"]
    _edit(tmp_path, seal="")
    done = run("groups", "rotate", "web")
    assert (done.exit_code, "in a terminal of their own" in done.output) == (1, True)
    monkeypatch.setattr(os, "tcgetpgrp", lambda _: os.getpgrp())
    done = CliRunner().invoke(cli, ["serve", "groups", "rotate", "web"], input=answer)
    assert "profile: cascade" in done.output
    assert done.exit_code == code
    after = _groups(tmp_path).all()
    if answer == "n":
        assert after == {}
    else:
        assert after["web"]._replace(secret=b"") == before._replace(secret=b"")
        assert after["web"].secret != before.secret


def test_no_folder_is_removed_because_a_forged_file_names_it(run: Any, tmp_path: Path) -> None:
    run("groups", "add", "web", "--ipc", str(tmp_path / "ipc"))
    mine = tmp_path / "mine"
    mine.mkdir()
    _edit(tmp_path, folder=str(mine))
    assert run("groups", "remove", "web").exit_code == 0
    assert mine.is_dir()
    assert not _file(tmp_path).exists()
