"""Which hook client is written into settings, and that either is known again as the gate's own."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from lockgate.clients.adapter import adapter
from lockgate.clients.claude.events import EVENTS
from lockgate.clients.common.hook_command import (
    HookLaunch,
    either_client,
    find_missing_entries,
    find_started_files,
    hook_command,
    is_own_command,
    native_file,
    remote_words,
    valid_entries,
)
from lockgate.clients.hook import native as native_client
from lockgate.clients.install import claude as claude_install
from lockgate.clients.install import claude_checks as claude_doctor
from lockgate.clients.install import other_checks as other_doctor
from lockgate.clients.install import others as installing
from lockgate.clients.install.claude_settings_view import DoctorCheck, look
from lockgate.system.folders import Folders

LAUNCH = HookLaunch("/opt/py", "/opt/it's/lockgate/hook.py", Folders("/h", "/s", "/c"), "/h/settings.json")
PYTHON, NATIVE = either_client(LAUNCH)
OTHERS = sorted(installing.WAYS)
ABOUT = f"printf %s '{native_client.ABOUT}'"


def placed(folder: Path, script: str | bytes | None, mode: int = 0o755) -> str:
    """A hook's file, and beside it what stands in for the native client."""
    hook = folder / "hook.py"
    hook.write_text("")
    if script is not None:
        file = Path(native_file(str(hook)))
        file.write_bytes(script if isinstance(script, bytes) else f"#!/bin/sh\n{script}\n".encode())
        file.chmod(mode)
    return str(hook)


@pytest.mark.parametrize(
    ("script", "mode", "problem"),
    [
        pytest.param(ABOUT, 0o755, "", id="runs"),
        pytest.param(None, 0o755, "it was not built", id="not there"),
        pytest.param(ABOUT, 0o644, "it does not run: Permission denied", id="not executable"),
        pytest.param(b"\x7fELF of another machine", 0o755, "it does not run: Exec format error", id="another machine"),
        pytest.param("exit 0", 0o755, "it is not of this version", id="says nothing"),
        pytest.param(f"{ABOUT}; exit 1", 0o755, "it is not of this version", id="fails"),
        pytest.param("echo lockgate-hook LOCKGATE1", 0o755, "it is not of this version", id="another protocol"),
    ],
)
def test_it_is_tried_before_it_is_used(tmp_path: Path, script: str | bytes | None, mode: int, problem: str) -> None:
    hook = placed(tmp_path, script, mode)
    assert native_client.problem(hook).startswith(problem)
    assert bool(native_client.problem(hook)) == bool(problem)
    assert native_client.usable(hook) == ("" if problem else native_file(hook))


@pytest.mark.parametrize(("script", "is_native"), [(ABOUT, True), ("exit 1", False), (None, False)])
def test_an_installer_takes_what_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, is_native: bool
) -> None:
    hook = placed(tmp_path, script)
    monkeypatch.setattr(claude_install, "PACKAGE_FOLDER", str(tmp_path))
    assert claude_install.this_launch(LAUNCH.folders).native == (native_file(hook) if is_native else "")
    assert claude_install.this_launch(LAUNCH.folders, native=False).native == ""


# ---------------------------------------------------------------- the command
def test_the_native_command_holds_the_python_one_s_words() -> None:
    native, python = (hook_command(each, "PreToolUse") for each in (NATIVE, PYTHON))
    assert native.startswith("'/opt/it'\"'\"'s/lockgate/lockgate-hook' --python '/opt/py' --script ")
    assert python.startswith("'/opt/py' -I -S ")
    assert native.split(" claude-code ")[1] == python.split(" claude-code ")[1]


def test_one_that_asks_a_gate_elsewhere_is_python() -> None:
    remote = NATIVE._replace(remote=remote_words("unix:/gate.sock", "/key"))
    assert hook_command(remote, "PreToolUse") == hook_command(remote._replace(native=""), "PreToolUse")
    assert either_client(remote) == (remote._replace(native=""),)


