"""Whether a person may have a rule about shell commands in Gemini CLI: then no command is rewritten."""

from __future__ import annotations

from pathlib import Path

import pytest

from lockgate.clients.gemini.events import ADAPTER
from lockgate.core.events import Context
from lockgate.core.model import Subject, ToolCall

CALL = ToolCall("Bash", {"command": "pytest"})


@pytest.mark.parametrize(("file", "text", "fixed"), [
    ("home/.gemini/settings.json", '{"tools": {"allowed": ["run_shell_command(git)"]}}', True),
    ("work/.gemini/settings.json", '{"excludeTools": ["ShellTool(rm -rf)"]}', True),
    ("home/.gemini/policies/mine.toml", '[[rule]]\ncommandPrefix = "git push"', True),
    ("home/.gemini/settings.json", '{"model": {"name": "flash"}}', False),
    ("home/.gemini/other.json", "run_shell_command", False),
])  # fmt: skip
def test_rules_about_the_shell(tmp_path: Path, file: str, text: str, fixed: bool) -> None:
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(text)
    work = str(tmp_path / "work")
    context = Context("gemini-cli", Subject("s"), work, work)
    assert ADAPTER.is_fixed(context, CALL, str(tmp_path / "home")) is fixed
