"""The client's own rules about a command that is to be rewritten."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lockgate.clients.claude.permission_rules import asks_by_default, is_allowed, may_be_refused
from lockgate.clients.gemini.events import has_shell_rules
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall

REFUSED = [
    ("Bash(make:*)", "make test", True),
    ("Bash(make *)", "cd x && make test", True),
    ("Bash(make test)", 'm"a"ke test', True),
    ("Bash(make test)", "\\make test", True),
    ("Bash(/usr/bin/make:*)", "/usr/bin/make", True),
    ("Bash(* --force)", "anything", True),
    ("Bash(rm:*)", "npm run format", False),
    ("Bash(make:*)", "cmake .", False),
    ("Bash(*)", "make", False),  # the client finds it in every spelling
    ("Bash", "make", False),
    ("Read(make)", "make", False),
]
ALLOWED = [
    ("Bash(make:*)", "make", True),
    ("Bash(make:*)", "make test", True),
    ("Bash(make *)", "make test", True),
    ("Bash(make test)", "make test", True),
    ("Bash(make test)", "make test all", False),
    ("Bash(make:*)", "maker", False),
    ("Bash(make:*)", "make; rm x", False),
    ("Bash(make:*)", "make $(rm x)", False),
    ("Bash(make:*)", "make > x", False),
    ("Bash(make:*)", "make\nrm x", False),
    ("Bash(m*:*)", "make", False),
    ("Bash(*)", "make", False),
    ("Bash", "make", False),
]


def _standing(folder: Path, file: str, kind: str, rule: str) -> Context:
    path = folder / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"permissions": {kind: [rule, 3, None]}}))
    return Context("claude-code", Subject("s"), str(folder / "work"), str(folder / "work"))


FILES = ["home/.claude/settings.json", "work/.claude/settings.json", "work/.claude/settings.local.json"]


@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("kind", ["deny", "ask"])
@pytest.mark.parametrize(("rule", "command", "expected"), REFUSED)
def test_refusing_rules(tmp_path: Path, file: str, kind: str, rule: str, command: str, expected: bool) -> None:
    context = _standing(tmp_path, file, kind, rule)
    call = ToolCall("Bash", {"command": command})
    assert may_be_refused(context, call, str(tmp_path / "home")) is expected
    assert not is_allowed(context, call, str(tmp_path / "home"))


@pytest.mark.parametrize(("rule", "command", "expected"), ALLOWED)
def test_allowing_rules(tmp_path: Path, rule: str, command: str, expected: bool) -> None:
    context = _standing(tmp_path, FILES[0], "allow", rule)
    call = ToolCall("Bash", {"command": command})
    assert is_allowed(context, call, str(tmp_path / "home")) is expected
    assert not may_be_refused(context, call, str(tmp_path / "home"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"permissions": 3}',
        '{"permissions": {"deny": "x"}}',
        '{"permissions": {"deny": 5, "allow": true}}',
    ],
)
def test_settings_that_say_nothing(tmp_path: Path, text: str) -> None:
    context = _standing(tmp_path, FILES[0], "deny", "Bash(x:*)")
    (tmp_path / FILES[0]).write_text(text)
    assert not may_be_refused(context, ToolCall("Bash", {"command": "x"}), str(tmp_path / "home"))


STARTED = [
    (["--disallowedTools", "Bash(git push:*)", "Write"], "git push origin", True),
    (["--disallowed-tools=Edit,Bash(git push:*)"], "git push origin", True),
    (["--disallowedTools", "Edit", "--allowedTools", "Bash(git push:*)"], "git push origin", False),
    (["--settings", '{"permissions": {"deny": ["Bash(make:*)"]}}'], "make", True),
    (['--settings={"permissions": {"deny": ["Bash(make:*)"]}}'], "make", True),
    (["--settings", "own.json"], "make", True),
    (["-p", "x"], "make", False),
]


@pytest.fixture(params=["exact", "by ps"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Command lines as Linux tells them, and as macOS does."""
    is_folder = os.path.isdir
    if request.param == "by ps":
        monkeypatch.setattr(os.path, "isdir", lambda path: path != "/proc/self" and is_folder(path))
    return str(request.param)


