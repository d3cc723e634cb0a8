"""Copilot CLI's own rules about a command that is to be rewritten, as a real process's command line holds them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lockgate.clients.copilot.permission_rules import asks_by_default, is_allowed, may_be_refused
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall
from lockgate.system import caller

Started = Callable[..., Context]
WORK = "/home/user/work"


@pytest.fixture
def started() -> Iterator[Started]:
    """A client that was started with some words."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*words: str) -> Context:
        waiting = [sys.executable, "-c", "print(flush=True); input()", *words]
        process = subprocess.Popen(waiting, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        running.append(process)
        assert process.stdout
        process.stdout.readline()
        found = caller.process(process.pid)
        assert found
        identity = f"{process.pid}:{found.started}"
        return Context("copilot-cli", Subject("s"), WORK, WORK, process=identity)

    yield start
    for process in running:
        process.communicate()


def shell(command: str) -> ToolCall:
    return ToolCall("Bash", {"command": command}, WORK)


@pytest.mark.parametrize(("words", "command", "refused"), [
    ([], "make test", False),
    (["--allow-all-tools"], "make test", False),
    (["--deny-tool", "shell(make)"], "make test", True),
    (["--deny-tool=shell(make:*)"], "cd x && make test", True),
    (["--deny-tool=shell(make)"], 'm"a"ke test', True),
    (["--deny-tool=shell(git push)"], "git status", True),
    (["--deny-tool", "write", "shell(make)"], "make", True),
    (["--deny-tool=shell(make)"], "cmake .", False),
    (["--deny-tool=shell"], "make", False),  # the client finds it in every spelling
    (["--deny-tool=write"], "make", False),
    (["--allow-tool", "shell(make)"], "make", False),
    (["-p", "--deny-tool is not meant here: shell(make)"], "make", False),
])  # fmt: skip
def test_a_rule_that_refuses(started: Started, words: list[str], command: str, refused: bool) -> None:
    assert may_be_refused(started(*words), shell(command)) is refused


def test_a_client_that_is_not_known(tmp_path: Path) -> None:
    context = Context("copilot-cli", Subject("s"), WORK, WORK)
    assert may_be_refused(context, shell("make"))
    assert not is_allowed(context, shell("make"), str(tmp_path))


@pytest.mark.parametrize(("words", "command", "allowed"), [
    ([], "make", False),
    (["--yolo"], "cat /etc/hosts", True),
    (["--allow-all"], "make", True),
    (["--allow-all-tools"], "make test 2>/dev/null | tail -5; echo $?", True),
    (["--allow-all-tools"], "python -m pytest -q tests/test_a.py::test_b", True),
    (["--allow-all-tools"], f"ls {WORK}/src", True),
    (["--allow-all-tools"], "cat /etc/hosts", False),
    (["--allow-all-tools"], "cat '/etc/hosts'", False),
    (["--allow-all-tools"], "cat ../x", False),
    (["--allow-all-tools"], "cat ~/x", False),
    (["--allow-all-tools"], "cat $HOME/x", False),
    (["--allow-all-tools"], "make --file=/x", False),
    (["--allow-all-tools", "--allow-all-paths"], "cat /etc/hosts", True),
    (["--allow-all-tools", "--deny-tool=write"], "make", False),
    (["--yolo", "--deny-url", "x.example"], "make", False),
    (["--allow-tool", "shell(make)"], "make", True),
    (["--allow-tool", "shell(make)"], "make all", False),
    (["--allow-tool=shell(make:*)"], "make all", True),
    (["--allow-tool=shell(make:*)"], "make; rm x", False),
    (["--allow-tool=shell(make:*)"], "maker", False),
    (["--allow-tool", "write"], "make", False),
    (["--allow-tool", "shell"], "make; rm x", True),
])  # fmt: skip
def test_what_runs_unasked(started: Started, tmp_path: Path, words: list[str], command: str, allowed: bool) -> None:
    assert is_allowed(started(*words), shell(command), str(tmp_path)) is allowed


@pytest.mark.parametrize(("value", "allowed"), [("true", True), (" Yes ", True), ("0", False), ("", False)])
def test_the_variable_that_allows_all_tools(
    started: Started, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str, allowed: bool
) -> None:
    monkeypatch.setenv("COPILOT_ALLOW_ALL", value)
    assert is_allowed(started(), shell("make"), str(tmp_path)) is allowed


@pytest.mark.parametrize(("text", "allowed"), [
    ('// managed\n{"deniedUrls": ["x.example"]}', False),
    ('{"theme": "github"}', True),
    ("", False),
])  # fmt: skip
def test_refused_addresses_in_settings(started: Started, tmp_path: Path, text: str, allowed: bool) -> None:
    """An answer of a hook that allows would drop them. A file of which nothing can be read may hold some."""
    (tmp_path / ".copilot").mkdir()
    (tmp_path / ".copilot" / "settings.json").write_text(text)
    assert is_allowed(started("--yolo"), shell("make"), str(tmp_path)) is allowed


@pytest.mark.parametrize(("words", "command", "skips"), [
    ([], "make test", True),
    (["--allow-tool", "write"], "make test", True),
    (["--deny-tool", "write"], "make test", False),
    (["--deny-url=x.example"], "make test", False),
    (["--config-dir", "/x"], "make test", False),
    ([], "cat /etc/hosts", False),
    ([], "cat ~/x", False),
])  # fmt: skip
def test_what_the_client_asks_about_only_by_default(
    started: Started, tmp_path: Path, words: list[str], command: str, skips: bool
) -> None:
    assert asks_by_default(started(*words), shell(command), str(tmp_path)) is skips


def test_a_client_that_is_not_known_goes_on_asking(tmp_path: Path) -> None:
    assert not asks_by_default(Context("copilot-cli", Subject("s"), WORK, WORK), shell("ls"), str(tmp_path))
