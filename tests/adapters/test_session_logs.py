"""What a client's own log says of a session is read in each client's form, and compared with the audit."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lockgate.clients.common.guarded_sessions import NEAR, GateRecords, find_unguarded_sessions
from lockgate.clients.common.session_logs import READS, RanCall, SessionLog, session_logs
from support.stress import examples

AT = 1_795_640_400.0
STAMP = "2026-11-25T21:00:00.000Z"
NEWER = AT - 60

Write = Callable[[Path], object]


def _lines(path: str, *records: object) -> Write:
    def write(home: Path) -> None:
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(json.dumps(record, separators=(",", ":")) + "\n" for record in records))

    return write


def _claude(*content: object, **fields: object) -> dict[str, object]:
    own = {"type": "user", "sessionId": "s", "entrypoint": "cli", "cwd": "/p", "timestamp": STAMP}
    return {**own, "message": {"role": "user", "content": list(content)}, **fields}


def _result(call: str = "c1", **fields: object) -> dict[str, object]:
    return {"type": "tool_result", "tool_use_id": call, "content": "hi", **fields}


def _codex(name: str, kind: str = "function_call") -> tuple[object, ...]:
    meta = {"session_id": "s", "id": "s", "cwd": "/p", "originator": "codex_exec"}
    call = {"type": kind, "name": name, "call_id": "c1"}
    output = {"type": f"{kind}_output", "call_id": "c1", "output": "hi"}
    return (
        {"timestamp": STAMP, "type": "session_meta", "payload": meta},
        {"timestamp": STAMP, "type": "response_item", "payload": call},
        {"timestamp": STAMP, "type": "response_item", "payload": output},
    )


def _gemini(status: str) -> tuple[object, ...]:
    call = {"id": "c1", "name": "run_shell_command", "status": status, "timestamp": STAMP}
    begun = {"type": "gemini", "timestamp": STAMP}
    return ({"sessionId": "s", "startTime": STAMP}, begun, {**begun, "toolCalls": [call]})


def _copilot() -> tuple[object, ...]:
    about = {"sessionId": "s", "producer": "copilot-agent", "context": {"cwd": "/p"}}
    return (
        {"type": "session.start", "data": about, "timestamp": STAMP},
        {"type": "tool.execution_complete", "data": {"toolCallId": "c1"}, "timestamp": STAMP},
    )


def _opencode(client: str = "opencode", **part: object) -> Write:
    def write(home: Path) -> None:
        folder = home / ".local/share" / client
        folder.mkdir(parents=True)
        with sqlite3.connect(folder / f"{client}.db") as database:
            database.execute("CREATE TABLE session (id TEXT, directory TEXT, parent_id TEXT)")
            database.execute("CREATE TABLE part (session_id TEXT, time_updated INTEGER, data TEXT)")
            database.execute("INSERT INTO session VALUES ('s', '/p', NULL)")
            data = json.dumps({"type": "tool", "callID": "c1", **part}, separators=(",", ":"))
            database.execute("INSERT INTO part VALUES ('s', ?, ?)", (int(AT * 1000), data))
        database.close()

    return write


CLAUDE, CODEX = ".claude/projects/-p/s.jsonl", ".codex/sessions/2026/11/25/rollout-s.jsonl"
GEMINI, COPILOT = ".gemini/tmp/p/chats/session-s.jsonl", ".copilot/session-state/s/events.jsonl"


def _named(client: str, surface: str, folder: str, call: str = "c1") -> list[SessionLog]:
    return [SessionLog(client, "s", surface, folder, (RanCall(AT, call),))]


NOT_RUN = _result(is_error=True, content="<tool_use_error>no such tool</tool_use_error>")
QUOTED = {"type": "tool_result", "content": json.dumps(_claude(_result()))}
LOGS: list[tuple[str, Write, list[SessionLog]]] = [
    ("claude", _lines(CLAUDE, _claude(_result())), _named("claude-code", "cli", "/p")),
    (
        "claude-sub-agent",
        _lines(".claude/projects/-p/s/subagents/agent-a.jsonl", _claude(_result())),
        _named("claude-code", "cli", "/p"),
    ),
    ("claude-call-that-was-none", _lines(CLAUDE, _claude(NOT_RUN)), []),
    ("claude-no-by-person", _lines(CLAUDE, _claude(_result(), toolUseResult="User rejected tool use")), []),
    ("claude-log-inside-a-result", _lines(CLAUDE, _claude(QUOTED)), []),
    ("claude-result-said-by-the-model", _lines(CLAUDE, _claude(_result(), type="assistant")), []),
    ("claude-without-session", _lines(CLAUDE, _claude(_result(), sessionId=7)), []),
    ("codex", _lines(CODEX, *_codex("exec_command")), _named("codex", "codex_exec", "/p")),
    ("codex-mcp", _lines(CODEX, *_codex("mcp__t__get")), _named("codex", "codex_exec", "/p")),
    ("codex-patch", _lines(CODEX, *_codex("apply_patch", "custom_tool_call")), _named("codex", "codex_exec", "/p")),
    ("codex-cell", _lines(CODEX, *_codex("exec", "custom_tool_call")), _named("codex", "codex_exec", "/p", "")),
    ("codex-tool-without-hooks", _lines(CODEX, *_codex("update_plan")), []),
    ("codex-output-of-no-call", _lines(CODEX, _codex("shell")[0], _codex("shell")[2]), []),
    ("gemini", _lines(GEMINI, *_gemini("success")), _named("gemini-cli", "", "", "")),
    ("gemini-cancelled", _lines(GEMINI, *_gemini("cancelled")), []),
    ("copilot", _lines(COPILOT, *_copilot()), _named("copilot-cli", "copilot-agent", "/p", "")),
    ("opencode", _opencode(state={"status": "completed"}), _named("opencode", "", "/p")),
    ("kilo", _opencode("kilo", state={"status": "completed"}), _named("kilo", "", "/p")),
    ("opencode-running", _opencode(state={"status": "running"}), []),
]


@pytest.mark.parametrize(("write", "expected"), [pytest.param(*row[1:], id=row[0]) for row in LOGS])
def test_a_log_tells_the_calls_that_ran(tmp_path: Path, write: Write, expected: list[SessionLog]) -> None:
    write(tmp_path)
    assert list(session_logs(str(tmp_path), {}, NEWER)) == expected


def test_each_client_is_in_the_table() -> None:
    assert {log.client for _, _, logs in LOGS for log in logs} == set(READS)


@pytest.mark.parametrize("write", [pytest.param(row[1], id=row[0]) for row in LOGS if row[2]])
def test_calls_from_before_are_left_out(tmp_path: Path, write: Write) -> None:
    write(tmp_path)
    assert list(session_logs(str(tmp_path), {}, AT + 1)) == []


@pytest.mark.parametrize("at", [253_402_300_800, 10**18], ids=["year 10000", "later"])
def test_a_time_that_no_calendar_has_is_left_out(tmp_path: Path, at: int) -> None:
    _opencode(state={"status": "completed"})(tmp_path)
    with sqlite3.connect(tmp_path / ".local/share/opencode/opencode.db") as database:
        database.execute("UPDATE part SET time_updated = ?", (at * 1000 if at < 10**15 else at,))
    database.close()
    assert list(session_logs(str(tmp_path), {}, NEWER)) == []


@pytest.mark.parametrize(
    ("variable", "path", "records"),
    [
        ("CLAUDE_CONFIG_DIR", CLAUDE, (_claude(_result()),)),
        ("CODEX_HOME", CODEX, _codex("shell")),
        ("COPILOT_HOME", COPILOT, _copilot()),
    ],
)
def test_a_moved_folder_is_read(tmp_path: Path, variable: str, path: str, records: tuple[object, ...]) -> None:
    moved = tmp_path / "moved"
    _lines(path.partition("/")[2], *records)(moved)
    found = list(session_logs(str(tmp_path), {variable: str(moved)}, NEWER))
    assert [log.session for log in found] == ["s"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
_FIELDS = ("type", "payload", "message", "content", "timestamp", "sessionId", "toolCalls", "data", "call_id", "state")
ODD = st.dictionaries(st.sampled_from(_FIELDS), JSON | st.dictionaries(st.sampled_from(_FIELDS), JSON, max_size=4))
_MARKS = b' "tool_result" "session_meta" _call "sessionId" "toolCalls" "session.start" "tool.execution_complete"'


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(ODD, max_size=4), st.binary(max_size=60))
def test_no_log_is_a_fault(tmp_path_factory: pytest.TempPathFactory, records: list[Any], rest: bytes) -> None:
    home = tmp_path_factory.mktemp("home")
    data = b"".join(json.dumps(record).encode() + _MARKS + b"\n" + json.dumps(record).encode() for record in records)
    for path in (CLAUDE, CODEX, GEMINI, COPILOT, ".local/share/opencode/opencode.db"):
        (home / path).parent.mkdir(parents=True)
        (home / path).write_bytes(data + rest)
    assert isinstance(list(session_logs(str(home), {}, 0.0)), list)


# ---------------------------------------------------------------- against the audit
def _known(*calls: str, times: Mapping[str, list[float]] | None = None) -> GateRecords:
    return GateRecords(frozenset(("s", call) for call in calls), times or {})


@pytest.mark.parametrize(
    ("calls", "known", "expected"),
    [
        pytest.param([RanCall(AT, "a"), RanCall(AT, "b")], _known("a", "b"), [], id="all-known"),
        pytest.param([RanCall(AT, "a"), RanCall(AT, "b")], _known("a"), [(1, 2)], id="one-unknown"),
        pytest.param([RanCall(AT, "a")], _known(times={"s": [AT]}), [(1, 1)], id="an-id-counts-more-than-a-time"),
        pytest.param([RanCall(AT)], _known(times={"s": [AT - NEAR]}), [], id="no-id-and-a-record-near"),
        pytest.param([RanCall(AT)], _known(times={"s": [AT - NEAR - 1, AT + NEAR + 1]}), [(1, 1)], id="none-near"),
        pytest.param([RanCall(AT)], _known(times={"other": [AT]}), [(1, 1)], id="of-another-session"),
    ],
)
def test_what_the_audit_does_not_know_is_unguarded(
    calls: list[RanCall], known: GateRecords, expected: list[tuple[int, int]]
) -> None:
    log = SessionLog("codex", "s", "terminal", "/p", tuple(calls))
    assert [(found.calls, found.of) for found in find_unguarded_sessions([log], known)] == expected


@pytest.mark.parametrize(("parents", "unknown"), [((), 1), (("s",), 0), (("other",), 1)])
def test_a_fork_repeats_the_calls_of_its_parent(parents: tuple[str, ...], unknown: int) -> None:
    log = SessionLog("claude-code", "fork", "cli", "/p", (RanCall(AT, "a"),), parents)
    assert len(find_unguarded_sessions([log], _known("a"))) == unknown


def test_a_forked_log_names_its_parent(tmp_path: Path) -> None:
    _lines(CLAUDE, _claude(_result(), requestSessionId="parent"))(tmp_path)
    assert [log.parents for log in session_logs(str(tmp_path), {}, NEWER)] == [("parent",)]


def test_the_logs_of_one_session_are_one() -> None:
    logs = [SessionLog("codex", "s", "", "/p", (RanCall(AT + at, f"c{at}"),)) for at in (2, 1)]
    (found,) = find_unguarded_sessions(logs, _known())
    assert (found.calls, found.of, found.first, found.last) == (2, 2, AT + 1, AT + 2)


CALLS = st.lists(st.tuples(st.floats(0, 86_400), st.sampled_from("ab"), st.booleans()), max_size=30)


@settings(max_examples=examples(500))
@given(CALLS, st.floats(0, NEAR))
def test_a_guarded_day_gives_no_alarm(calls: list[tuple[float, str, bool]], late: float) -> None:
    """500 days in which the gate recorded each call, by its id or a moment before it ran."""
    logs = [
        SessionLog("codex", session, "", "", (RanCall(at, f"c{place}" if has_id else ""),))
        for place, (at, session, has_id) in enumerate(calls)
    ]
    times: dict[str, list[float]] = {}
    for at, session, _ in calls:
        times.setdefault(session, []).append(at - late)
    known = GateRecords(
        frozenset((session, f"c{place}") for place, (_, session, has_id) in enumerate(calls) if has_id),
        {session: sorted(at) for session, at in times.items()},
    )
    assert find_unguarded_sessions(logs, known) == []
