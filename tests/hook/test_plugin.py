"""The plugin's hooks run the installed program, and block where it is missing."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import WHOLE, tool
from hook.process import HOOK, Told, run
from lockgate.clients.claude.events import EVENTS
from lockgate.clients.common.hook_command import REPORTS, HookLaunch
from lockgate.clients.install.claude import write_launch_record
from lockgate.core.version import RELEASE
from lockgate.system.folders import Folders

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "plugin"
HOOKS: dict[str, Any] = json.loads((PLUGIN / "hooks" / "hooks.json").read_text())["hooks"]


class Machine:
    """A home folder in which the client has installed the plugin."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.root = home / ".claude/plugins/cache/market/lockgate/0.1.0"
        self.data = home / ".claude/plugins/data/lockgate-market"
        self.environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "CLAUDE_PROJECT_DIR": str(home / "project")}
        self.folders = Folders(str(home), str(home / "state"), str(home / "own config"))
        (home / "project").mkdir()
        shutil.copytree(PLUGIN, self.root)

    def record(self, python: str = sys.executable, hook: str = HOOK, native: str = "") -> None:
        """What ``lockgate install claude-code --plugin`` writes."""
        write_launch_record(HookLaunch(python, hook, self.folders, native=native))

    def program(self, place: str) -> None:
        """A lockgate command that says how it was called."""
        file = self.home / place / "lockgate"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('#!/bin/sh\ncat >/dev/null\necho "called: $*"\n')
        file.chmod(0o755)

    def hook(self, event: str = "PreToolUse", data: Any = None, **environ: str) -> Told:
        """Run the event's hook as the client does: names put in, in a shell."""
        command = HOOKS[event][0]["hooks"][0]["command"]
        command = command.replace("${CLAUDE_PLUGIN_ROOT}", str(self.root)).replace(
            "${CLAUDE_PLUGIN_DATA}", str(self.data)
        )
        given = WHOLE[event] if data is None else data
        return run(["/bin/sh", "-c", command], given, env={**self.environ, **environ}, cwd=self.home / "project")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path / "h o'me" if (tmp_path / "h o'me").mkdir() is None else tmp_path)


def test_every_event_is_hooked_and_none_that_decides_fails_open() -> None:
    assert tuple(HOOKS) == EVENTS
    for event, groups in HOOKS.items():
        ((group,), (entry,)) = groups, groups[0]["hooks"]
        assert set(group) == {"hooks"}
        assert f'run.sh" {event} ' in entry["command"]
        assert entry["command"].endswith("|| exit 1" if event in REPORTS else "|| exit 2")
        assert entry.get("onFailure") == (None if event in REPORTS else "block")


def test_it_runs_the_program_that_was_recorded(machine: Machine) -> None:
    machine.record()
    assert machine.hook() == (0, "", "")
    told = machine.hook(data=tool("PreToolUse", "Write", {"file_path": f"{machine.home}/state/key", "content": ""}))
    assert told.refuses
    assert told.code == 0
    assert (machine.home / "state" / "lockgate.db").is_file()


def test_it_runs_the_native_client_where_there_is_one(machine: Machine) -> None:
    native = machine.home / "lockgate-hook"
    native.write_text('#!/bin/sh\ncat >/dev/null\necho "native: $*"\n')
    native.chmod(0o755)
    machine.record(native=str(native))
    state, config = machine.home / "state", machine.home / "own config"
    given = f"--home {machine.home} --state {state} --config {config} --event PreToolUse --plugin={machine.data}"
    assert machine.hook().stdout == f"native: --python {sys.executable} --script {HOOK} claude-code {given}\n"


@pytest.mark.parametrize("code", [1, 2, 126, 127])
def test_a_native_client_that_fails_blocks(machine: Machine, code: int) -> None:
    native = machine.home / "lockgate-hook"
    native.write_text(f"#!/bin/sh\nexit {code}\n")
    native.chmod(0o755)
    machine.record(native=str(native))
    assert machine.hook().code == 2


def test_a_native_client_that_is_gone_is_done_without(machine: Machine) -> None:
    machine.record(native=str(machine.home / "gone"))
    assert machine.hook(data=tool("PreToolUse", "Write", {"file_path": f"{machine.home}/state/key"})).refuses


def test_bad_input_blocks_with_the_gate_s_own_words(machine: Machine) -> None:
    machine.record()
    told = machine.hook(data=b"")
    assert told.code == 2
    assert told.stderr.count("stdin was empty") == 1
    assert "could not run" not in told.stderr


@pytest.mark.parametrize(("enabled", "refused"), [({"lockgate@market": True}, False), ({}, True)])
def test_switching_itself_off_is_refused(machine: Machine, enabled: dict[str, bool], refused: bool) -> None:
    machine.record()
    settings = machine.home / ".claude" / "settings.json"
    settings.write_text(json.dumps({"enabledPlugins": enabled}))
    told = machine.hook("ConfigChange", {**WHOLE["ConfigChange"], "file_path": str(settings)})
    assert told.code == 0
    assert told.refuses is refused


@pytest.mark.parametrize("event", EVENTS)
def test_without_the_program_everything_blocks(machine: Machine, event: str) -> None:
    told = machine.hook(event)
    assert told.code == (1 if event in REPORTS else 2)
    assert "lockgate is not installed. A person can install it" in told.stderr


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"python": "/nowhere/python"}, "the program recorded in"),
        ({"hook": "/nowhere/hook.py"}, "If it was uninstalled, run: claude plugin uninstall lockgate@lockgate"),
        ({"python": "/bin/false"}, "the hook could not run (exit code 1)"),
    ],
)
def test_a_record_that_leads_nowhere_blocks(machine: Machine, changes: dict[str, str], message: str) -> None:
    machine.program(".local/bin")
    machine.record(**changes)
    told = machine.hook()
    assert told.code == 2
    assert message in told.stderr


