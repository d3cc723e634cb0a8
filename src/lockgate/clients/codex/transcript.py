"""What Codex CLI says only in its transcript, ``sessions/.../rollout-*.jsonl``: one JSON object a line.

Only a line's own fields count: what stands inside a message could be about transcripts. A transcript that is missing
says nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from lockgate.clients.common.transcripts import ends_of, parse_json
from lockgate.core.events import Context, ToolFinished
from lockgate.core.model import ToolCall
from lockgate.core.record import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_RECENT = 512 * 1024
"""Bytes of a transcript's end in which searches are looked for; each event looks again."""
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
