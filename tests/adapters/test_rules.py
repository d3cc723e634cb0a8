"""The client's own rules about a command that is to be rewritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockgate.adapters.claude_rules import is_allowed, may_be_refused
from lockgate.events import Context
from lockgate.model import Subject, ToolCall

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
