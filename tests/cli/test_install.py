"""The commands on real files."""

from __future__ import annotations

import json
import os
import shutil
import stat
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lockgate.cli.main import cli
from lockgate.configuration.pattern_library import readiness
from lockgate.configuration.pattern_library.cache import ready
from lockgate.core.errors import PatternError
from lockgate.store.sqlite.store import SqliteStore
from lockgate.system.folders import folders

PLUGIN = Path(__file__).parents[2] / "plugin"
ORIGINAL = (
    '{\n    "model": "opus",\n    "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}\n}'
)


def run(*arguments: str, **options: Any) -> Result:
    return CliRunner().invoke(cli, list(arguments), **options)


def settings_of(home: Path, text: str = ORIGINAL) -> Path:
    file = home / ".claude" / "settings.json"
    file.parent.mkdir()
    file.write_text(text)
    return file


def test_there_and_back(home: Path) -> None:
    file = settings_of(home)
    file.chmod(0o640)
    assert run("install", "claude-code", "--statusline").exit_code == 0
    installed = json.loads(file.read_text())
    assert installed["hooks"]["Stop"][0]["hooks"][0]["command"] == "say done"
    entry = installed["hooks"]["PreToolUse"][0]["hooks"][0]
    assert entry["onFailure"] == "block"
    assert entry["command"].endswith("exit 2; }")
    assert installed["statusLine"]["type"] == "command"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert run("uninstall", "claude-code").exit_code == 0
    assert file.read_text() == ORIGINAL
    assert stat.S_IMODE(file.stat().st_mode) == 0o640


def test_twice_is_once(home: Path) -> None:
    file = settings_of(home)
    run("install", "claude-code", "--statusline")
    once = file.read_text()
    result = run("install", "claude-code")
    assert "nothing to do" in result.output
    assert file.read_text() == once


def test_without_a_file_nothing_is_left(home: Path) -> None:
    assert run("install", "claude-code").exit_code == 0
    assert (home / ".claude" / "settings.json").is_file()
    assert run("uninstall", "claude-code").exit_code == 0
    assert not (home / ".claude").exists()


def test_a_file_that_was_made_and_then_used_is_kept(home: Path) -> None:
    run("install", "claude-code")
    file = home / ".claude" / "settings.json"
    settings = json.loads(file.read_text())
    file.write_text(json.dumps({**settings, "model": "opus"}))
    run("uninstall", "claude-code")
    assert json.loads(file.read_text()) == {"model": "opus"}


@pytest.mark.parametrize(("scope", "name"), [("project", "settings.json"), ("local", "settings.local.json")])
def test_scopes_of_a_project(home: Path, scope: str, name: str) -> None:
    project = home / "my project"
    project.mkdir()
    assert run("install", "claude-code", "--scope", scope, "--project", str(project)).exit_code == 0
    assert "PreToolUse" in json.loads((project / ".claude" / name).read_text())["hooks"]
    assert not (home / ".claude").exists()
    assert run("uninstall", "claude-code", "--scope", scope, "--project", str(project)).exit_code == 0
    assert not (project / ".claude").exists()


def test_a_dry_run_shows_and_does_nothing(home: Path) -> None:
    file = settings_of(home)
    result = run("install", "claude-code", "--dry-run")
    assert result.exit_code == 0
    assert result.output.startswith(f"--- {file}\n+++ {file}\n")
    assert '+    "hooks"' in result.output
    assert file.read_text() == ORIGINAL
    assert not (home / ".local").exists()


def test_json(home: Path) -> None:
    file = settings_of(home)
    told = json.loads(run("install", "claude-code", "--json").output)
    assert told["file"] == str(file)
    assert told["changed"] is True
    assert told["dry_run"] is False


def test_a_link_stays_a_link(home: Path) -> None:
    target = home / "dotfiles.json"
    target.write_text(ORIGINAL)
    (home / ".claude").mkdir()
    link = home / ".claude" / "settings.json"
    link.symlink_to(target)
    run("install", "claude-code")
    assert link.is_symlink()
    assert "PreToolUse" in target.read_text()
    run("uninstall", "claude-code")
    assert link.is_symlink()
    assert target.read_text() == ORIGINAL


