"""Installing in the clients beside Claude Code: there and back, and what the doctor says."""

from __future__ import annotations

import json
import stat
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from lockgate.cli.main import cli
from lockgate.clients.adapter import CLIENTS, adapter

pytestmark = pytest.mark.sampled

OTHERS = [client for client in CLIENTS if client != "claude-code"]
FILES = {
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
    "copilot-cli": ".copilot/hooks/lockgate.json",
    "opencode": ".config/opencode/plugins/lockgate.js",
    "cursor": ".cursor/hooks.json",
    "qwen-code": ".qwen/settings.json",
    "pi": ".pi/agent/extensions/lockgate.js",
    "kimi-code": ".kimi-code/config.toml",
    "kilo": ".config/kilo/plugins/lockgate.js",
    "cline": ".cline/plugins/lockgate.js",
}
MERGED = {
    "codex": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}}\n',
    "gemini-cli": '{\n  "model": {"name": "flash"},\n  "hooks": {}\n}\n',
    "qwen-code": '{"security": {"auth": {}}}',
    "kimi-code": 'model = "m"\n# mine\n[[hooks]]\nevent = "Stop"\ncommand = "say done"\n\n[models.m]\nprovider = "p"',
    "cursor": '{"version": 1, "hooks": {"preToolUse": [{"command": "say hi"}]}}',
}
READERS: dict[str, Callable[[str], Any]] = {".json": json.loads, ".toml": tomllib.loads}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    for name in ("CLAUDECODE", "CODEX_HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def _commands(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [
            text for key, item in value.items() for text in ([item] if key in ("command", "bash") else _commands(item))
        ]
    return [text for item in value for text in _commands(item)] if isinstance(value, list) else []


@pytest.mark.parametrize("client", OTHERS)
def test_there_and_back_where_nothing_was(home: Path, client: str) -> None:
    file = home / FILES[client]
    assert run("install", client).exit_code == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    if file.suffix in READERS:
        commands = _commands(READERS[file.suffix](file.read_text()))
        assert len(commands) == len(adapter(client).EVENTS)
        for event, command in zip(adapter(client).EVENTS, commands, strict=True):
            assert f"/lockgate/hook.py' {client} " in command
            assert f"--event {event}" in command.replace("'", "")
            assert command.endswith("exit 2; }"), "a program that is missing blocks too"
    again = run("install", client)
    assert "nothing to do" in again.output
    assert run("uninstall", client).exit_code == 0
    assert not file.exists()
    assert not file.parent.exists()


@pytest.mark.parametrize("client", sorted(MERGED))
def test_what_a_person_has_written_stays(home: Path, client: str) -> None:
    file = home / FILES[client]
    file.parent.mkdir(parents=True)
    file.write_text(MERGED[client])
    assert run("install", client).exit_code == 0
    installed = READERS[file.suffix](file.read_text())
    assert sum("lockgate" in command for command in _commands(installed)) == len(adapter(client).EVENTS)
    assert run("uninstall", client).exit_code == 0
    assert file.read_text() == MERGED[client]


def test_a_project_of_its_own(home: Path) -> None:
    (home / "shop").mkdir()
    assert run("install", "codex", "--scope", "project", "--project", str(home / "shop")).exit_code == 0
    assert (home / "shop" / ".codex" / "hooks.json").exists()
    assert run("install", "codex", "--scope", "local").exit_code == 1


@pytest.mark.parametrize(
    "arguments",
    [("install", "codex", "--plugin"), ("install", "codex", "--statusline"), ("install", "cursor", "--trust")],
)
def test_what_only_one_client_has(home: Path, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


@pytest.mark.parametrize("client", OTHERS)
def test_the_doctor_sees_the_client_and_tries_its_hook(home: Path, client: str) -> None:
    assert run("install", client).exit_code == 0
    found = {check["name"]: check for check in json.loads(run("doctor", "--json").output)["checks"]}
    assert found[client]["state"] == "ok"
    assert "hooks" not in found, "Claude Code is not here"
    if client != "opencode":
        assert found[f"self-test ({client})"]["state"] == "ok", found[f"self-test ({client})"]
    file = home / FILES[client]
    file.write_text(file.read_text().replace("--home", "--hom", 1))
    changed = {check["name"]: check for check in json.loads(run("doctor", "--json").output)["checks"]}
    assert changed[client]["state"] == "warn"


def test_the_doctor_says_that_codex_does_not_trust_a_hook(home: Path) -> None:
    """A stand-in for ``codex app-server``, which says of every hook that it is not trusted."""
    assert run("install", "codex").exit_code == 0
    hooks = json.loads((home / FILES["codex"]).read_text())["hooks"]
    listed = [
        {"key": f"{home}/.codex/hooks.json:{event}:0:0", "currentHash": "sha256:00", "trustStatus": "untrusted",
         "command": groups[0]["hooks"][0]["command"]}
        for event, groups in hooks.items()
    ]  # fmt: skip
    answers = [{"id": 1, "result": {}}, {"id": 2, "result": {"data": [{"hooks": listed}]}}]
    (home / "answers").write_text("".join(f"{json.dumps(answer)}\n" for answer in answers))
    programs = home / "bin"
    programs.mkdir()
    codex = programs / "codex"
    codex.write_text(f"#!/bin/sh\npwd > {home}/where\ncat {home}/answers\nexec sleep 20\n")
    codex.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{programs}:/usr/bin:/bin")
        found = {check["name"]: check for check in json.loads(run("doctor", "--json").output)["checks"]}
        assert found["codex trust"]["state"] == "fail"
        assert (home / "where").read_text() == "/\n", "a project's files may say which version is started"
        config = home / ".codex" / "config.toml"
        config.write_text('model = "x"')
        assert run("install", "codex", "--trust").exit_code == 0
        text = config.read_text()
        assert text.startswith('model = "x"\n')
        assert text.count('trusted_hash = "sha256:00"') == len(listed)
        (home / "answers").write_text((home / "answers").read_text().replace("sha256:00", "sha256:11"))
        assert run("install", "codex", "--trust").exit_code == 0
        assert config.read_text() == text.replace("sha256:00", "sha256:11")


def test_the_plugin_of_opencode_is_javascript(home: Path) -> None:
    node = subprocess.run(["/usr/bin/env", "which", "node"], capture_output=True, text=True, check=False)
    assert run("install", "opencode").exit_code == 0
    text = (home / FILES["opencode"]).read_text()
    assert "__LOCKGATE_COMMAND__" not in text
    assert '"opencode", "--home"' in text
    if node.stdout:
        module = home / "plugin.mjs"
        module.write_text(text)
        subprocess.run([node.stdout.strip(), "--check", str(module)], check=True)


@pytest.mark.parametrize(
    ("called", "client"), [("claude", "claude-code"), ("gemini", "gemini-cli"), ("copilot", "copilot-cli")]
)
def test_what_people_call_a_client_is_understood(home: Path, called: str, client: str) -> None:
    for command in ("install", "uninstall"):
        by_name, by_alias = (run(command, name, "--dry-run", "--json") for name in (client, called))
        assert by_alias.exit_code == 0, by_alias.output
        assert by_alias.output == by_name.output
    assert run("install", "claud").exit_code == 2
