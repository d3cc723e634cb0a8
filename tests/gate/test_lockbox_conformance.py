"""What Lockbox's tables promise, row by row, under the profile of those who come from it."""

from __future__ import annotations

from typing import Any

import pytest

from lockgate.core.model import Verdict

from .world import World

ALLOW, ASK, DENY = Verdict.ALLOW, Verdict.ASK, Verdict.DENY


@pytest.fixture
def lockbox(world: World) -> World:
    (world.config / "lockgate.yaml").write_text("profile: quarantine-strict\n")
    return world


def bash(command: str) -> tuple[str, dict[str, Any]]:
    return "Bash", {"command": command}


SAFE = [
    ("Read", {"file_path": "/home/u/work/a.py"}),
    ("Write", {"file_path": "/home/u/work/a.py", "content": "x"}),
    ("Edit", {"file_path": "/home/u/work/a.py", "old_string": "x", "new_string": "y"}),
    ("Grep", {"pattern": "x"}),
    ("Glob", {"pattern": "*.py"}),
    bash("git status"),
    bash("ls -la | head"),
    bash("git push --help"),
]
UNSAFE = [
    ("WebFetch", {"url": "https://example.com/page", "prompt": "what is it?"}),
    ("mcp__perplexity__search", {"query": "x"}),
    bash("curl -s https://example.com/page"),
    bash("gh issue view 7"),
]
ACTING = [
    bash("git push origin main"),
    bash("ssh host uptime"),
    bash("npm publish"),
    bash("echo hello | mail -s hello bob@example.com"),
    ("mcp__slack__post_message", {"channel": "c", "text": "hello"}),
]
DIFFERENT = [
    # What runs on this machine is asked where no sandbox holds it: a person may know the program, a list cannot.
    bash("sudo systemctl restart nginx"),
    bash("unheard-of-program --do it"),
]
BOTH = [
    bash("curl -s https://example.com/a | curl -d @- https://other.example"),
    bash("gh issue view 7 && git push"),
]


def name(row: tuple[str, dict[str, Any]]) -> str:
    return row[1].get("command", row[0])


@pytest.mark.parametrize("row", SAFE, ids=name)
def test_safe_is_never_blocked_and_never_locks(lockbox: World, row: tuple[str, dict[str, Any]]) -> None:
    assert lockbox.run(*row, "text") is ALLOW
    assert lockbox.labels() == set()
    lockbox.taint()
    assert lockbox.ask(*row)[0].verdict is ALLOW


@pytest.mark.parametrize("row", UNSAFE, ids=name)
def test_unsafe_locks_and_runs(lockbox: World, row: tuple[str, dict[str, Any]]) -> None:
    assert lockbox.run(*row, "a stranger's text") is ALLOW
    assert "untrusted" in lockbox.labels()


@pytest.mark.parametrize("row", ACTING, ids=name)
def test_acting_is_blocked_once_locked(lockbox: World, row: tuple[str, dict[str, Any]]) -> None:
    lockbox.taint()
    answer, _ = lockbox.ask(*row)
    assert answer.verdict is DENY
    assert answer.to_agent.startswith("Lockgate")


@pytest.mark.parametrize("row", DIFFERENT, ids=name)
def test_what_is_unknown_is_asked_once_locked(lockbox: World, row: tuple[str, dict[str, Any]]) -> None:
    assert lockbox.ask(*row)[0].verdict is ALLOW
    lockbox.taint()
    assert lockbox.ask(*row)[0].verdict is ASK


@pytest.mark.parametrize("row", BOTH, ids=name)
def test_what_reads_and_acts_is_blocked_once_locked(lockbox: World, row: tuple[str, dict[str, Any]]) -> None:
    lockbox.taint()
    assert lockbox.ask(*row)[0].verdict is DENY


@pytest.mark.parametrize("tool", ["Write", "Edit"])
@pytest.mark.parametrize("path", ["/home/u/.claude/lockbox.json", "/home/u/work/.claude/lockbox.json"])
def test_its_own_files_are_guarded(lockbox: World, tool: str, path: str) -> None:
    lockbox.taint()
    content = {"content": "{}"} if tool == "Write" else {"old_string": "a", "new_string": "b"}
    assert lockbox.ask(tool, {"file_path": path, **content})[0].verdict is DENY


def test_a_sub_agent_that_reads_locks_its_parent_and_a_locked_parent_its_sub_agents(lockbox: World) -> None:
    lockbox.agent_starts("a1")
    lockbox.run("WebFetch", {"url": "https://example.com", "prompt": "x"}, "a stranger's text", agent="a1")
    assert lockbox.labels() == set()
    lockbox.agent_stops("a1")
    assert lockbox.labels() == {"untrusted"}
    lockbox.agent_starts("a2")
    assert lockbox.bash("git push origin main", agent="a2") is DENY


def test_a_session_stays_locked(lockbox: World) -> None:
    lockbox.taint()
    lockbox.prompt("it was fine, go on")
    assert lockbox.bash("git push origin main") is DENY
