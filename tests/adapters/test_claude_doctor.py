"""What a project has written into its settings tells the doctor something, or nothing: it never ends it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lockgate.clients.install import claude_checks as claude_doctor
from lockgate.clients.install.claude_settings_view import look
from lockgate.system.folders import Folders


@pytest.mark.parametrize(
    "command",
    ["/x/lockgate/hook.py' \"", "'/a || b/lockgate/hook.py' claude-code", "lockgate/hook.py' \\", "lockgate/hook.py' "],
)
def test_commands_that_are_none(tmp_path: Path, command: str) -> None:
    project = tmp_path / "project"
    (project / ".claude").mkdir(parents=True)
    hooks = {"PreToolUse": [{"hooks": [{"type": "command", "command": command}]}]}
    (project / ".claude" / "settings.json").write_text(json.dumps({"hooks": hooks}))
    where = Folders(str(tmp_path / "home"), str(tmp_path / "state"), str(tmp_path / "config"))
    found = {check.name: check.state for check in claude_doctor.checks(look(where, str(project), {}, ""))}
    assert found["hooks (project)"] in ("warn", "fail")
