"""Reads what Codex CLI says only in its transcript, ``sessions/.../rollout-*.jsonl``: one JSON object a line.

Only a line's own fields count: what stands inside a message could be about transcripts. A transcript that is missing
says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from lockgate.clients.common.transcripts import ends_of, lines_of, moment_of, parse_json
from lockgate.core.events import Context, ToolFinished
from lockgate.core.model import ToolCall
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_RECENT = 512 * 1024
"""Bytes of a transcript's end in which searches are looked for; each event looks again."""
_NEW = 4 * 1024 * 1024
"""Bytes of a transcript's end in which results are looked for that are new."""
_SHELLS = frozenset({"exec_command", "shell", "shell_command"})
"""Tools that run a command."""
_NOTICE = "results of a web search"


def _items(transcript: str, mark: bytes, part: int, *, only_end: bool = False) -> Iterator[tuple[str, Any]]:
    """The lines that hold a mark: each one's kind, and its body."""
    for line in ends_of(transcript, part, only_end=only_end):
        record = parse_json(line) if mark in line else None
        if isinstance(record, dict) and isinstance(record.get("payload"), dict):
            yield str(record.get("type", "")), record["payload"]


def has_history(transcript: str) -> bool:
    """Whether a transcript holds the result of a tool, or the summary of a conversation that was compacted."""
    for kind, body in _items(transcript, b"_output", 2 * 1024 * 1024):
        if kind == "response_item" and str(body.get("type", "")).endswith("_output"):
            return True
    return any(kind == "compacted" for kind, _ in _items(transcript, b'"compacted"', 2 * 1024 * 1024))


def results_since(transcript: str, since: float) -> tuple[str, ...]:
    """The ids of calls whose results a transcript's end holds that are newer than a time, in seconds since the epoch.

    Only of commands and MCP tools that hooks name by the same id. What runs inside of a cell of the model's JavaScript
    has an id that no transcript tells. A call whose arguments Codex cannot make sense of has no hook.
    """
    started: set[str] = set()
    found: dict[str, None] = {}
    for line in ends_of(transcript, _NEW, only_end=True):
        record = parse_json(line) if b'"function_call' in line else None
        body = record.get("payload") if isinstance(record, dict) and record.get("type") == "response_item" else None
        if not isinstance(record, dict) or not isinstance(body, dict):
            continue
        call = str(body.get("call_id"))
        if body.get("type") == "function_call" and _has_hook(body):
            started.add(call)
        is_result = body.get("type") == "function_call_output" and call in started
        if is_result and (moment_of(record.get("timestamp")) or 0.0) > since:
            found[call] = None
    return tuple(found)


def results_before(transcript: str, until: float) -> tuple[str, ...]:
    """The first call whose result a transcript holds that is older than a time, in seconds since the epoch."""
    for line in lines_of(transcript):
        record = parse_json(line)
        body = record.get("payload") if isinstance(record, dict) else None
        if not isinstance(record, dict) or not isinstance(body, dict):
            continue
        at = moment_of(record.get("timestamp"))
        if at is not None and at >= until:
            return ()
        if record.get("type") == "response_item" and str(body.get("type", "")).endswith("_output"):
            return (str(body.get("call_id")),)
    return ()


def _has_hook(body: dict[str, Any]) -> bool:
    name, text = str(body.get("name", "")), body.get("arguments")
    given = parse_json(text.encode(errors="replace")) if isinstance(text, str) else None
    if not isinstance(given, dict):
        return False
    return name.startswith("mcp__") or (name in _SHELLS and bool(given.get("cmd") or given.get("command")))


def parent_sessions(transcript: str, own: str) -> tuple[str, ...]:
    """The sessions that a transcript was forked from, as its head names them."""
    found: dict[str, None] = {}
    for kind, body in _items(transcript, b'"session_meta"', 64 * 1024):
        if kind == "session_meta":
            for field in ("forked_from_id", "id"):
                name = body.get(field)
                if isinstance(name, str) and 0 < len(name) <= 256 and name.isprintable():
                    found[name] = None
    found.pop(own, None)
    return tuple(found)


def searches(context: Context) -> tuple[ToolFinished, ...]:
    """The last web search that a transcript's end tells of, as a call that has come back.

    The model's provider makes it, so no hook is run, and the client keeps no word of what it brought. One search gives
    all the labels that many give.
    """
    found: tuple[ToolFinished, ...] = ()
    for kind, body in _items(context.transcript, b'"web_search_call"', _RECENT, only_end=True):
        if kind == "response_item" and body.get("type") == "web_search_call":
            action = body.get("action")
            query = action.get("query") if isinstance(action, dict) else None
            call_id = body.get("id")
            name = call_id if isinstance(call_id, str) and call_id else f"web-search-{query}"
            call = ToolCall("WebSearch", {"query": query if isinstance(query, str) else ""}, context.cwd, name[:256])
            found = (ToolFinished(context, call, _NOTICE, text=_NOTICE),)
    return found
