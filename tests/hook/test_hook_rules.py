"""Plugins and the rules about git in the real process: what they say is answered, and what fails denies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import shell_result, tool
from hook.process import HOOK, Told, folders, hook, run

pytestmark = pytest.mark.sampled

DENIES = "def before_tool_use(tool_name, tool_input):\n    return {'decision': 'deny', 'reason': 'not today'}\n"


class Machine:
    """A home folder with a configuration and plugins."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.config = home / "config"
        self.config.mkdir(mode=0o700)

    def plugin(self, code: str, name: str = "policy", mode: int = 0o600) -> None:
        path = self.config / f"{name}.py"
        path.write_text(code)
        path.chmod(mode)

    def says(self, text: str) -> None:
        (self.config / "lockgate.yaml").write_text(text)

    def bash(self, command: str, **more: Any) -> Told:
        return hook(self.home, tool("PreToolUse", tool_input={"command": command}, **more))

    def result(self, text: str) -> Told:
        return hook(self.home, tool("PostToolUse", tool_response=shell_result(text)))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    made = Machine(tmp_path)
    made.says("plugins: [./policy.py]\n")
    return made


def reason(told: Told) -> str:
    assert told.code == 0
    return str(told.answer["hookSpecificOutput"]["permissionDecisionReason"])


def test_a_plugin_denies_a_call_of_any_tool(machine: Machine) -> None:
    machine.plugin(DENIES)
    assert "not today [plugin:policy@" in reason(machine.bash("ls"))
    told = hook(machine.home, tool("PreToolUse", "Read", {"file_path": "/home/u/a"}))
    assert "not today" in reason(told)


def test_a_plugin_that_has_nothing_to_say_is_silent(machine: Machine) -> None:
    machine.plugin("async def before_tool_use(tool_name, tool_input):\n    return {}\n")
    assert machine.bash("ls") == (0, "", "")


def test_a_plugin_asks(machine: Machine) -> None:
    machine.plugin("def before_tool_use():\n    return {'decision': 'ask', 'reason': 'is it Friday?'}\n")
    specific = machine.bash("ls", permission_mode="default").answer["hookSpecificOutput"]
    assert specific["permissionDecision"] == "ask"
    assert "is it Friday?" in specific["permissionDecisionReason"]


def test_a_plugin_cannot_loosen(machine: Machine) -> None:
    machine.plugin("def before_tool_use():\n    return {'decision': 'allow', 'allowed': True}\n")
    state = str(machine.home / "state" / "lockgate.db")
    assert hook(machine.home, tool("PreToolUse", "Write", {"file_path": state, "content": ""})).refuses


FAILING = {
    "raises": ("def before_tool_use():\n    raise ValueError('x')\n", "failed: ValueError"),
    "returns junk": ("def before_tool_use():\n    return 'deny'\n", "it returned a str"),
    "hangs": ("import time\ndef before_tool_use():\n    time.sleep(60)\n", "it took longer than 1 s"),
    "never ends": (
        "import asyncio\nasync def before_tool_use():\n    await asyncio.sleep(60)\n",
        "it took longer than 1 s",
    ),
    "exits": ("import sys\ndef before_tool_use():\n    sys.exit()\n", "failed: SystemExit"),
    "is not Python": ("def\n", "cannot be loaded: SyntaxError"),
    "has no hook": ("x = 1\n", "has none of the functions"),
}


@pytest.mark.parametrize(("code", "says"), FAILING.values(), ids=FAILING)
def test_a_plugin_that_fails_denies_and_is_named_without_a_traceback(machine: Machine, code: str, says: str) -> None:
    machine.plugin(code)
    told = machine.bash("ls")
    assert "the plugin `policy`" in reason(told)
    assert says in reason(told)
    assert "Traceback" not in told.stdout + told.stderr
    log = (machine.home / "state" / "hook.log").read_text()
    assert " plugin policy " in log


def test_a_plugin_that_others_can_write_or_that_is_gone_denies(machine: Machine) -> None:
    assert "there is no such file" in reason(machine.bash("ls"))
    machine.plugin("def before_tool_use(): pass\n", mode=0o666)
    assert "others can write to the file" in reason(machine.bash("ls"))
    machine.plugin("def before_tool_use(): pass\n")
    assert machine.bash("ls") == (0, "", "")


LOUD = """
import os, subprocess, sys
print('{"hookSpecificOutput": {}}', flush=True)
def before_tool_use(tool_input):
    print("junk " * 5000, flush=True)
    subprocess.run(["echo", "more junk"])
    os.write(1, b"and more")
    return {"decision": "deny", "reason": "x"} if "rm" in tool_input["command"] else None
"""


def test_what_a_plugin_prints_does_not_reach_the_client(machine: Machine) -> None:
    machine.plugin(LOUD)
    assert machine.bash("ls").stdout == ""
    assert machine.bash("rm -r x").refuses


