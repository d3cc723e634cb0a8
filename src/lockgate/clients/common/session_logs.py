"""Reads from each client's own logs which calls have run, to find sessions without the gate.

The forms were observed with Claude Code 2.1.329, Codex CLI 0.169.0, Gemini CLI 0.61.0, Copilot CLI 1.0.102 and OpenCode
1.18.33. Only a line's own fields count: what stands inside a message could be about sessions.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path

from lockgate.clients.common.folders import client_folder
from lockgate.clients.common.transcripts import ends_of, find_finished_calls, moment_of, parent_sessions, parse_json
from lockgate.core.record import TYPE_CHECKING, Record

if TYPE_CHECKING:
    from typing import Any

_PART = 16 * 1024 * 1024
"""Bytes at a log's beginning, and at its end, that are read. Of a longer log the middle is not."""
_LATEST = 253_402_300_800.0
"""The year 10000, in seconds since the epoch: no calendar tells a later time, so no client wrote one."""


class RanCall(Record):
    """One call that a client says has run."""

    at: float
    """When, in seconds since the epoch."""
    call: str = ""
    """The id that the client's hook names it by; empty where that is not known."""


class SessionLog(Record):
    """A client's log of one session."""

    client: str
    session: str
    surface: str
    """Where the client ran, in its own words: a terminal, an editor, an SDK; empty where it does not say."""
    folder: str
    calls: tuple[RanCall, ...]
    parents: tuple[str, ...] = ()
    """The sessions that it was forked from, or works for: calls may be known as theirs."""


class LogPlace(Record):
    """The place of a client's logs, and their reader."""

    client: str
    moved_by: str
    """The variable that names another folder; empty where there is none."""
    folder: str
    """The client's folder, below the home folder."""
    patterns: tuple[str, ...]
    """The logs below that folder, as file name patterns."""
    read: Callable[[str], Iterator[SessionLog]]
    """Reads one log. It leaves the client's name to its caller."""


def session_logs(home: str, environ: Mapping[str, str], since: float) -> Iterator[SessionLog]:
    """The logs of all clients that were written to since a time, with the calls that ran since then.

    A log that cannot be read, or is not of a known form, says nothing.

    Args:
        home: The person's home folder.
        environ: The environment, for clients that keep their files elsewhere.
        since: In seconds since the epoch.
    """
    for place in _PLACES:
        base = Path(client_folder(place.moved_by, f"{home}/{place.folder}", environ))
        for file in sorted(path for pattern in place.patterns for path in base.glob(pattern)):
            if _time_of_change(file) >= since:
                for log in place.read(str(file)):
                    if calls := tuple(call for call in log.calls if since <= call.at < _LATEST):
                        yield log._replace(client=place.client, calls=calls)


def _time_of_change(file: Path) -> float:
    """When a file was last written to. A database is written to through its log, a file beside it."""
    times = []
    for name in (file, file.with_name(file.name + "-wal")):
        try:
            times.append(name.stat().st_mtime)
        except OSError:
            continue
    return max(times, default=0.0)


def _records(file: str, *marks: bytes) -> Iterator[dict[str, Any]]:
    """The objects of a log's lines that hold one of some marks."""
    for line in ends_of(file, _PART):
        record = parse_json(line) if any(mark in line for mark in marks) else None
        if isinstance(record, dict):
            yield record


def _inside(record: Mapping[str, Any], field: str) -> Mapping[str, Any]:
    value = record.get(field)
    return value if isinstance(value, dict) else {}


def _word(record: Mapping[str, Any], *fields: str) -> str:
    """The first of some fields that is a text with something in it."""
    return next((value for field in fields if isinstance(value := record.get(field), str) and value), "")


def _time_of(record: Mapping[str, Any]) -> float:
    """A line's time, in seconds since the epoch; 0.0 where it has none."""
    return moment_of(record.get("timestamp")) or 0.0


def _log(
    session: str, surface: str, folder: str, calls: Iterable[RanCall], parents: tuple[str, ...] = ()
) -> Iterator[SessionLog]:
    if session:
        yield SessionLog("", session[:256], surface[:64], folder, tuple(calls), parents)


# ---------------------------------------------------------------- each client
def _claude(file: str) -> Iterator[SessionLog]:
    session = surface = folder = ""
    calls = []
    for record in _records(file, b'"tool_result"'):
        names = find_finished_calls(record)
        if names:
            session, surface = _word(record, "sessionId") or session, _word(record, "entrypoint") or surface
            folder = _word(record, "cwd") or folder
            calls += [RanCall(_time_of(record), name) for name in names]
    return _log(session, surface, folder, calls, parent_sessions(file, session) if calls else ())


