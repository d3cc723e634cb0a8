"""A stand-in for the model: the Messages API on loopback, answering from a script.

Which turn is next is read from the request itself (how many answers its history holds), so that retries and parallel
sub-agents cannot put the script out of step. API: https://docs.anthropic.com/en/api/messages-streaming
"""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from typing import Any, NamedTuple

from e2e.harness.script import Script, Turn, call_id
from e2e.harness.served import ServedScript

_USAGE = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
_FROM_HISTORY = re.compile(r"\{\{(.+?)\}\}")


class ToolResult(NamedTuple):
    """What the model was given as the result of a call."""

    text: str
    is_error: bool


def text_of(content: Any) -> str:
    """All text of a message's content, without tool results."""
    if isinstance(content, str):
        return content
    return "\n".join(block.get("text", "") for block in content or () if isinstance(block, dict))


class ScriptedModel(ServedScript):
    """The server, and everything that the client sent to it."""

    def __init__(self, script: Script) -> None:
        super().__init__(script, _handler(self))

    def results(self) -> dict[str, ToolResult]:
        """Every tool result that the model has seen, by the call's id."""
        found: dict[str, ToolResult] = {}
        for block in self._blocks():
            if block.get("type") == "tool_result":
                content = block.get("content")
                found[block["tool_use_id"]] = ToolResult(text_of(content), bool(block.get("is_error")))
        return found

    def result(self, turn: int, call: int = 0, marker: str = "") -> ToolResult:
        """The result of the call at a place of the script."""
        results = self.results()
        wanted = call_id(marker, turn, call)
        assert wanted in results, f"the model never saw a result of {wanted}; it saw {results}"
        return results[wanted]

    def _blocks(self) -> Iterator[dict[str, Any]]:
        with self._lock:
            requests = list(self.requests)
        for request in requests:
            for message in request.get("messages", ()):
                if isinstance(message.get("content"), list):
                    yield from (block for block in message["content"] if isinstance(block, dict))

    def answer(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        """Choose the answer to one request, as content blocks."""
        with self._lock:
            self.requests.append(request)
        if not request.get("tools"):  # titles, summaries
            return [{"type": "text", "text": "ok"}]
        messages = request.get("messages", [])
        said = "\n".join(text_of(message["content"]) for message in messages if message["role"] == "user")
        marker = next(marker for marker in self.script.conversations if marker in said)
        turns = self.script.conversations[marker]
        index = sum(message["role"] == "assistant" for message in messages)
        turn = turns[index] if index < len(turns) else Turn(text="ALL DONE")
        if turn.before is not None:
            turn.before()
        history = json.dumps(messages, ensure_ascii=False)
        return list(_content(turn, marker, index, history))


def _content(turn: Turn, marker: str, index: int, history: str) -> Iterator[dict[str, Any]]:
    if turn.text:
        yield {"type": "text", "text": turn.text}
    for place, call in enumerate(turn.calls):
        filled = {key: _fill(value, history) for key, value in call.input.items()}
        yield {"type": "tool_use", "id": call_id(marker, index, place), "name": call.name, "input": filled}


def _fill(value: Any, history: str) -> Any:
    """Replace ``{{regex}}`` by its last match in the history: for names that only the client or the gate knows."""
    if isinstance(value, dict):
        return {key: _fill(each, history) for key, each in value.items()}
    if isinstance(value, list):
        return [_fill(each, history) for each in value]
    if not isinstance(value, str):
        return value
    return _FROM_HISTORY.sub(lambda match: [*re.findall(match[1], history), "?"][-2:][0], value)


def _message(content: list[dict[str, Any]], name: str, reason: str | None) -> dict[str, Any]:
    return {
        "id": f"msg_{uuid.uuid4().hex}",  # the client takes messages with the same id for one
        "type": "message",
        "role": "assistant",
        "model": name,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": _USAGE,
    }


def _stop_reason(content: list[dict[str, Any]]) -> str:
    return "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"


def _reviewed(content: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the server thinks of the calls, without which the client's ``auto`` mode runs none that it would ask about.

    Seen in Claude Code 2.1.329, which takes a call for unreviewed once a hook has changed its input.
    """
    harmless = {"type": "evaluated", "outcome": "not_flagged"}
    calls = {block["id"]: harmless for block in content if block["type"] == "tool_use"}
    return [{"type": "dangerous_tool_use", "status": {"type": "available", "tool_uses": calls}}]


def _events(content: list[dict[str, Any]], name: str) -> Iterator[dict[str, Any]]:
    yield {"type": "message_start", "message": _message([], name, None)}
    for index, block in enumerate(content):
        if block["type"] == "text":
            start, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
        else:
            start = {**block, "input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield {"type": "content_block_start", "index": index, "content_block": start}
        yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = {"stop_reason": _stop_reason(content), "stop_sequence": None, "safeguard_results": _reviewed(content)}
    yield {"type": "message_delta", "delta": reason, "usage": {"output_tokens": 1}}
    yield {"type": "message_stop"}


def _handler(model: ScriptedModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is the base class's
            pass

        def _send(self, body: bytes, kind: str = "application/json") -> None:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_HEAD(self) -> None:
            self._send(b"")

        def do_GET(self) -> None:
            self._send(b"{}")

        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers.get("content-length") or 0))
            path = self.path.partition("?")[0]
            if path.endswith("/count_tokens"):
                return self._send(b'{"input_tokens": 1}')
            if not path.endswith("/messages"):
                return self._send(b"{}")
            request: dict[str, Any] = json.loads(data)
            content = model.answer(request)
            name = str(request.get("model", ""))
            if not request.get("stream"):
                return self._send(json.dumps(_message(content, name, _stop_reason(content))).encode())
            lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in _events(content, name)]
            return self._send("".join(lines).encode(), "text/event-stream")

    return Handler
