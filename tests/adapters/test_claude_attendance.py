"""Whether the person before Claude Code is the only one who can answer a question: every foreign hook ends that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lockgate.clients.claude.attendance import client_version, shows_reason, why_unattended
from lockgate.clients.common import hook_command as claude_command
from lockgate.clients.install import claude as claude_install
from lockgate.core.events import Context
from lockgate.core.model import Subject
from lockgate.system.folders import Folders

ANSWERS = {"PermissionRequest": [{"hooks": [{"type": "command", "command": "/bin/true"}]}]}
CHANGES = {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "/bin/true"}]}]}
LOOKS_OWN = {"PreToolUse": [{"hooks": [{"type": "command", "command": "/tmp/lockgate/hook.py' PreToolUse"}]}]}
WATCHES = {"PreToolUse": [{"hooks": [{"type": "command", "command": "/bin/true", "async": True}]}]}
HARMLESS = {"PostToolUse": CHANGES["PreToolUse"], "Stop": CHANGES["PreToolUse"]}


class Machine:
    """A home, a project and a client that runs."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "project"
        self.claude = self.home / ".claude"
        for folder in (self.claude, self.project / ".claude"):
            folder.mkdir(parents=True)
        self.folders = Folders(str(self.home), str(root / "state"), str(root / "config"))
        self.transcript = root / "s1.jsonl"
        self.version = "2.1.329"
        self.environ = {"CLAUDE_CODE_ENTRYPOINT": "cli"}
        self.mode = "default"
        self.clients: list[subprocess.Popen[bytes]] = []

    def why(self, *options: str) -> str:
        self.transcript.write_text(json.dumps({"type": "user", "version": self.version}) + "\n")
        program = [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()", *options]
        client = subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert client.stdout is not None
        client.stdout.readline()  # before that, its words are not told yet
        self.clients.append(client)
        process, project = f"{client.pid}:", str(self.project)
        subject = Subject("s1")
        context = Context(
            "claude-code", subject, project, project, process=process, transcript=str(self.transcript), mode=self.mode
        )
        return why_unattended(context, self.folders, self.environ)

    def settings(self, value: Any, place: str = "project/.claude/settings.local.json") -> None:
        file = self.home.parent / place
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(value if isinstance(value, str) else json.dumps(value))

    def plugin(self, name: str, hooks: Any, about: Any = None) -> Path:
        folder = self.claude / "plugins" / "cache" / "market" / name / "1"
        (folder / "hooks").mkdir(parents=True)
        (folder / ".claude-plugin").mkdir()
        (folder / "hooks" / "hooks.json").write_text(json.dumps(hooks))
        (folder / ".claude-plugin" / "plugin.json").write_text(json.dumps(about or {"name": name}))
        installed = {"version": 2, "plugins": {f"{name}@market": [{"installPath": str(folder)}]}}
        (self.claude / "plugins" / "installed_plugins.json").write_text(json.dumps(installed))
        self.settings({"enabledPlugins": {f"{name}@market": True}}, "home/.claude/settings.json")
        return folder


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    made = Machine(tmp_path)
    yield made
    for client in made.clients:
        client.kill()
        client.communicate()


def test_a_person_in_a_terminal_is_attended(machine: Machine) -> None:
    assert machine.why() == ""
    launch = claude_install.this_launch(machine.folders, str(machine.claude / "settings.json"))
    own = {"PreToolUse": [{"hooks": [claude_command.hook_entry(launch, "PreToolUse")]}]}
    machine.settings({"hooks": own}, "home/.claude/settings.json")
    machine.settings({"hooks": {**WATCHES, **HARMLESS, "PreToolUse": WATCHES["PreToolUse"]}})
    assert machine.why("--model", "x") == ""


@pytest.mark.parametrize(
    "place",
    [
        "home/.claude/settings.json",
        "project/.claude/settings.json",
        "project/.claude/settings.local.json",
        "home/.claude/remote-settings.json",
    ],
)
@pytest.mark.parametrize(
    ("hooks", "told"),
    [
        (ANSWERS, "PermissionRequest"),
        (CHANGES, "PreToolUse"),
        (LOOKS_OWN, "PreToolUse"),
        ({"PreToolUse": "x"}, "PreToolUse"),
        ([], "not understood"),
    ],
)
def test_a_foreign_hook_in_any_layer(machine: Machine, place: str, hooks: Any, told: str) -> None:
    machine.settings({"hooks": hooks}, place)
    why = machine.why()
    assert told in why
    assert Path(place).name in why


@pytest.mark.parametrize(
    "options",
    [
        ["--permission-prompt-tool", "mcp__x__y"],
        ["--permission-prompt-tool=stdio"],
        ["-p", "go"],
        ["--settings", json.dumps({"hooks": ANSWERS})],
        [f"--settings={json.dumps({'hooks': CHANGES})}"],
        ["--settings", "/no/such/file"],
        ["--plugin-dir", "/no/such/folder"],
        ["--agents", "{}"],
    ],
)
def test_options_by_which_somebody_else_answers(machine: Machine, options: list[str]) -> None:
    assert machine.why(*options) != ""


def test_settings_on_the_command_line_are_read(machine: Machine) -> None:
    assert machine.why("--settings", json.dumps({"permissions": {"allow": []}})) == ""


def test_a_variable_hides_no_settings(machine: Machine) -> None:
    """A project can set variables for hooks: the usual folder is looked at all the same."""
    machine.settings({"hooks": ANSWERS}, "home/.claude/settings.json")
    machine.environ["CLAUDE_CONFIG_DIR"] = str(machine.project)
    assert "PermissionRequest" in machine.why()


@pytest.mark.parametrize("hooks", [{"hooks": ANSWERS}, {"hooks": CHANGES}, {"modules": ["./x.ts"], "hooks": {}}, "x"])
def test_a_plugin_with_hooks(machine: Machine, hooks: Any) -> None:
    machine.plugin("other", hooks)
    assert "other@market" in machine.why()


def test_plugins_that_are_in_no_way(machine: Machine) -> None:
    machine.plugin("other", {"hooks": HARMLESS})
    assert machine.why() == ""


def test_a_plugin_that_cannot_be_found(machine: Machine) -> None:
    machine.settings({"enabledPlugins": {"gone@market": True}})
    assert "gone@market" in machine.why()


@pytest.mark.parametrize("declared", [{"hooks": ANSWERS}, "./more.json", ["./more.json"]])
def test_a_plugin_that_declares_its_hooks_elsewhere(machine: Machine, declared: Any) -> None:
    folder = machine.plugin("other", {"hooks": {}}, {"name": "other", "hooks": declared})
    (folder / "more.json").write_text(json.dumps({"hooks": CHANGES}))
    assert "other@market" in machine.why()


def test_another_plugin_is_not_ours_by_its_name(machine: Machine) -> None:
    machine.plugin("lockgate", {"hooks": CHANGES})
    assert "PreToolUse" in machine.why()


@pytest.mark.parametrize("file", ["agents/x.md", "skills/x/SKILL.md", "commands/x.md"])
@pytest.mark.parametrize("base", ["home/.claude", "project/.claude"])
def test_hooks_in_the_front_matter_of_a_file(machine: Machine, base: str, file: str) -> None:
    machine.settings("---\nname: x\ndescription: about hooks and plugins\n---\nhooks: none\n", f"{base}/{file}")
    assert machine.why() == ""
    for spelt in ("hooks:\n  PreToolUse: []", '"hooks": {}', "{hooks: {}}", '"h\\x6foks": {}', "? hooks\n: {}"):
        machine.settings(f"---\nname: x\n{spelt}\n---\n", f"{base}/{file}")
        assert Path(file).name in machine.why()


def test_what_cannot_be_read_counts(machine: Machine) -> None:
    machine.settings("{", "project/.claude/settings.json")
    assert "cannot be read" in machine.why()


@pytest.mark.parametrize("entrypoint", ["", "sdk-cli", "sdk-py", "claude-vscode"])
def test_who_is_not_in_a_terminal(machine: Machine, entrypoint: str) -> None:
    machine.environ = {"CLAUDE_CODE_ENTRYPOINT": entrypoint}
    assert "nobody" in machine.why()


@pytest.mark.parametrize("mode", ["", "plan", "new"])
def test_modes_of_which_nothing_was_seen(machine: Machine, mode: str) -> None:
    machine.mode = mode
    assert "permission mode" in machine.why()


@pytest.mark.parametrize(
    "version", ["", "2.1.196", "1.0.0", "3.0.0", "2.1.x", "2", "2.1." + "3" * 5000], ids=lambda version: version[:8]
)
def test_versions_of_which_nothing_was_seen(machine: Machine, version: str) -> None:
    machine.version = version
    assert "version" in machine.why()


def test_a_version_is_the_last_that_wrote(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_text('{"version": "1.0.0"}\n{"version": "2.1.329"}\n{"message": "\\"version\\": \\"9.0.0\\""}\n')
    assert client_version(str(file)) == (2, 1, 329)
    assert client_version(str(tmp_path / "none")) == ()


@pytest.mark.parametrize(
    "tool", ["Bash", "WebFetch", "WebSearch", "Agent", "ScheduleWakeup", "mcp__tracker__send_mail"]
)
def test_a_dialog_that_shows_why_it_is_asked(tool: str) -> None:
    assert shows_reason(tool)


@pytest.mark.parametrize("tool", ["Write", "Edit", "NotebookEdit", "Read", "Glob", "bash", "Bash2", "", "mcp_x"])
def test_a_dialog_about_a_file_shows_no_reason(tool: str) -> None:
    assert not shows_reason(tool)