_CODEX_CELL = "exec"
"""A cell of the model's JavaScript. Each call in it has an id of its own, which no log names."""
_CODEX_WATCHED = frozenset({"apply_patch", "exec_command", "local_shell", "shell", "shell_command", _CODEX_CELL})
"""Tools for which Codex runs hooks. It runs none for ``write_stdin``, ``update_plan`` and its provider's searches."""


def _codex(file: str) -> Iterator[SessionLog]:
    about: Mapping[str, Any] = {}
    started: dict[str, str] = {}
    calls = []
    for record in _records(file, b'"session_meta"', b"_call"):
        body = _inside(record, "payload")
        kind, call = _word(body, "type"), _word(body, "call_id")
        if record.get("type") == "session_meta":
            about = about or body
        elif record.get("type") == "response_item" and kind in {"function_call", "custom_tool_call"}:
            started[call] = _word(body, "name")
        elif record.get("type") == "response_item" and kind in {"function_call_output", "custom_tool_call_output"}:
            tool = started.get(call, "")
            if tool in _CODEX_WATCHED or tool.startswith("mcp__"):
                calls.append(RanCall(_time_of(record), "" if tool == _CODEX_CELL else call))
    session, parent = _word(about, "session_id", "id"), _word(about, "forked_from_id")
    return _log(session, _word(about, "originator"), _word(about, "cwd"), calls, (parent,) if parent else ())


def _gemini(file: str) -> Iterator[SessionLog]:
    session = ""
    ran: dict[str, float] = {}
    for record in _records(file, b'"sessionId"', b'"toolCalls"'):
        session = session or _word(record, "sessionId")
        listed = record.get("toolCalls") if record.get("type") == "gemini" else None
        for call in listed if isinstance(listed, list) else ():
            if isinstance(call, dict) and call.get("status") in {"success", "error"}:
                ran[_word(call, "id")] = _time_of(call)
    return _log(session, "", "", map(RanCall, ran.values()))


def _copilot(file: str) -> Iterator[SessionLog]:
    about: Mapping[str, Any] = {}
    calls = []
    for record in _records(file, b'"session.start"', b'"tool.execution_complete"'):
        if record.get("type") == "session.start":
            about = about or _inside(record, "data")
        elif record.get("type") == "tool.execution_complete":
            calls.append(RanCall(_time_of(record)))
    folder = _word(_inside(about, "context"), "cwd")
    return _log(_word(about, "sessionId"), _word(about, "producer"), folder, calls)


_OPENCODE_PARTS = (
    'SELECT session_id, time_updated, data FROM part WHERE data LIKE \'%"type":"tool"%\''
    " ORDER BY time_updated DESC LIMIT 100000"
)


def _opencode(file: str) -> Iterator[SessionLog]:
    try:
        with closing(sqlite3.connect(f"{Path(file).as_uri()}?mode=ro", uri=True)) as database:
            sessions = {row[0]: row for row in database.execute("SELECT id, directory, parent_id FROM session")}
            rows = database.execute(_OPENCODE_PARTS).fetchall()
    except sqlite3.Error:
        return
    found: dict[str, list[RanCall]] = {}
    for session, at, text in rows:
        part = parse_json(text.encode() if isinstance(text, str) else None)
        if not (isinstance(part, dict) and part.get("type") == "tool" and isinstance(at, int | float)):
            continue
        if _inside(part, "state").get("status") in {"completed", "error"} and session in sessions:
            found.setdefault(session, []).append(RanCall(at / 1000, _word(part, "callID")))
    for session, calls in found.items():
        _, folder, parent = sessions[session]
        yield from _log(str(session), "", str(folder), calls, (str(parent),) if parent else ())


_PLACES = (
    LogPlace(
        "claude-code",
        "CLAUDE_CONFIG_DIR",
        ".claude",
        ("projects/*/*.jsonl", "projects/*/*/subagents/*.jsonl"),
        _claude,
    ),
    LogPlace("codex", "CODEX_HOME", ".codex", ("sessions/*/*/*/rollout-*.jsonl",), _codex),
    LogPlace("gemini-cli", "", ".gemini", ("tmp/*/chats/session-*.jsonl",), _gemini),
    LogPlace("copilot-cli", "COPILOT_HOME", ".copilot", ("session-state/*/events.jsonl",), _copilot),
    LogPlace("opencode", "XDG_DATA_HOME", ".local/share", ("opencode/opencode.db",), _opencode),
    LogPlace("kilo", "XDG_DATA_HOME", ".local/share", ("kilo/kilo.db",), _opencode),
)
READS = tuple(place.client for place in _PLACES)
"""The clients whose logs are read. Cursor's are not: nobody has seen them here."""
