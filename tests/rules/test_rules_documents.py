"""What docs/plugins.md and docs/git.md say is so: their plugins run, their tables hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from lockgate.cli.main import cli
from lockgate.policy.git.acts import KINDS
from lockgate.policy.validation import parse
from rules.git_world import against

DOCS = Path(__file__).resolve().parents[2] / "docs"
GIT = (DOCS / "git.md").read_text("utf-8")
PLUGINS = (DOCS / "plugins.md").read_text("utf-8")
SAMPLES = dict(re.findall(r"```python\n# (\w+\.py)\n(.*?)```", PLUGINS, re.DOTALL))
CALLS = re.findall(r"^\| `(\{\"tool_name.*?\})` \| (\w+), (\w+) \|$", PLUGINS, re.MULTILINE)
RULES: dict[str, Any] = yaml.safe_load(re.findall(r"```yaml\n(git:.*?)```", GIT, re.DOTALL)[0])["git"]
COMMANDS = re.findall(r"^\| `(.*)` \| (allow|ask|deny) \|$", GIT, re.MULTILINE)


def check(tmp_path: Path, name: str, *calls: str) -> dict[str, Any]:
    path = tmp_path / name
    path.write_text(SAMPLES[name])
    path.chmod(0o600)
    words = ["plugins", "check", str(path), "--json"]
    for call in calls:
        words += ["--call", call]
    result = CliRunner().invoke(cli, words)
    told: dict[str, Any] = json.loads(result.stdout)
    assert (result.exit_code, told["ok"]) == (0, True), told
    return told


@pytest.mark.parametrize("name", SAMPLES)
def test_the_plugins_of_the_page_are_loaded_and_answer(name: str, tmp_path: Path) -> None:
    assert check(tmp_path, name, '{"tool_name": "Bash", "tool_input": {"command": "ls"}}')["calls"]


@pytest.mark.parametrize(("call", "before", "after"), CALLS)
def test_the_calls_of_the_page_are_answered_as_it_says(call: str, before: str, after: str, tmp_path: Path) -> None:
    told = check(tmp_path, "notes.py", call)
    assert [one["answer"] for one in told["calls"]] == [before, after]


def test_the_pages_have_what_is_tested_here() -> None:
    assert len(SAMPLES) == 2
    assert len(CALLS) == 4
    assert len(COMMANDS) > 12
    assert all(f"| `{key}` |" in GIT for key in (*KINDS, "protected", "protected_branches"))


@pytest.mark.parametrize("text", re.findall(r"```yaml\n(.*?)```", GIT + PLUGINS, re.DOTALL))
def test_the_configurations_of_the_pages_are_valid(text: str) -> None:
    assert parse(text.encode(), "lockgate.yaml").problems == ()


@pytest.mark.parametrize(("command", "answer"), COMMANDS)
def test_the_commands_of_the_page_are_answered_as_it_says(command: str, answer: str) -> None:
    found = against(command.replace("\\|", "|"), RULES)
    assert max((each.verdict.word for each in found), default="allow", key=["allow", "ask", "deny"].index) == answer


def test_a_star_stands_for_slashes_too() -> None:
    assert against("git push origin x:release/a/b", RULES)
    assert not against("git push origin x:releases", RULES)
