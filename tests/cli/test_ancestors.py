"""Which processes are agents' clients, and finding one above."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from lockgate.cli.common.ancestors import AncestorProcess, agent_above, is_client, look_up


@pytest.mark.parametrize(
    ("words", "client"),
    [
        (("claude", "-p", "x"), True),
        (("/opt/x/claude-code-linux-x64/claude",), True),
        (("/home/u/.local/bin/codex", "exec"), True),
        (("node", "/usr/lib/node_modules/@google/gemini-cli/dist/index.js"), True),
        (("/usr/bin/node", "--no-warnings", "/usr/lib/node_modules/@anthropic-ai/claude-code/cli.js"), True),
        (("python3.12", "/home/u/.venv/bin/aider"), True),
        (("bun", "/x/opencode/bin/opencode.js"), True),
        (("-bash",), False),
        (("zsh",), False),
        (("tmux", "new", "-s", "claude"), False),
        (("vim", "claude"), False),
        (("/usr/bin/node", "/home/u/claude/projects/a/b/c/server.js"), False),
        (("python3", "-m", "http.server"), False),
        (("claudette",), False),
        ((), False),
    ],
)
def test_a_client_is_known_by_its_program(words: tuple[str, ...], client: bool) -> None:
    assert is_client(words) is client


def _family(*commands: tuple[str, ...]) -> dict[int, AncestorProcess]:
    """Processes above this one, the nearest first."""
    pids = [os.getppid(), *range(900001, 900000 + len(commands)), 0]
    return {
        pid: AncestorProcess(pid, pids[place + 1], f"t{pid}", words)
        for place, (pid, words) in enumerate(zip(pids, commands, strict=False))
    }


def test_the_nearest_is_named() -> None:
    family = _family(("bash",), ("make",), ("claude", "-p"), ("codex",))
    assert agent_above(look=family.get) == "claude, process 900002"


def test_one_that_the_gate_has_seen_is_found_whatever_it_is_called() -> None:
    family = _family(("bash",), ("my-agent",))
    assert agent_above(look=family.get) == ""
    assert agent_above({"900001:t900001"}, look=family.get) == "my-agent, process 900001"
    assert agent_above({"900001:t1"}, look=family.get) == ""


def test_a_circle_ends() -> None:
    pid = os.getppid()
    assert agent_above(look=lambda _: AncestorProcess(pid, pid, "", ("sh",))) == ""


def test_real_processes_are_looked_up() -> None:
    words = [sys.executable, "-c", "print(1, flush=True); input()", "a word"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()  # within its start a process has no words
        found = look_up(process.pid)
        assert found is not None
        assert found.parent == os.getpid()
        assert "a word" in " ".join(found.words)
        process.communicate(b"\n")
    assert look_up(process.pid) is None


def test_both_ways_of_looking_agree() -> None:
    from lockgate.cli.common import ancestors

    by_ps = ancestors._read_from_ps(os.getpid())
    assert by_ps is not None
    assert by_ps.parent == os.getppid()


def test_a_long_command_line_is_told_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's name can be at its end. A width is said, as a terminal has one."""
    from lockgate.cli.common import ancestors

    monkeypatch.setenv("COLUMNS", "40")
    path = f"/{'x' * 200}/claude/cli.js"
    with subprocess.Popen([sys.executable, "-c", "input()", path], stdin=subprocess.PIPE) as process:
        by_ps = ancestors._read_from_ps(process.pid)
        process.communicate(b"\n")
    assert by_ps is not None
    assert by_ps.words[-1] == path
