"""When a question of the gate is sure to reach a person."""

from __future__ import annotations

import subprocess
import sys

import pytest

from lockgate.clients.claude.asks_person import asks_a_person, is_headless

RISKY = ["bypassPermissions", "auto", "plan", "some new mode"]
SAFE = ["", "default", "acceptEdits", "dontAsk"]


@pytest.mark.parametrize("mode", SAFE)
def test_a_person_decides(mode: str) -> None:
    assert asks_a_person("Bash", {"command": "python3 job.py; echo >> .idea/x"}, mode)
    assert asks_a_person("Write", {"file_path": ".git/config"}, mode)


@pytest.mark.parametrize("mode", RISKY)
@pytest.mark.parametrize(
    "command",
    [
        "python3 job.py; echo >> .idea/x",
        "python3 job.py > out.txt",
        "python3 job.py\ntouch .npmrc",
        "touch .git/x",
        "make --directory=.git",
        "make -C.git",
        "cp a b,.git",
        "scp a:.git/x b",
        "python3 job.py $HOME",
        "X=1 python3 job.py",
        "python3 job.py | tee log",
        "(python3 job.py)",
        "python3 'job .py'\\''x'",
        "python3 job.py ~/.zshrc",
        "echo 'not closed",
        "",
    ],
)
def test_a_question_that_can_be_shed_is_not_asked(mode: str, command: str) -> None:
    assert not asks_a_person("Bash", {"command": command}, mode) or command == ""


@pytest.mark.parametrize("mode", RISKY)
@pytest.mark.parametrize(
    "command",
    ["pytest -q", "npm test", "make -j4 build", "python3 job.py --n 3", "cd ../x"],
)
def test_one_plain_command_is_asked_about_in_every_mode(mode: str, command: str) -> None:
    assert asks_a_person("Bash", {"command": command}, mode)


@pytest.mark.parametrize("mode", RISKY)
@pytest.mark.parametrize(
    ("tool", "kept"),
    [("Agent", True), ("WebFetch", True), ("mcp__a__b", True), ("Write", False), ("Edit", False), ("Unheard", False)],
)
def test_tools(mode: str, tool: str, kept: bool) -> None:
    assert asks_a_person(tool, {"file_path": "x"}, mode) is kept


def test_wrong_types_are_not_asked_about() -> None:
    assert not asks_a_person("Bash", {"command": 7}, "bypassPermissions")


HEADLESS = [
    (["claude", "-p", "x"], "sdk-cli", True),
    (["claude", "--output-format", "stream-json", "--input-format", "stream-json"], "sdk-py", True),
    (["claude", "-p", "x"], "claude-code-github-action", True),
    (["claude", "-p", "--permission-prompt-tool", "stdio"], "sdk-py", False),
    (["claude", "-p", "--permission-prompt-tool=mcp__x__ask"], "sdk-cli", False),
    (["claude"], "cli", False),
    (["claude"], "claude-vscode", False),
    (["claude"], "some-new-word", False),
]


@pytest.mark.parametrize(("words", "entrypoint", "headless"), HEADLESS)
def test_nobody_sits_before_it(words: list[str], entrypoint: str, headless: bool) -> None:
    """By what the client says, and the command line of its process, which is a real one here."""
    argv = [sys.executable, "-c", "print(flush=True); input()", *words]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        assert is_headless(entrypoint, f"{process.pid}:1") is headless
        process.communicate(b"\n")


@pytest.mark.parametrize(("entrypoint", "headless"), [("sdk-cli", True), ("sdk-py", False), ("cli", False)])
@pytest.mark.parametrize("process", ["", "999999999:", "x:1"])
def test_where_the_command_line_is_not_known(entrypoint: str, process: str, headless: bool) -> None:
    assert is_headless(entrypoint, process) is headless
