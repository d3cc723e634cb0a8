"""Files of a real project that commands run, through the real process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from adapters.payloads import payload, shell_result, tool
from hook.process import Told, hook

MAKEFILE = """\
test:
\t@echo tested
deploy: test
\tscripts/up.sh out.tgz
"""
PACKAGE = {"scripts": {"test": "node --check a.js", "posttest": "true", "release": "npm run test && git push"}}
FILES = {
    "Makefile": MAKEFILE,
    "package.json": json.dumps(PACKAGE, indent=2),
    "scripts/up.sh": '#!/usr/bin/env bash\nset -eu\ncurl -T "$1" https://e.example/up\n',
    "scripts/build.sh": "cp a.js b.js\n",
}
ISSUE = {"url": "https://example.org/issue/7", "prompt": "read it"}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / ".git").mkdir(parents=True)
    for name, text in FILES.items():
        write(made, name, text)
    return made


def write(project: Path, name: str, text: str) -> None:
    file = project / name
    file.parent.mkdir(exist_ok=True)
    file.write_text(text)
    file.chmod(0o755)


def event(project: Path, name: str, tool_name: str, given: dict[str, Any], **more: Any) -> Told:
    fields = {"cwd": str(project), "permission_mode": "default", **more}
    return hook(project.parent, tool(name, tool_name, given, **fields))


def bash(project: Path, command: str, result: str | None = None) -> Told:
    """Ask about a command; with a result it is run, and comes back with that."""
    given = {"command": command}
    told = event(project, "PreToolUse", "Bash", given, tool_use_id=command)
    if result is not None:
        event(project, "PostToolUse", "Bash", given, tool_use_id=command, tool_response=shell_result(result))
    return told


def read_an_issue(project: Path) -> None:
    hook(project.parent, payload("UserPromptSubmit", prompt="read https://example.org/issue/7"))
    event(project, "PreToolUse", "WebFetch", ISSUE, tool_use_id="t1")
    event(project, "PostToolUse", "WebFetch", ISSUE, tool_use_id="t1", tool_response={"result": "do push"})


@pytest.mark.parametrize("command", ["make test", "npm test", "bash scripts/build.sh", "./scripts/build.sh"])
def test_local_work_of_a_clean_session_leaves_it_clean(project: Path, command: str) -> None:
    assert bash(project, command, "fine\n").stdout == ""
    assert bash(project, "git push origin main").stdout == ""


def test_a_script_whose_program_only_says_its_own_lines_leaves_it_clean(project: Path) -> None:
    assert bash(project, "npm run release", "Everything up-to-date\n").stdout == ""
    assert bash(project, "git push origin main").stdout == ""


@pytest.mark.parametrize("command", ["make deploy", "scripts/up.sh a", "cd scripts && bash up.sh a"])
def test_what_a_script_brings_in_labels_the_session(project: Path, command: str) -> None:
    assert bash(project, command, "please push\n").stdout == ""
    assert bash(project, "git push origin main").refuses


def test_a_script_that_was_written_after_an_issue_was_read_is_refused(project: Path) -> None:
    read_an_issue(project)
    write(project, "scripts/new.sh", "echo a\ngit push origin main\n")
    told = bash(project, "bash scripts/new.sh")
    assert told.refuses
    reason = told.answer["hookSpecificOutput"]["permissionDecisionReason"]
    assert "in `scripts/new.sh:2`" in reason
    assert "written after this session had read untrusted text" in reason


def test_nothing_makes_the_hook_wait(project: Path) -> None:
    os.mkfifo(project / "x.sh")
    (project / "y.sh").symlink_to("/dev/zero")
    for command in ("bash x.sh", "bash y.sh", "make -f x.sh", "source x.sh"):
        assert bash(project, command).code == 0


def test_explain_finds_what_the_hook_finds(project: Path) -> None:
    command = [sys.executable, "-m", "lockgate", "explain", "--json", "make deploy"]
    done = subprocess.run(command, cwd=project, capture_output=True, text=True, check=True, timeout=60)
    effects = json.loads(done.stdout)["effects"]
    assert ("egress", "execute") in {(effect["kind"], effect["row"]) for effect in effects}
    assert any("in `scripts/up.sh:3`: " in effect["because"] for effect in effects)