@pytest.mark.parametrize(("words", "command", "expected"), STARTED)
def test_rules_on_the_clients_command_line(
    tmp_path: Path, way: str, words: list[str], command: str, expected: bool
) -> None:
    (tmp_path / "own.json").write_text('{"permissions": {"ask": ["Bash(make)"]}}')
    call = ToolCall("Bash", {"command": command})
    argv = [sys.executable, "-c", "print(flush=True); input()", *words]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        context = Context("claude-code", Subject("s"), str(tmp_path), str(tmp_path), process=f"{process.pid}:")
        assert may_be_refused(context, call, str(tmp_path / "home")) is expected
        process.communicate(b"\n")


SKIPPED = [
    ("a plain command", [], "", "make test", "default", True),
    ("edits are accepted", [], "", "make test", "acceptEdits", True),
    ("plan mode", [], "", "ls", "plan", False),
    ("nothing is asked", [], "", "ls", "bypassPermissions", False),
    ("what is asked is refused", [], "", "ls", "dontAsk", False),
    ("a server reviews", [], "", "ls", "auto", False),
    ("a mode that is not known", [], "", "ls", "", False),
    ("a rule asks", [], '{"ask": ["Bash(make:*)"]}', "make test", "default", False),
    ("a rule refuses", [], '{"deny": ["Bash(make:*)"]}', "make test", "default", False),
    ("a rule is about another", [], '{"ask": ["Bash(rm:*)"]}', "make test", "default", True),
    ("a rule asks about all", [], '{"ask": ["Bash"]}', "make test", "default", False),
    ("a rule asks about every tool", [], '{"ask": ["*"]}', "make test", "default", False),
    ("a rule that is none", [], '{"ask": [{"tool": "Bash"}]}', "make test", "default", False),
    ("outside of the project", [], "", "cat /etc/hosts", "default", False),
    ("above the project", [], "", "ls ..", "default", False),
    ("another shows the questions", ["--permission-prompt-tool", "mcp__a__b"], "", "ls", "default", False),
    ("a flag refuses", ["--disallowedTools", "Bash(make:*)"], "", "make", "default", False),
]


@pytest.mark.parametrize(("words", "rules", "command", "mode", "expected"), [row[1:] for row in SKIPPED], ids=[
    row[0] for row in SKIPPED
])  # fmt: skip
def test_what_the_client_asks_about_only_by_default(
    tmp_path: Path, words: list[str], rules: str, command: str, mode: str, expected: bool
) -> None:
    if rules:
        (tmp_path / ".claude").mkdir()
        (tmp_path / ".claude" / "settings.json").write_text(f'{{"permissions": {rules}}}')
    argv = [sys.executable, "-c", "print(flush=True); input()", *words]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        where = str(tmp_path)
        context = Context("claude-code", Subject("s"), where, where, process=f"{process.pid}:", mode=mode)
        assert asks_by_default(context, ToolCall("Bash", {"command": command}, where), f"{where}/home") is expected
        process.communicate(b"\n")


def test_a_client_that_is_not_known_goes_on_asking(tmp_path: Path) -> None:
    context = Context("claude-code", Subject("s"), str(tmp_path), str(tmp_path), mode="default")
    assert not asks_by_default(context, ToolCall("Bash", {"command": "ls"}, str(tmp_path)), str(tmp_path))


@pytest.mark.parametrize("process", ["", "999999999:"])
def test_a_command_line_that_is_not_known(tmp_path: Path, way: str, process: str) -> None:
    """Where the system tells all, there is none. Where it does not, in doubt there is a rule."""
    context = Context("claude-code", Subject("s"), str(tmp_path), str(tmp_path), process=process)
    call = ToolCall("Bash", {"command": "make"})
    assert may_be_refused(context, call, str(tmp_path)) is (way == "by ps")
    assert has_shell_rules(context, str(tmp_path)) is (way == "by ps")


@pytest.mark.parametrize(("word", "expected"), [("--allowed-tools=run_shell_command(git)", True), ("--yolo", False)])
def test_rules_of_gemini_on_its_command_line(tmp_path: Path, way: str, word: str, expected: bool) -> None:
    argv = [sys.executable, "-c", "print(flush=True); input()", word]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        context = Context("gemini-cli", Subject("s"), str(tmp_path), str(tmp_path), process=f"{process.pid}:")
        assert has_shell_rules(context, str(tmp_path)) is expected
        process.communicate(b"\n")
