from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lockgate.clients.common import transcripts as claude_files
from lockgate.system import caller


@pytest.fixture(autouse=True)
def _no_process_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claude_files, "_KNOWN", {})


def test_the_client_is_an_ancestor() -> None:
    own = claude_files.client_process(str(os.getpid()))
    assert own.startswith(f"{os.getpid()}:")
    assert claude_files.client_process(str(os.getppid())).startswith(f"{os.getppid()}:")


def test_a_process_that_is_no_ancestor_is_not_believed() -> None:
    child = os.fork()
    if child == 0:
        os.execv("/bin/sleep", ["sleep", "20"])
    try:
        # Where the system tells nothing of processes, the environment is all there is.
        believed = "" if os.path.exists("/proc/self/stat") else f"{child}:"
        assert claude_files.client_process(str(child)) == believed
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)


@pytest.mark.parametrize("claimed", ["x", "-1", "1; rm", "\u0661", "9" * 40])
def test_nonsense_is_no_process(claimed: str) -> None:
    assert claude_files.client_process(claimed) == ""


def test_a_client_that_does_not_name_itself_is_the_nearest_ancestor_that_is_no_shell() -> None:
    program = "from lockgate.clients.common.transcripts import client_process; print(client_process(''))"
    line = f"{shlex.quote(sys.executable)} -c {shlex.quote(program)}; exit 0"
    done = subprocess.run(["/bin/sh", "-c", line], capture_output=True, text=True, check=True)
    expected = claude_files.client_process(str(os.getpid())) if os.path.exists("/proc/self/stat") else ""
    assert done.stdout.strip() == expected


def process(name: bytes, parent: int, started: str) -> caller.Process:
    return caller.Process(name, parent, started, 0, 0)


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The processes that are looked at. Each one's parent is the one before it; 5 is a client, others are shells."""
    seen: list[int] = []

    def looked(pid: int) -> caller.Process | None:
        seen.append(pid)
        return process(b"claude" if pid == 5 else b"sh", pid - 1, str(pid * 100)) if pid > 0 else None

    monkeypatch.setattr(caller, "process", looked)
    return seen


