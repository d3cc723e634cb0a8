"""A terminal whose environment names another state folder than the hooks use: nothing is said or done in vain."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from lockgate.cli.common import hooks_state
from lockgate.cli.common.hooks_state import StateUse
from lockgate.cli.main import cli
from lockgate.clients.install import claude_settings_view
from lockgate.store.opening import open_store
from lockgate.system.folders import folders
from support.prepared import give_state

ACTS, READS = (
    [name for name, use in hooks_state._USES.items() if use is one] for one in (StateUse.ACTS, StateUse.READS)
)
AS_EVER = "Error: only a person may answer for a person, in a terminal of their own: this is none\n"


class Elsewhere:
    """A person whose hooks use a state below ``/srv``, and whose terminal does not say so."""

    def __init__(self, home: Path, monkeypatch: pytest.MonkeyPatch, client: str = "claude-code") -> None:
        self.hooks, self.here = home / "srv" / "lockgate", home / ".local" / "state" / "lockgate"
        give_state(self.hooks)
        monkeypatch.setenv("XDG_STATE_HOME", str(home / "srv"))
        self.runs("install", client)
        monkeypatch.delenv("XDG_STATE_HOME")

    def runs(self, *words: str, code: int = 0) -> str:
        done = CliRunner().invoke(cli, words)
        assert done.exit_code == code, (words, done.output)
        return done.output

    @property
    def says(self) -> str:
        return f"have their labels in {self.hooks}, and this terminal names {self.here}; run: "


@pytest.fixture
def ann(home: Path, monkeypatch: pytest.MonkeyPatch) -> Elsewhere:
    return Elsewhere(home, monkeypatch)


@pytest.mark.parametrize("command", ACTS)
def test_what_acts_is_refused(ann: Elsewhere, command: str) -> None:
    told = ann.runs(*command.split(), code=1)
    line = f"XDG_STATE_HOME={ann.hooks.parent} lockgate {command}"
    assert told == f"Error: the hooks of claude-code {ann.says}{line}\n"
    assert not ann.here.exists()


@pytest.mark.parametrize("command", READS)
def test_what_reads_says_so(ann: Elsewhere, command: str) -> None:
    told = CliRunner().invoke(cli, command.split()).output
    assert told.startswith(f"Note: the hooks of claude-code {ann.says}")
    assert not ann.here.exists()


def test_the_line_that_is_given_works(ann: Elsewhere, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "lockgate").write_text(f'#!/bin/sh\nexec {sys.executable} -m lockgate "$@"\n')
    (tmp_path / "bin" / "lockgate").chmod(0o755)
    line = ann.runs("audit", "verify").splitlines()[0].partition("run: ")[2]
    done = subprocess.run(
        ["/bin/sh", "-c", f"PATH={tmp_path}/bin; {line}"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, ""), done
    assert "nothing recorded" not in done.stdout


@pytest.mark.parametrize("client", ["codex", "opencode", "cursor"])
def test_any_client(home: Path, monkeypatch: pytest.MonkeyPatch, client: str) -> None:
    ann = Elsewhere(home, monkeypatch, client)
    assert f"the hooks of {client} {ann.says}" in ann.runs("pause", code=1)


def test_the_plugin(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ann = Elsewhere(home, monkeypatch)
    ann.runs("pause", code=1)
    (home / ".claude" / "settings.json").write_text(json.dumps({"enabledPlugins": {"lockgate@lockgate": True}}))
    assert "the hooks of" not in ann.runs("status")
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "srv"))
    CliRunner().invoke(cli, ["install", "claude-code", "--plugin"])
    monkeypatch.delenv("XDG_STATE_HOME")
    assert ann.says in ann.runs("pause", code=1)
    shutil.rmtree(ann.hooks)
    assert ann.runs("pause", code=1).endswith("; run: lockgate install claude-code --plugin\n")


def test_hooks_of_every_user(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have the folder below the home that the user database names, whatever a variable says."""
    managed = home / "managed.json"
    monkeypatch.setattr(claude_settings_view, "find_managed_files", lambda: [str(managed)])
    command = "'/x/lockgate/hook.py' claude-code"
    managed.write_text(json.dumps({"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}}))
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "srv"))
    done = CliRunner().invoke(cli, ["pause"])
    assert (done.exit_code, f"{folders({}).state}, and this terminal names " in done.output) == (1, True)


def test_hooks_whose_state_is_gone(ann: Elsewhere) -> None:
    """As after a move: hooks are to be told, not the terminal."""
    ann.here.parent.mkdir(parents=True)
    ann.hooks.rename(ann.here)
    told = ann.runs("pause", code=1)
    assert told.endswith(f"name {ann.hooks}, and this terminal names {ann.here}; run: lockgate install claude-code\n")


def test_a_state_that_something_else_uses(ann: Elsewhere) -> None:
    """What serves containers has a state that no client was installed with: its questions can be answered."""
    open_store(str(ann.here)).close()
    told = ann.runs("deny", "abc", code=1)
    assert told.startswith("Note: ")
    assert told.endswith(AS_EVER)


def test_a_client_that_uses_the_terminals_state(ann: Elsewhere) -> None:
    ann.here.mkdir(parents=True, mode=0o700)
    ann.runs("install", "codex")
    assert ann.runs("deny", "abc", code=1).endswith(AS_EVER)


def test_a_project_cannot_say_it(home: Path, ann: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its settings are anybody's text: they keep nobody from acting."""
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "srv"))
    project = home / "project"
    for file in (".claude/settings.json", ".codex/hooks.json"):
        (project / file).parent.mkdir(parents=True)
        text = (home / ".claude" / "settings.json").read_text().replace(str(ann.hooks), str(home / "evil"))
        (project / file).write_text(text)
    monkeypatch.chdir(project)
    assert "Note" not in ann.runs("status")


def test_nothing_is_said_where_nothing_is_to_say(home: Path, ann: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (["pause", "--help"], ["completion", "bash"], ["config", "path"]):
        assert "have their labels in" not in ann.runs(*words)
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "srv"))
    assert "have their labels in" not in ann.runs("status")


def test_every_name_is_a_command() -> None:
    context = click.Context(cli)
    for name in hooks_state._USES:
        found: click.Command | None = cli
        for word in name.split():
            assert isinstance(found, click.Group)
            found = found.get_command(context, word)
        assert found is not None, name


def test_uninstalling_from_another_terminal(home: Path, ann: Elsewhere, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the settings were before is known in the hooks' state: they could not be given back byte for byte."""
    told = ann.runs("uninstall", "claude-code", code=1)
    assert f"XDG_STATE_HOME={ann.hooks.parent} lockgate uninstall claude-code" in told
    monkeypatch.setenv("XDG_STATE_HOME", str(ann.hooks.parent))
    ann.runs("uninstall", "claude-code")
    assert not (home / ".claude" / "settings.json").exists()
