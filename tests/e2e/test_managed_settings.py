"""Hooks in the administrator's settings: no user, project or option of the client switches them off."""

from __future__ import annotations

import json
import os
import pwd
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from e2e.conftest import Serve
from e2e.harness.clients import claude_code
from e2e.harness.script import Script, bash, fetch_issue
from e2e.harness.scripted_model import ScriptedModel
from e2e.harness.world import PUSH, World
from lockgate.clients.install import claude, registration
from lockgate.system.folders import Folders

_SETTINGS = "claude-code/managed-settings.d/lockgate.json"
_WAYS_OUT: dict[str, tuple[dict[str, object], tuple[str, ...], dict[str, str]]] = {
    "nothing": ({}, (), {}),
    "switched-off-by-the-user": ({"disableAllHooks": True}, (), {}),
    "safe-mode": ({}, ("--safe-mode",), {}),
    "no-settings-of-the-user": ({}, ("--setting-sources", "project"), {}),
    "other-folders": ({"env": {"HOME": "/tmp", "h": "/tmp", "n": "root", "XDG_STATE_HOME": "/tmp"}}, (), {}),
}


@dataclass
class Machine(World):
    """A machine with an ``/etc`` of its own, in which an administrator has registered the hooks for every user."""

    variables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Make the world, and what the administrator of the machine has put into ``/etc``."""
        super().__post_init__()
        shutil.copytree("/etc", self.etc, symlinks=True, ignore=_unreadable)
        user = pwd.getpwuid(os.getuid())
        row = f"{user.pw_name}:x:{user.pw_uid}:{user.pw_gid}::{self.home}:/bin/sh\n"
        (self.etc / "passwd").write_text(row)
        launch = claude.this_launch(Folders("/r", "/r/state", "/r/config"), f"/etc/{_SETTINGS}")
        change = registration.plan_install("claude-code", launch._replace(for_everyone=True))
        assert change.after is not None
        (self.etc / _SETTINGS).parent.mkdir(parents=True, exist_ok=True)
        (self.etc / _SETTINGS).write_text(change.after)

    @property
    def etc(self) -> Path:
        """The machine's ``/etc``."""
        return self.root / "etc"

    def command(self, model: ScriptedModel, *arguments: str) -> tuple[list[str], dict[str, str]]:
        """The client, where ``/etc`` is the machine's."""
        argv, environment = super().command(model, *arguments)
        return [*self._inside(), *argv], {**environment, **self.variables}

    def checked(self) -> dict[str, str]:
        """What ``lockgate doctor`` says, by the name of each check."""
        argv = [*self._inside(), sys.executable, "-m", "lockgate", "doctor", "--json"]
        ran = subprocess.run(argv, cwd=self.project, env=self.environment, capture_output=True, text=True, timeout=60)
        return {row["name"]: f"{row['state']}: {row['says']}" for row in json.loads(ran.stdout)["checks"]}

    def _inside(self) -> list[str]:
        bwrap = shutil.which("bwrap")
        assert bwrap, "bubblewrap is needed: make system"
        return [bwrap, "--dev-bind", "/", "/", "--bind", str(self.etc), "/etc", "--"]


def _unreadable(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if not os.access(os.path.join(folder, name), os.R_OK)}


@pytest.fixture
def machine(tmp_path: Path, version: str) -> Machine:
    claude_code(version)
    return Machine(tmp_path.resolve(), version)


@pytest.mark.parametrize(("settings", "options", "variables"), _WAYS_OUT.values(), ids=_WAYS_OUT.keys())
def test_no_user_and_no_option_switches_them_off(
    machine: Machine,
    serve: Serve,
    settings: dict[str, object],
    options: tuple[str, ...],
    variables: dict[str, str],
) -> None:
    machine.settings.write_text(json.dumps(settings))
    machine.variables = variables
    # In safe mode there is no tracker, so the call is one that is refused in a clean session, too.
    mark = machine.home / ".local/state/lockgate/mark"
    model = serve(Script.of(bash("cat notes.txt"), bash(f"echo x > {mark}")))
    machine.run(model, "please go on", *options)
    assert "first line" in model.result(0).text
    assert model.result(1).is_error
    assert not mark.exists()


def test_an_untrusted_session_pushes_nothing(machine: Machine, serve: Serve) -> None:
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    machine.run(model)
    assert machine.pushes == []


def test_without_them_the_same_push_runs(machine: Machine, serve: Serve) -> None:
    (machine.etc / _SETTINGS).unlink()
    model = serve(Script.of(fetch_issue(), bash(PUSH)))
    machine.run(model)
    assert len(machine.pushes) == 1


def test_a_user_without_a_state_begins_one(machine: Machine, serve: Serve) -> None:
    shutil.rmtree(machine.home / ".local")
    model = serve(Script.of(bash("cat notes.txt"), fetch_issue(), bash(PUSH)))
    machine.run(model)
    assert "first line" in model.result(0).text
    assert machine.pushes == []
    assert (machine.home / ".local/state/lockgate/lockgate.db").exists()


def test_each_user_sees_that_they_are_guarded(machine: Machine) -> None:
    checked = machine.checked()
    assert checked["hooks (managed)"] == "ok: exactly as this version registers them for every user"
    assert checked["self-test"].startswith("ok: ")


BARE = {"2.1.197": False, "2.1.329": True}
"""Whether the hooks of managed settings run under ``--bare``, by the client's version."""


def test_a_bare_client_runs_them_in_its_newer_version(machine: Machine, serve: Serve) -> None:
    mark = machine.home / ".local/state/lockgate/mark"
    model = serve(Script.of(bash(f"echo x > {mark}")))
    machine.run(model, "please go on", "--bare")
    assert mark.exists() is not BARE[machine.version]