def test_what_a_hook_comes_from_is_looked_at_once_a_second_and_the_hook_each_time(
    looked_at: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter(range(100))
    monkeypatch.setattr(claude_files, "time", SimpleNamespace(monotonic=lambda: 100 + next(times) * 0.05))
    token = caller.stand_in_for(caller.Caller({}, 7, 6))
    try:
        for _ in range(5):
            assert claude_files.client_process("5") == claude_files.client_process("") == "5:500"
    finally:
        caller.reset(token)
    assert looked_at == [7, 6, 5, 7, 7, 7, 7]
    looked_at.clear()
    for _ in range(10):
        assert claude_files._ancestor(6) == process(b"sh", 5, "600")
    assert looked_at == [6]


def test_only_so_many_processes_are_remembered_and_none_that_was_not_there(looked_at: list[int]) -> None:
    for pid in range(-5, 600):
        claude_files._ancestor(pid)
        assert len(claude_files._KNOWN) <= claude_files._ANCESTORS_KNOWN
    assert min(claude_files._KNOWN) > 0


def test_the_call_that_spawned_an_agent(tmp_path: Path) -> None:
    transcript = tmp_path / "s.jsonl"
    meta = tmp_path / "s" / "subagents" / "agent-a1.meta.json"
    assert claude_files.find_spawning_call(str(transcript), "a1") == ""
    meta.parent.mkdir(parents=True)
    meta.write_text('{"toolUseId": "toolu_9", "agentType": "Explore"}')
    assert claude_files.find_spawning_call(str(transcript), "a1") == "toolu_9"


@pytest.mark.parametrize("content", ["", "[]", '{"toolUseId": 5}', "{", "[" * 100_000])
def test_a_record_that_says_nothing(tmp_path: Path, content: str) -> None:
    meta = tmp_path / "s" / "subagents" / "agent-a1.meta.json"
    meta.parent.mkdir(parents=True)
    meta.write_text(content)
    assert claude_files.find_spawning_call(str(tmp_path / "s.jsonl"), "a1") == ""


@pytest.mark.parametrize("agent", ["../../x", "a/b", "a\0b", "", "."])
def test_an_agent_s_name_does_not_walk(tmp_path: Path, agent: str) -> None:
    (tmp_path / "s" / "subagents").mkdir(parents=True)
    (tmp_path / "x.meta.json").write_text('{"toolUseId": "stolen"}')
    assert claude_files.find_spawning_call(str(tmp_path / "s.jsonl"), agent) == ""


def test_parents_at_both_ends_of_a_long_transcript(tmp_path: Path) -> None:
    filler = json.dumps({"type": "user", "sessionId": "own", "message": "x" * 1000}) + "\n"
    first = json.dumps({"requestSessionId": "first", "sessionId": "own"}) + "\n"
    last = json.dumps({"sessionId": "last"}) + "\n"
    transcript = tmp_path / "t.jsonl"
    transcript.write_text(first + filler * 6000 + last)
    assert claude_files.parent_sessions(str(transcript), "own") == ("first", "last")


@pytest.mark.parametrize(
    ("record", "history"),
    [
        ({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t"}]}}, True),
        ({"type": "user", "isCompactSummary": True, "message": {"content": "what was said"}}, True),
        ({"type": "user", "message": {"content": 'what is {"type":"tool_result","isCompactSummary":true}?'}}, False),
        (
            {"type": "assistant", "message": {"content": [{"type": "tool_use", "id": "t", "name": "tool_result"}]}},
            False,
        ),
        ({"type": "user", "isCompactSummary": False, "message": None}, False),
        (["tool_result"], False),
    ],
)
def test_what_a_session_has_read_before(tmp_path: Path, record: Any, history: bool) -> None:
    transcript = tmp_path / "s.jsonl"
    assert not claude_files.has_history(str(transcript))
    transcript.write_text('{"type":"summary"}\n' + json.dumps(record) + "\n")
    assert claude_files.has_history(str(transcript)) is history


def test_a_pipe_is_no_transcript(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t.jsonl")
    assert claude_files.parent_sessions(str(tmp_path / "t.jsonl"), "own") == ()


def rejection(call: str, **changes: Any) -> dict[str, Any]:
    block = {"type": "tool_result", "content": "The user doesn't want it", "is_error": True, "tool_use_id": call}
    usual = {
        "type": "user",
        "message": {"role": "user", "content": [block]},
        "toolUseResult": "User rejected tool use",
        "toolDenialKind": "user-rejected",
        "toolDenialBeforeRun": True,
    }
    return {name: value for name, value in {**usual, **changes}.items() if value is not ...}


WORDS: dict[str, Any] = {
    "toolUseResult": "Error: The user doesn't want to proceed with this tool use. [...] the user said:\nnot that one",
    "toolDenialBeforeRun": ...,
    "userFeedback": "not that one",
    "permissionDecision": {"decision": "reject", "source": "user_reject", "reasonCode": "unknown"},
}
"""What differs where the person has added words, as Claude Code 2.1.329 was seen to write it."""


def test_calls_that_a_person_refused(tmp_path: Path) -> None:
    lines = [
        rejection("t1"),
        rejection("older client", toolDenialBeforeRun=..., toolDenialKind=...),
        rejection("was running", toolDenialBeforeRun=False),
        rejection("a tool said so", toolUseResult="Error: User rejected tool use"),
        rejection("in a list", toolUseResult=[{"type": "text", "text": "User rejected tool use"}]),
        rejection("not the user", type="assistant"),
        rejection("odd", message="User rejected tool use"),
        rejection("with words", **WORDS),
        rejection("words of a tool", **{**WORDS, "permissionDecision": ...}),
        rejection("words when running", **{**WORDS, "toolDenialBeforeRun": False}),
        rejection("accepted", **{**WORDS, "permissionDecision": {"decision": "accept"}}),
        rejection("another kind", **{**WORDS, "toolDenialKind": "hook", "userFeedback": "user-rejected"}),
        rejection("odd decision", **{**WORDS, "permissionDecision": ["reject"]}),
        rejection("t2"),
    ]
    transcript = tmp_path / "t.jsonl"
    transcript.write_text("".join(json.dumps(line) + "\n" for line in lines) + '"User rejected tool use')
    assert claude_files.find_rejected_calls(str(transcript)) == ("t1", "older client", "with words", "t2")
    assert claude_files.find_rejected_calls(str(tmp_path / "none")) == ()


@pytest.mark.parametrize(
    ("above", "found"),
    [
        ([b"sh", b"node"], "3:7"),
        ([b"sh", b"bash", b"claude"], "4:7"),
        ([b"bash", b"tmux: server"], ""),
        ([b"sshd-session"], ""),
        ([b"sh", b"tini"], ""),  # the client has died while its hook was waiting
        ([b"sh", b"bash", b"gnome-terminal-"], ""),  # somebody tries a hook by hand
        ([b"sh", b"zsh"], ""),
    ],
)
def test_the_nearest_ancestor_that_can_be_a_client(
    monkeypatch: pytest.MonkeyPatch, above: list[bytes], found: str
) -> None:
    first = 2
    processes = {first + place: process(name, first + place + 1, "7") for place, name in enumerate(above)}
    monkeypatch.setattr(claude_files.os, "getppid", lambda: first)
    monkeypatch.setattr(caller, "process", processes.get)
    assert claude_files.client_process("") == found


@pytest.mark.parametrize(("first", "found"), [(b"sleep", ""), (b"claude", "1:7")])
def test_process_1_is_a_client_only_by_its_name(monkeypatch: pytest.MonkeyPatch, first: bytes, found: str) -> None:
    """All that has lost its parent falls to it, a person's shells too."""
    processes = {2: process(b"sh", 1, "8"), 1: process(first, 0, "7")}
    monkeypatch.setattr(claude_files.os, "getppid", lambda: 2)
    monkeypatch.setattr(caller, "process", processes.get)
    assert claude_files.client_process("") == found
