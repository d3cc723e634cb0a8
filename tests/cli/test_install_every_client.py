"""``install``, ``update`` and ``uninstall`` for all clients of a machine."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from lockgate.cli.main import cli

pytestmark = pytest.mark.sampled

PROGRAMS = {"claude-code": "claude", "codex": "codex", "gemini-cli": "gemini", "opencode": "opencode"}
FILES = {
    "claude-code": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini-cli": ".gemini/settings.json",
    "opencode": ".config/opencode/plugins/lockgate.js",
}


@pytest.fixture
def machine(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home folder on a machine with four clients."""
    programs = home / "programs"
    programs.mkdir()
    for name in PROGRAMS.values():
        (programs / name).write_text("#!/bin/sh\nexit 0\n")
        (programs / name).chmod(0o700)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    for name in ("CODEX_HOME", "COPILOT_HOME", "XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "OPENCODE", "GEMINI_CLI"):
        monkeypatch.delenv(name, raising=False)
    return home


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def states() -> dict[str, str]:
    return {one["client"]: one["state"] for one in json.loads(run("install", "--json").output)["clients"]}


def texts(home: Path) -> dict[str, str | None]:
    return {name: (home / name).read_text() if (home / name).exists() else None for name in FILES.values()}


def test_all_are_guarded_and_taken_out_to_the_byte(machine: Path) -> None:
    (machine / ".gemini").mkdir()
    (machine / ".gemini/settings.json").write_text('{ "model": {"name": "flash"}}\n')
    before = texts(machine)
    assert states() == dict.fromkeys(PROGRAMS, "not guarded")
    installed = run("install", "--all")
    assert installed.exit_code == 0, installed.output
    assert installed.output.count("Sessions that start from now on are guarded") == 1
    assert states() == dict.fromkeys(PROGRAMS, "guarded")
    assert run("uninstall", "--all").exit_code == 0
    assert texts(machine) == before


def test_nobody_to_ask_changes_nothing(machine: Path) -> None:
    told = run("install")
    assert told.exit_code == 2
    assert "name a client, or take all of them with --all" in told.output
    for client in PROGRAMS:
        assert f"{client}: not guarded" in told.output
    assert texts(machine) == dict.fromkeys(FILES.values())


def test_a_client_without_a_program_is_found_by_its_folder(machine: Path) -> None:
    (machine / ".copilot").mkdir()
    assert states()["copilot-cli"] == "not guarded"


def test_a_folder_that_many_programs_share_is_no_client(machine: Path) -> None:
    (machine / "programs/opencode").unlink()
    (machine / ".config").mkdir()
    assert "opencode" not in states()


@pytest.mark.parametrize(
    ("variable", "client", "file"),
    [
        ("CODEX_HOME", "codex", "hooks.json"),
        ("COPILOT_HOME", "copilot-cli", "hooks/lockgate.json"),
        ("XDG_CONFIG_HOME", "opencode", "opencode/plugins/lockgate.js"),
        ("CLAUDE_CONFIG_DIR", "claude-code", "settings.json"),
    ],
)
def test_hooks_go_where_the_client_looks(
    machine: Path, monkeypatch: pytest.MonkeyPatch, variable: str, client: str, file: str
) -> None:
    monkeypatch.setenv(variable, str(machine / "moved"))
    assert run("install", client).exit_code == 0
    assert (machine / "moved" / file).exists()


def test_update_renews_only_what_has_hooks(machine: Path) -> None:
    assert run("install", "codex").exit_code == 0
    assert run("install", "claude-code", "--no-native").exit_code == 0
    codex, claude = machine / FILES["codex"], machine / FILES["claude-code"]
    now, chosen = codex.read_text(), claude.read_text()
    codex.write_text(now.replace("--home", "--hom", 1))
    assert states()["codex"] == "guarded, by entries of another version or installation"
    shown = run("update", "--dry-run")
    assert shown.exit_code == 0
    assert codex.read_text() != now
    updated = run("update")
    assert updated.exit_code == 0, updated.output
    assert f"renewed: {codex}" in updated.output
    assert codex.read_text() == now
    assert claude.read_text() == chosen, "Python starts these hooks, as the person chose"
    assert states() == {**dict.fromkeys(PROGRAMS, "not guarded"), "codex": "guarded", "claude-code": "guarded"}


def test_hooks_that_ask_a_gate_elsewhere_stay(machine: Path) -> None:
    (machine / "key").write_text("")
    assert run("install", "codex", "--remote", "ipc:/gate", "--key-file", str(machine / "key")).exit_code == 0
    before = texts(machine)
    assert states()["codex"] == "guarded by a gate outside of this container"
    told = run("update")
    assert (told.exit_code, "lockgate install codex --remote" in told.output) == (0, True)
    assert run("install", "--all", "--dry-run", "--json").output.count('"client"') == len(PROGRAMS) - 1
    assert texts(machine) == before


def test_update_where_nothing_is_guarded(machine: Path) -> None:
    told = run("update")
    assert (told.exit_code, "put them in: lockgate install" in told.output) == (1, True)


@pytest.mark.parametrize("command", [("install", "--all"), ("uninstall", "--all")], ids=" ".join)
def test_one_that_fails_keeps_no_other_from_it(machine: Path, command: tuple[str, ...]) -> None:
    if command[0] == "uninstall":
        assert run("install", "--all").exit_code == 0
    (machine / ".codex").mkdir(exist_ok=True)
    (machine / ".codex/hooks.json").write_text("no JSON, but lockgate/hook.py\x1b[31m")
    told = run(*command)
    assert told.exit_code == 1
    assert "not everything is done: codex" in told.output
    assert "\x1b" not in told.output
    done = "guarded" if command[0] == "install" else "not guarded"
    assert states() == {**dict.fromkeys(PROGRAMS, done), "codex": "its settings cannot be read"}


def test_a_client_that_its_plugin_guards_gets_no_second_hooks(machine: Path) -> None:
    (machine / ".claude").mkdir()
    (machine / ".claude/settings.json").write_text('{"enabledPlugins": {"lockgate@lockgate": true}}')
    assert states()["claude-code"] == "guarded by its plugin"
    assert run("install", "--all", "--dry-run", "--json").output.count('"client"') == len(PROGRAMS) - 1


@pytest.mark.parametrize(
    ("answer", "guarded"),
    [("2 3\n", ["codex", "gemini-cli"]), ("\n", list(PROGRAMS)), ("none\n", []), ("7\n", []), ("1; rm\n", [])],
    ids=["two", "the default is all that are not", "none", "no such number", "no numbers"],
)
def test_a_person_picks_in_a_terminal(machine: Path, answer: str, guarded: list[str]) -> None:
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "lockgate", "install"]
    with subprocess.Popen(command, stdin=follower, stdout=follower, stderr=follower, cwd=machine) as process:
        os.close(follower)
        os.write(leader, answer.encode())
        try:
            while os.read(leader, 65536):
                pass
        except OSError:  # Linux says so at the end of a terminal
            pass
    os.close(leader)
    assert (process.returncode == 0) == bool(guarded)
    assert [client for client, state in states().items() if state == "guarded"] == guarded


@pytest.mark.parametrize(
    "arguments",
    [
        ("install", "codex", "--all"),
        ("install", "--scope", "project"),
        ("install", "--all", "--plugin"),
        ("uninstall",),
        ("uninstall", "--all", "--scope", "local"),
    ],
    ids=" ".join,
)
def test_usage(machine: Path, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2
    assert texts(machine) == dict.fromkeys(FILES.values())


def test_an_agent_cannot_take_all_out(machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("install", "--all").exit_code == 0
    monkeypatch.setenv("CLAUDECODE", "1")
    told = run("uninstall", "--all")
    assert (told.exit_code, "only a person may" in told.output) == (1, True)
    assert states() == dict.fromkeys(PROGRAMS, "guarded")