def test_a_plugin_withholds_a_result(machine: Machine) -> None:
    machine.plugin(
        "def after_tool_use(tool_output):\n    return {'allowed': 'unfit' not in tool_output, 'reason': 'no'}\n",
    )
    assert machine.result("fine") == (0, "", "")
    told = machine.result("this is unfit")
    assert "unfit" not in told.stdout
    assert "Lockgate withheld this output: no [plugin:policy@" in told.stdout


def test_a_project_cannot_name_a_plugin(machine: Machine, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "evil.py").write_text(DENIES)
    (project / "lockgate.yaml").write_text("plugins: [./evil.py]\n")
    machine.says("{}\n")
    assert hook(machine.home, tool("PreToolUse", cwd=str(project), tool_input={"command": "ls"})) == (0, "", "")


def test_an_agent_cannot_write_a_plugin(machine: Machine) -> None:
    machine.plugin("def before_tool_use(): pass\n")
    told = hook(
        machine.home, tool("PreToolUse", "Write", {"file_path": str(machine.config / "policy.py"), "content": ""})
    )
    assert told.refuses


def test_without_plugins_and_rules_nothing_of_them_is_imported(machine: Machine) -> None:
    machine.says("profile: quarantine\n")
    data = json.dumps(tool("PreToolUse", tool_input={"command": "git push"}))
    argv = [sys.executable, "-X", "importtime", "-I", "-S", HOOK, "claude-code", *folders(machine.home)]
    for _ in range(2):
        done = subprocess.run(argv, input=data, capture_output=True, text=True, check=False)
    names = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "lockgate.gate.host.assembly" in names
    assert not {
        name for name in names if name.startswith(("lockgate.configuration.plugins", "lockgate.policy.git", "pluggy"))
    }


# ---------------------------------------------------------------- an entry point
def _installed(site: Path) -> None:
    """A package with an entry point, as an installer leaves it."""
    site.mkdir()
    (site / "acme_policy.py").write_text(DENIES)
    info = site / "acme_policy-1.2.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-policy\nVersion: 1.2\n")
    (info / "entry_points.txt").write_text("[lockgate]\nacme = acme_policy\n")


def test_an_entry_point_is_found_where_lockgate_itself_is_installed(machine: Machine, tmp_path: Path) -> None:
    """As in an installed environment, whose packages lie beside Lockgate's."""
    site = tmp_path / "site"
    _installed(site)
    source = Path(HOOK).parent
    (site / "lockgate").symlink_to(source)
    machine.says("plugins: [acme]\n")
    data = tool("PreToolUse", tool_input={"command": "ls"})
    beside = [sys.executable, "-I", "-S", str(site / "lockgate" / "hook.py"), "claude-code", *folders(machine.home)]
    assert "not today [plugin:acme@1.2]" in reason(run(beside, data))
    assert "no package in Lockgate's own environment has an entry point `acme`" in reason(machine.bash("ls"))


def test_the_environment_of_the_client_names_no_plugin(machine: Machine, tmp_path: Path) -> None:
    site = tmp_path / "site"
    _installed(site)
    machine.says("plugins: [acme]\n")
    argv = [sys.executable, "-I", "-S", HOOK, "claude-code", *folders(machine.home)]
    environment = {**os.environ, "PYTHONPATH": str(site)}
    told = run(argv, tool("PreToolUse", tool_input={"command": "ls"}), env=environment, cwd=str(site))
    assert "no package" in reason(told)


# ---------------------------------------------------------------- git
def test_git_is_guarded_whatever_the_session_has_read(machine: Machine, tmp_path: Path) -> None:
    machine.says("git: {force_push: deny, push: ask, protected_branches: [main]}\n")
    project = tmp_path / "project"
    subprocess.run(["git", "init", "-q", "-b", "main", str(project)], check=True)

    def push(command: str) -> dict[str, Any]:
        told = machine.bash(command, cwd=str(project), permission_mode="default")
        specific: dict[str, Any] = told.answer.get("hookSpecificOutput", {})
        return specific

    assert "rules:git/force-push" in push("git push -f origin topic")["permissionDecisionReason"]
    assert push("git push origin topic")["permissionDecision"] == "ask"
    assert "rules:git/protected" in push("git push")["permissionDecisionReason"]  # it is on main
    assert push("git checkout -b topic && git push")["permissionDecision"] == "ask"
    assert push("git status") == {}


def test_a_project_that_nobody_trusts_tightens_git_and_does_not_loosen_it(machine: Machine, tmp_path: Path) -> None:
    machine.says("git: {force_push: deny}\n")
    project = tmp_path / "project"
    project.mkdir()
    (project / "lockgate.yaml").write_text("git: {pull: deny, force_push: allow}\n")
    assert "rules:git/pull" in reason(machine.bash("git pull", cwd=str(project)))
    assert "rules:git/force-push" in reason(machine.bash("git push -f", cwd=str(project)))
