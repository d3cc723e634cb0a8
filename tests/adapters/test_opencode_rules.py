"""OpenCode's own rules about a command that is to be rewritten, as the plugin finds them."""

from __future__ import annotations

from typing import Any

import pytest

from lockgate.clients.adapter import adapter
from lockgate.clients.opencode.events import may_be_refused
from lockgate.core.events import ToolRequested

WORK = "/home/user/work"
SESSION = [{"permission": "question", "pattern": "*", "action": "deny"}]


@pytest.mark.parametrize(("permissions", "command", "refused"), [
    ([], "make", False),
    ([None, SESSION], "make", False),
    (["allow"], "make", False),
    ([{"bash": "ask"}], "make", False),  # the client finds it in every spelling
    ([{"bash": {"*": "ask"}}], "make", False),
    (["deny"], "make", False),
    ([{"bash": {"make *": "deny"}}], "make test", True),
    ([{"bash": {"*": "allow", "make*": "ask"}}], "cd x && make test", True),
    ([{"b*": {"make*": "ask"}}], "make", True),
    ([{"bash": {"make": "deny"}}], "\\make", True),
    ([{"bash": {"* --force": "deny"}}], "anything", True),
    ([{"bash": {"git push *": "deny"}}], "make", False),
    ([{"bash": {"make *": "allow"}}], "make test", False),
    ([{"edit": {"make *": "deny"}}], "make test", False),
    ([[{"permission": "bash", "pattern": "make *", "action": "deny"}]], "make test", True),
    ([{"external_directory": "deny"}], "cat /etc/hosts", True),
    ([{"external_directory": "deny"}], f"ls {WORK}/src 2>/dev/null", False),
    ([{"external_directory": "ask"}], "cat /etc/hosts", False),
    ([7], "make", True),  # nobody knows what that says
    (None, "make", True),
    ({"bash": "allow"}, "make", True),
])  # fmt: skip
def test_a_rule_that_may_be_lost(permissions: Any, command: str, refused: bool) -> None:
    assert may_be_refused(permissions, command, WORK) is refused
    client = adapter("opencode")
    payload = {
        "hook_event_name": "tool.execute.before",
        "session_id": "s1",
        "cwd": WORK,
        "workspace": WORK,
        "tool_name": "bash",
        "tool_input": {"command": command},
        "permissions": permissions,
    }
    event = client.decode(payload, {})
    assert isinstance(event, ToolRequested)
    assert client.is_fixed(event.context, event.call, "/home/user") is refused
