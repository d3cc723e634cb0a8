"""Another user's home folder, a home that was moved, a wide umask: nothing is made there that keeps its owner out."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import tool
from hook.process import HOOK, SOURCE, run
from lockgate.clients.common.hook_command import HookLaunch, hook_command
from lockgate.core.errors import BadInputError, InstallError, StoreError
from lockgate.store.files import own_folder
from lockgate.system import ownership
from lockgate.system.error_log import note
from lockgate.system.folders import Folders, folders
from lockgate.system.ownership import make_folders
from support import steady
from support.gates import end_gates
from support.prepared import give_state

ANN = 12345
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of others")


def _lockgate(
    home: Path, *words: str, umask: int = 0o022, cwd: str = "/", **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "lockgate", *words],
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(home), "PYTHONPATH": steady.path(), **environ},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        umask=umask,
    )


def _give(path: Path, user: int) -> None:
    for each in (path, *path.rglob("*")):
        os.chown(each, user, user)


def _tree(path: Path) -> dict[str, tuple[int, int, int]]:
    """All that is below a folder, with owners and rights."""
    found = {str(each): os.lstat(each) for each in sorted((path, *path.rglob("*")))}
    return {name: (each.st_uid, each.st_mode, each.st_size) for name, each in found.items()}


@AS_ROOT
@pytest.mark.parametrize("made", ["nothing", "settings", "all"])
@pytest.mark.parametrize(
    "words", [("install", "claude-code"), ("install", "codex"), ("install", "claude-code", "--plugin")], ids=" ".join
)
def test_sudo_with_the_persons_environment(tmp_path: Path, words: tuple[str, ...], made: str) -> None:
    """Settings that became root's are not read by the client, and a state that did blocks every call."""
    home = tmp_path / "ann"
    home.mkdir()
    if made != "nothing":
        (home / ".claude").mkdir()
        (home / ".claude" / "settings.json").write_text("{}")
    if made == "all":
        give_state(home / ".local" / "state" / "lockgate")
    _give(home, ANN)
    before = _tree(home)
    done = _lockgate(home, *words)
    assert done.returncode == 1
    assert (
        f"belongs to user {ANN}, and you are root: run this as {ANN}, without sudo; nothing was changed" in done.stderr
    )
    assert _tree(home) == before


@AS_ROOT
@pytest.mark.parametrize(
    "words",
    [
        ("contain", "true"),
        ("doctor",),
        ("setup", "sandbox"),
        ("approvals", "key", "make", "signs", "--no-passphrase"),
        ("store", "status"),
        ("gate", "start"),
    ],
    ids=" ".join,
)
def test_root_leaves_nothing_in_the_state_of_another(tmp_path: Path, words: tuple[str, ...]) -> None:
    home = tmp_path / "ann"
    give_state(home / ".local" / "state" / "lockgate")
    _give(home, ANN)
    before = _tree(home)
    done = _lockgate(home, *words, cwd=str(home))
    assert _tree(home) == before, done


@AS_ROOT
def test_settings_of_another_in_ones_own_home(tmp_path: Path) -> None:
    settings = tmp_path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{}")
    os.chown(settings, ANN, ANN)
    done = _lockgate(tmp_path, "install", "claude-code")
    assert (done.returncode, settings.read_text(), os.stat(settings).st_uid) == (1, "{}", ANN)
    assert f"{settings} belongs to user {ANN}" in done.stderr


@AS_ROOT
@pytest.mark.parametrize("native", [False, True], ids=["python", "native"])
def test_a_hook_of_another_leaves_nothing_in_a_state(tmp_path: Path, native: bool) -> None:
    give_state(tmp_path / "state")
    _give(tmp_path, ANN)
    before = _tree(tmp_path)
    python = [sys.executable, "-I", "-S", HOOK]
    client = os.path.join(os.path.dirname(HOOK), "lockgate-hook")
    start = [client, "--python", sys.executable, "--script", HOOK] if native else python
    words = ["claude-code", "--home", str(tmp_path), "--state", str(tmp_path / "state"), "--config", str(tmp_path)]
    told = run([*start, *words], tool("PreToolUse", "Bash", {"command": "ls"}))
    assert told.code == 2
    assert f"belongs to user {ANN}, and you are root: run this as {ANN}" in told.stderr
    assert "remove" not in told.stderr
    assert _tree(tmp_path) == before


def test_a_place_below_anothers_folder_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """For those who are not root the same, in their words."""
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 7)
    monkeypatch.setattr(ownership, "user_name", str)
    if os.getuid() == 0:
        os.chown(tmp_path, ANN, ANN)
    with pytest.raises(PermissionError, match="belongs to user"):
        make_folders(str(tmp_path / "a" / "b"))
    with pytest.raises(StoreError, match="belongs to user"):
        own_folder(str(tmp_path / "state"), create=True)
    note(str(tmp_path / "state"), "a", "b", "c")
    assert list(tmp_path.iterdir()) == []