def test_a_dangling_link_is_refused(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / ".claude" / "settings.json").symlink_to(home / "nowhere.json")
    result = run("install", "claude-code")
    assert result.exit_code == 1
    assert "is a link to a file that does not exist" in result.output
    assert not (home / "nowhere.json").exists()


@pytest.mark.parametrize("text", ["{", "[]", '{"hooks": 5}', '{"a": 1} // note'])
def test_what_is_not_a_settings_file_is_left_alone(home: Path, text: str) -> None:
    file = settings_of(home, text)
    for command in ("install", "uninstall"):
        result = run(command, "claude-code")
        assert result.exit_code == 1
        assert "it was not changed" in result.output
    assert file.read_text() == text


@pytest.mark.parametrize("command", ["install", "uninstall"])
def test_an_agent_may_not(home: Path, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    file = settings_of(home)
    if command == "uninstall":
        run("install", "claude-code")
    before = file.read_text()
    monkeypatch.setenv("CLAUDECODE", "1")
    result = run(command, "claude-code", input="y\n")
    assert result.exit_code == 1
    assert "only a person may change the agent's hooks" in result.output
    assert file.read_text() == before


def test_the_plugin_is_told_where_the_program_is(home: Path) -> None:
    assert run("install", "claude-code", "--plugin").exit_code == 0
    record = home / ".config" / "lockgate" / "claude-code.launch"
    python, hook, *rest = record.read_text().splitlines()
    assert os.access(python, os.X_OK)
    assert hook.endswith("/lockgate/hook.py")
    assert rest[:3] == [str(home), str(home / ".local/state/lockgate"), str(home / ".config/lockgate")]
    assert not (home / ".claude").exists()


def test_who_has_no_plugin_yet_is_told_that_nothing_is_guarded(home: Path) -> None:
    assert "No session is guarded until the plugin is there" in run("install", "claude-code", "--plugin").stderr


@pytest.mark.parametrize(
    ("script", "code"),
    [
        pytest.param(None, 0, id="the shipped one"),
        pytest.param("exit 0", 1, id="one that lets all calls run"),
        pytest.param("", 1, id="none"),
    ],
)
def test_a_plugin_that_is_there_is_tried(home: Path, script: str | None, code: int) -> None:
    settings_of(home, json.dumps({"enabledPlugins": {"lockgate@market": True}}))
    hooks = home / ".claude" / "plugins" / "cache" / "market" / "lockgate" / "1"
    shutil.copytree(PLUGIN, hooks)
    if script is not None:
        (hooks / "hooks" / "run.sh").write_text(script)
    result = run("install", "claude-code", "--plugin")
    assert result.exit_code == code, result.output
    assert ("sessions would not be guarded" in result.stderr) is bool(code)


def test_a_path_with_quotes_and_spaces_runs(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = home / "it's my $HOME"
    odd.mkdir()
    monkeypatch.setenv("HOME", str(odd))
    run("install", "claude-code")
    entry = json.loads((odd / ".claude" / "settings.json").read_text())["hooks"]["PreToolUse"][0]["hooks"][0]
    import subprocess

    done = subprocess.run(["/bin/sh", "-c", entry["command"]], input="", capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "stdin was empty" in done.stderr
    assert (odd / ".local" / "state" / "lockgate" / "hook.log").is_file()


# ---------------------------------------------------------------- patterns
def test_the_patterns_are_compiled_for_the_first_session(home: Path) -> None:
    where = folders()
    assert run("install", "claude-code").exit_code == 0
    store = SqliteStore.open(where.state)
    assert ready(store, where, "") is not None
    store.close()


def test_a_dry_run_compiles_nothing(home: Path) -> None:
    assert run("install", "claude-code", "--dry-run").exit_code == 0
    assert not Path(folders().state).exists()


def test_a_file_of_patterns_that_is_not_valid_is_told(home: Path) -> None:
    config = Path(folders().config)
    config.mkdir(parents=True)
    (config / "patterns.yaml").write_text("patterns: [\n")
    told = run("install", "claude-code")
    assert (told.exit_code, "patterns.yaml" in told.stderr) == (0, True)


def test_where_they_cannot_be_compiled_it_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise PatternError("no engine")

    monkeypatch.setattr(readiness, "make_ready", broken)
    told = run("install", "claude-code")
    assert (told.exit_code, "no engine" in told.stderr) == (0, True)
