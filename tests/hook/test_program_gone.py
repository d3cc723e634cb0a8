"""Hooks that are left in the settings of a program that is gone, or whose interpreter is."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from lockgate.clients.common.hook_command import REPORTS, HookLaunch, hook_command
from lockgate.clients.install.claude_entries import find_weakened_events
from lockgate.system.folders import Folders
from support.builds import Build

pytestmark = pytest.mark.sampled


class Installed:
    """A build with an interpreter of its own, and the hooks that it has registered."""

    def __init__(self, root: Path) -> None:
        self.build = Build(root / "site-packages", "one")
        self.python = root / "bin" / "python"
        self.python.parent.mkdir()
        self.python.symlink_to(sys.executable)
        self.settings = root / "it's a home" / ".claude" / "settings.json"

    def launch(self, *, native: bool = False) -> HookLaunch:
        home = str(self.settings.parents[1])
        where = Folders(home, f"{home}/state", f"{home}/config")
        return HookLaunch(
            str(self.python), self.build.hook, where, str(self.settings), native=self.build.native if native else ""
        )

    def said(self, event: str = "PreToolUse", *, native: bool = False) -> str:
        """What a hook says that blocks, or would if its event could be blocked."""
        done = subprocess.run(
            ["/bin/sh", "-c", hook_command(self.launch(native=native), event)],
            input=json.dumps({"hook_event_name": event}),
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={"PATH": os.environ["PATH"], "HOME": "/nonexistent"},
        )
        assert done.returncode == (1 if event in REPORTS else 2)
        return done.stderr


@pytest.fixture
def installed(tmp_path: Path) -> Installed:
    """An installation."""
    return Installed(tmp_path)


@pytest.mark.parametrize("native", [False, True], ids=["python", "native"])
@pytest.mark.parametrize("event", ["PreToolUse", "UserPromptSubmit", "Stop"])
def test_uninstalled_with_its_hooks_left(installed: Installed, event: str, native: bool) -> None:
    """The line names the settings and both ways out, and comes from the shell: nothing else is there."""
    shutil.rmtree(installed.build.package)
    said = installed.said(event, native=native)
    assert f"take its hooks out of {installed.settings}." in said
    assert "run lockgate install claude-code" in said
    assert "lockgate doctor" not in said, "it is gone too"


def test_an_environment_that_was_made_anew(installed: Installed) -> None:
    """With another interpreter the package is in another folder."""
    installed.build.package.rename(installed.build.package.with_name("elsewhere"))
    assert "has another Python: run lockgate install claude-code" in installed.said(native=True)


def test_an_interpreter_that_is_gone(installed: Installed) -> None:
    installed.python.unlink()
    assert "has another Python: run lockgate install claude-code" in installed.said()
    said = installed.said(native=True)
    assert "install Lockgate again, then run lockgate install" in said
    assert "has another Python: run lockgate install claude-code" in said


@pytest.mark.parametrize("fault", ["gone", "crash"])
def test_it_blocks_where_nobody_reads_what_it_says(installed: Installed, fault: str) -> None:
    """A shell that a broken pipe ends has no exit code: a client that knows only 2 would let the call run."""
    if fault == "gone":
        installed.python.unlink()
    else:
        Path(installed.build.hook).write_text("import sys; sys.exit(7)")
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            ["/bin/sh", "-c", hook_command(installed.launch(), "PreToolUse")],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=writing, timeout=60, check=False,
        )  # fmt: skip
    finally:
        os.close(writing)
    assert done.returncode == 2


def test_a_settings_file_with_an_odd_name_is_shown_escaped(installed: Installed) -> None:
    installed.settings = installed.settings.with_name("a\x1b]0;x\x07.json")
    installed.python.unlink()
    said = installed.said()
    assert "a\\e]0;x" in said
    assert "\x1b" not in said


def test_a_hook_that_crashes_is_still_there(installed: Installed) -> None:
    Path(installed.build.hook).write_text("import sys; sys.exit(7)")
    said = installed.said()
    assert "the hook could not run (exit code 7); run: lockgate doctor" in said
    assert "take its hooks out" not in said


def test_hooks_of_another_place_and_of_before_hold_every_call(installed: Installed, tmp_path: Path) -> None:
    """Only the places that they name differ, which stand in quotes; what the shell does is the same."""
    from lockgate.clients.common.hook_command import hook_entry, valid_entries

    own = installed.launch()
    other = own._replace(hook="/somewhere/lockgate/hook.py", settings="/somewhere/settings.json")
    valid = valid_entries(own, ["PreToolUse"])
    settings = {"hooks": {"PreToolUse": [{"hooks": [hook_entry(other, "PreToolUse")]}]}}
    assert find_weakened_events(settings, valid) == []
    oldest = valid["PreToolUse"][-1]
    assert oldest["command"].endswith('run: lockgate doctor" >&2; exit 2; }')
    for former in valid["PreToolUse"]:
        assert find_weakened_events({"hooks": {"PreToolUse": [{"hooks": [former]}]}}, valid) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("exit 2; }", "exit 0; }"),
        ("exit 2; }", "exit 2; } || true"),
        ("[ -x '", "rm -rf '"),
        (">&2; fi", ">&2; exit 0; fi"),
        ("printf '%s\\n' '", "exit 0; printf '%s\\n' '"),
        ("r=$?", "exit 0; r=$?"),
        ('trap "" PIPE', "trap 'exit 0' PIPE"),
        ('trap "" PIPE', "trap 'exit 0' EXIT"),
        ('trap "" PIPE', 'trap "exit 0" EXIT'),
    ],
)
def test_a_tail_that_does_something_else_does_not(installed: Installed, old: str, new: str) -> None:
    from lockgate.clients.common.hook_command import hook_entry, valid_entries

    own = installed.launch()
    entry = hook_entry(own, "PreToolUse")
    assert old in entry["command"]
    changed = {**entry, "command": entry["command"].replace(old, new)}
    settings = {"hooks": {"PreToolUse": [{"hooks": [changed]}]}}
    assert find_weakened_events(settings, valid_entries(own, ["PreToolUse"])) == ["PreToolUse"]