def test_a_wide_umask_opens_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    give_state(home / ".local" / "state" / "lockgate")
    (home / ".local").chmod(0o755)
    (home / ".local" / "state").chmod(0o755)
    done = _lockgate(home, "install", "claude-code", umask=0)
    assert done.returncode == 0, done.stderr
    settings = json.loads((home / ".claude" / "settings.json").read_text())
    command = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
    event = tool("PreToolUse", "Bash", {"command": "ls"})
    try:
        for _ in range(2):
            told = run(["/bin/sh", "-c", f"umask 0; {command}"], event, env={"PATH": os.environ["PATH"]}, cwd=home)
            assert told.code == 0, told
    finally:
        end_gates(home)
    wide = [name for name, (_, mode, _) in _tree(home).items() if mode & 0o022 and not stat.S_ISLNK(mode)]
    assert [name for name in wide if not name.endswith(".sock")] == []


def test_parents_are_made_as_narrow_as_the_rest(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        own_folder(str(tmp_path / ".local" / "state" / "lockgate"), create=True)
    finally:
        os.umask(before)
    assert {oct(stat.S_IMODE(each.stat().st_mode)) for each in tmp_path.rglob("*")} == {"0o700"}


@pytest.mark.parametrize("home", ["", "relative", "."])
def test_a_home_that_is_empty_or_relative_is_refused(tmp_path: Path, home: str) -> None:
    """Programs take an empty one for different places: the client would look for its settings elsewhere."""
    done = _lockgate(tmp_path, "install", "claude-code", HOME=home)
    assert done.returncode == 1
    assert f"HOME is {'relative' if home else 'empty'}: set it" in done.stderr
    with pytest.raises(BadInputError):
        folders({"HOME": home})
    assert os.path.isabs(folders({}).home), "where it is not set the system says"


_NOBODY = ("--dev-bind", "/", "/", "--unshare-user", "--uid", "54321", "--")
"""As a user whom the user database does not know."""


def test_a_user_whom_the_system_does_not_know(tmp_path: Path) -> None:
    """As in many containers. With ``HOME`` everything works; without it one line says what to do."""
    bwrap = shutil.which("bwrap")
    assert bwrap, "bubblewrap is needed: make system"
    environ = {"PATH": os.environ["PATH"], "PYTHONPATH": SOURCE}
    command = [bwrap, *_NOBODY, sys.executable, "-m", "lockgate", "status"]
    told = run(command, b"", env=environ, cwd=tmp_path)
    assert told == (
        1,
        "",
        "Error: HOME is not set, and the user database has no user 54321: set HOME to your home folder\n",
    )
    give_state(tmp_path / ".local" / "state" / "lockgate")
    assert run(command, b"", env={**environ, "HOME": str(tmp_path)}, cwd=tmp_path).code == 0


def test_hooks_of_every_user_say_what_to_do_where_the_system_does_not_know_one(tmp_path: Path) -> None:
    bwrap = shutil.which("bwrap")
    assert bwrap, "bubblewrap is needed: make system"
    launch = HookLaunch(sys.executable, HOOK, Folders("/r", "/r/state", "/r/config"), for_everyone=True)
    words = ["/bin/sh", "-c", hook_command(launch, "PreToolUse")]
    told = run([bwrap, *_NOBODY, *words], tool("PreToolUse", "Bash", {"command": "ls"}), cwd=tmp_path)
    assert told.code == 2
    assert "the user database names no home folder for this user: add them to it" in told.stderr


@pytest.mark.parametrize("native", [False, True], ids=["python", "native"])
def test_a_home_that_was_moved(tmp_path: Path, native: bool) -> None:
    """A state that is made anew at the old place would know no labels."""
    old = tmp_path / "old"
    old.mkdir()
    give_state(old / "state")
    client = os.path.join(os.path.dirname(HOOK), "lockgate-hook")
    start = [client, "--python", sys.executable, "--script", HOOK] if native else [sys.executable, "-I", "-S", HOOK]
    words = ["claude-code", "--home", str(old), "--state", str(old / "state"), "--config", str(old / "config")]

    def ask() -> Any:
        return run([*start, *words], tool("PreToolUse", "Bash", {"command": "ls"}))

    try:
        assert ask().code == 0
        old.rename(tmp_path / "new")
        for _ in range(2):
            told = ask()
            assert told.code == 2
            assert f"the home folder '{old}' that these hooks name is gone; run: lockgate install" in told.stderr
        assert not old.exists()
    finally:
        end_gates(tmp_path)


def test_the_error_is_the_installers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from lockgate.clients.install import claude as installing

    monkeypatch.setattr(installing, "problem_of", lambda place: f"{place} belongs to user ann")
    change = installing.SettingsChange(str(tmp_path / "settings.json"), None, "{}", None)
    with pytest.raises(InstallError, match="nothing was changed"):
        installing.apply(change, folders({"HOME": str(tmp_path)}))
    assert list(tmp_path.iterdir()) == []