@pytest.mark.parametrize("client", ["claude-code", *OTHERS])
@pytest.mark.parametrize("launch", [PYTHON, NATIVE], ids=["python", "native"])
def test_either_command_is_known_as_the_gate_s_own(launch: HookLaunch, client: str) -> None:
    assert all(is_own_command(hook_command(launch, event, client)) for event in adapter(client).EVENTS)


def test_the_files_that_a_command_needs() -> None:
    assert find_started_files(["/py", "-I", "-S", "/hook.py", "claude-code"]) == ("/py", "/hook.py")
    words = ["/native", "--python", "/py", "--script", "/hook.py", "claude-code"]
    assert find_started_files(words) == ("/native", "/py", "/hook.py")
    assert find_started_files(["/py"]) == ("/py",)


# ---------------------------------------------------------------- installed with one, looked at with the other
@pytest.mark.parametrize("launch", [PYTHON, NATIVE], ids=["python", "native"])
def test_claude_s_settings_may_hold_either(tmp_path: Path, launch: HookLaunch) -> None:
    file = tmp_path / "settings.json"
    change = claude_install.plan_install(str(file), launch, statusline=False)
    assert change.after is not None
    assert find_missing_entries(json.loads(change.after), valid_entries(LAUNCH, EVENTS)) == []
    moved = LAUNCH._replace(hook="/elsewhere/lockgate/hook.py")
    assert find_missing_entries(json.loads(change.after), valid_entries(moved, EVENTS)) == list(EVENTS)


def _state(found: Iterable[DoctorCheck], name: str) -> str:
    return next(check.state for check in found if check.name == name)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, bool], Folders]:
    """A machine whose client's hooks were installed with a native client, or without; there is one now."""
    monkeypatch.setattr(claude_install, "PACKAGE_FOLDER", str(tmp_path / "lockgate"))
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)
    (tmp_path / "lockgate").mkdir()
    placed(tmp_path / "lockgate", ABOUT)
    where = Folders(str(tmp_path), str(tmp_path / "state"), str(tmp_path / "config"))

    def install(client: str, native: bool) -> Folders:
        if client == "claude-code":
            file = claude_install.settings_file("user", where, str(tmp_path), {})
            launch = claude_install.this_launch(where, file, native=native)
            change = claude_install.plan_install(file, launch, statusline=False)
        else:
            file = installing.hooks_file(client, "user", where, str(tmp_path), {})
            change = installing.plan_install(client, file, claude_install.this_launch(where, file, native=native))
        claude_install.apply(change, where)
        return where

    return install


@pytest.mark.parametrize("native", [True, False], ids=["native", "python"])
@pytest.mark.parametrize("client", ["claude-code", *OTHERS])
def test_the_doctor_knows_either(
    installed: Callable[[str, bool], Folders], tmp_path: Path, client: str, native: bool
) -> None:
    where = installed(client, native)
    seen = look(where, str(tmp_path), {"PATH": ""}, "")
    if client == "claude-code":
        assert _state(claude_doctor.checks(seen), "hooks (user)") == "ok"
    else:
        assert _state(other_doctor.checks(seen), client) == "ok"


@pytest.mark.parametrize("client", ["claude-code", *OTHERS])
def test_installing_again_changes_to_the_other(
    installed: Callable[[str, bool], Folders], tmp_path: Path, client: str
) -> None:
    where = installed(client, False)
    file = (
        claude_install.settings_file("user", where, str(tmp_path), {})
        if client == "claude-code"
        else installing.hooks_file(client, "user", where, str(tmp_path), {})
    )
    python = Path(file).read_text()
    installed(client, True)
    native = Path(file).read_text()
    assert native.count("lockgate-hook") * 2 == max(python.count("lockgate/hook.py"), 2), "tested, then run"
    installed(client, False)
    assert Path(file).read_text() == python