def test_a_damaged_record_blocks(machine: Machine) -> None:
    machine.record()
    (machine.home / ".config/lockgate/claude-code.launch").write_text("/bin/true\n")
    told = machine.hook()
    assert told.code == 2
    assert "is damaged" in told.stderr


def test_the_scripts_beside_it_block_when_gone(machine: Machine) -> None:
    (machine.root / "hooks" / "run.sh").unlink()
    assert machine.hook().code == 2


def test_the_usual_place_comes_next(machine: Machine) -> None:
    machine.program(".local/bin")
    assert machine.hook().stdout == f"called: hook claude-code --event PreToolUse --plugin={machine.data}\n"


@pytest.mark.parametrize(
    "name", ["project", "project/bin", "./project/bin", "/project/bin", "x/../project/bin", "kept"]
)
def test_a_project_cannot_bring_its_own(machine: Machine, name: str) -> None:
    (machine.home / "x").mkdir()
    machine.program(name.removeprefix("/"))
    told = machine.hook(PATH=f"{machine.home}/{name}:/proc/self/cwd:/proc/self/cwd/bin:/usr/bin:/bin")
    assert told.code == 2
    assert "is not installed" in told.stderr


def test_a_project_cannot_say_what_the_usual_place_loads(machine: Machine) -> None:
    machine.program(".local/bin")
    program = machine.home / ".local/bin/lockgate"
    program.write_text("#!/bin/sh\ncat >/dev/null\nenv\n")
    evil = str(machine.home / "project")
    told = machine.hook(HOME=evil, PYTHONPATH=evil, PYTHONHOME=evil, PYTHONUSERBASE=evil, PYTHONPYCACHEPREFIX=evil)
    assert f"HOME={machine.home}" in told.stdout.splitlines()
    assert "PYTHON" not in told.stdout


@pytest.mark.parametrize(("name", "usual"), [("XDG_STATE_HOME", ".local/state"), ("XDG_CONFIG_HOME", ".config")])
def test_a_project_cannot_say_where_the_usual_place_looks(machine: Machine, name: str, usual: str) -> None:
    machine.program(".local/bin")
    told = machine.hook(**{name: str(machine.home / "project")})
    assert told.code == 2
    assert "lockgate install claude-code --plugin" in told.stderr
    assert machine.hook(**{name: str(machine.home / usual)}).stdout.startswith("called: ")


def test_a_project_cannot_lead_it_to_another_home(machine: Machine) -> None:
    machine.record()
    evil = machine.home / "project" / "evil"
    (evil / ".config/lockgate").mkdir(parents=True)
    (evil / ".config/lockgate/claude-code.launch").write_text("/bin/true\n/bin/true\n/h\n/s\n/c\n")
    given = tool("PreToolUse", "Write", {"file_path": f"{machine.home}/state/key", "content": ""})
    told = machine.hook(data=given, HOME=str(evil), XDG_CONFIG_HOME=str(evil / ".config"))
    assert told.refuses


def test_the_event_s_name_is_no_command(machine: Machine) -> None:
    script = str(machine.root / "hooks" / "run.sh")
    told = run(["/bin/sh", script, "Pre; touch made"], WHOLE["PreToolUse"], env=machine.environ, cwd=machine.home)
    assert told.code == 2
    assert not (machine.home / "made").exists()


def test_the_manifests_agree() -> None:
    plugin = json.loads((PLUGIN / ".claude-plugin" / "plugin.json").read_text())
    market = json.loads((ROOT / ".claude-plugin" / "marketplace.json").read_text())
    assert plugin["version"] == RELEASE
    assert market["plugins"][0]["name"] == plugin["name"]
    assert (ROOT / market["plugins"][0]["source"]).resolve() == PLUGIN.resolve()
    assert os.access(PLUGIN / "hooks" / "run.sh", os.X_OK)
    assert (PLUGIN / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.mark.parametrize(
    "page", ["README.md", "agents/delegate.md", "skills/escape/SKILL.md", "skills/classify/SKILL.md"]
)
def test_pages_name_only_commands_that_exist(page: str) -> None:
    import re

    from lockgate.cli.main import cli

    named = set(re.findall(r"lockgate ([a-z]+)", (PLUGIN / page).read_text()))
    known = set(cli.list_commands(None))  # type: ignore[arg-type]
    prose = {"commands", "program", "is", "has", "hooks", "install"}
    assert named - known - prose == set()


def test_the_configuration_that_a_skill_proposes_is_valid(tmp_path: Path) -> None:
    page = (PLUGIN / "skills/classify/SKILL.md").read_text()
    example = page.partition("```yaml\n")[2].partition("```")[0]
    file = tmp_path / ".config" / "lockgate" / "lockgate.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(example)
    environ = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    told = run([sys.executable, "-m", "lockgate", "config", "check"], b"", env=environ, cwd=tmp_path)
    assert (told.code, told.stderr) == (0, "")
    explained = run([sys.executable, "-m", "lockgate", "explain", "make lint"], b"", env=environ, cwd=tmp_path)
    assert "category safe" in explained.stdout
